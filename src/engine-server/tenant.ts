/**
 * On whose behalf a request comes: the header `x-manx-tenant`, else OpenAI's own field `user`. It orders the queue by fair
 * share and labels metrics; it is no proof of anything, since anybody can send any name.
 */
import type { IncomingHttpHeaders } from "node:http";
import { invalid } from "./fields.ts";
import { mix } from "./token-text.ts";

const HEADER = "x-manx-tenant";
const CHARS_MAX = 128;

/** @returns "" for nobody in particular. @throws MANX_REQUEST_INVALID for a header that is longer than 128 characters. */
export function tenantOf(headers: IncomingHttpHeaders, user: string | undefined): string {
  const header = headers[HEADER];
  if (header === undefined) return shortened(user ?? "");
  const name = String(header).trim();
  if (name.length <= CHARS_MAX) return name;
  throw invalid(HEADER, `a name of at most ${CHARS_MAX} characters`, `${name.length} characters`);
}

/** `user` may be of any length, and two long ones with one beginning are still two. */
function shortened(user: string): string {
  if (user.length <= CHARS_MAX) return user;
  let hash = 0;
  for (let i = 0; i < user.length; i += 1) hash = mix(hash, user.charCodeAt(i));
  const tail = `~${hash.toString(16).padStart(8, "0")}`;
  return user.slice(0, CHARS_MAX - tail.length) + tail;
}
