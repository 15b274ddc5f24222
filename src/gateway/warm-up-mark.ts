/**
 * A call that nobody waits for may be marked (`x-manx-purpose: warm-up`), as `manx/runtime` marks those of a warm-up, and is
 * then in no percentile. Whoever could mark at will could hide a slow upstream, so the mark counts only from this machine
 * itself, with a key that may, or where the configuration trusts everyone; from others it is counted and means nothing.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "./config/host-names.ts";

const PURPOSE_HEADER = "x-manx-purpose";
const WARM_UP = "warm-up";
/** A proxy on this machine calls from it on behalf of anybody. */
const RELAYED_BY = ["forwarded", "x-forwarded-for", "x-real-ip", "via"] as const;

export function isMarkedWarmUp(headers: IncomingHttpHeaders): boolean {
  return headers[PURPOSE_HEADER] === WARM_UP;
}

export function isFromThisMachine(
  client: string | undefined,
  headers: IncomingHttpHeaders,
): boolean {
  if (client === undefined || !isLoopback(client)) return false;
  return RELAYED_BY.every((name) => headers[name] === undefined);
}
