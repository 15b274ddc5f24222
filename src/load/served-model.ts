/** Asks a server what it serves, so that `manx load --url …` needs no model name against a server of one's own. */
import { request } from "undici";
import type { Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import { parseBaseUrl } from "./live-target.ts";
import type { LoadApi } from "./request-body.ts";

const LIMIT_US = 10_000_000;
const BODY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The first model that `/v1/models` lists.
 * @throws MANX_TARGET_DOWN if nothing answers there; MANX_FLAG_MISSING if the answer names no model.
 */
export async function servedModel(options: {
  readonly url: string;
  readonly clock: Clock;
  readonly api: LoadApi;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}): Promise<string> {
  const base = parseBaseUrl(options.url);
  const prefix = base.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  const url = `${base.origin}${prefix}/v1/models`;
  const { clock } = options;
  const limit = clock.deadline(clock.nowUs() + LIMIT_US);
  let body: unknown;
  try {
    const response = await request(url, {
      headers: { ...options.api.headers(options.apiKey), ...options.headers },
      signal: limit.signal,
    });
    let text = "";
    for await (const piece of response.body) {
      text += String(piece);
      if (text.length > BODY_BYTES_MAX) break;
    }
    body = parse(text);
  } catch (cause) {
    throw new ManxError("MANX_TARGET_DOWN", { where: url, got: reason(cause), cause });
  } finally {
    limit.cancel();
  }
  const first = (body as { data?: { id?: unknown }[] } | undefined)?.data?.[0]?.id;
  if (typeof first === "string" && first !== "") return first;
  throw new ManxError("MANX_FLAG_MISSING", {
    what: "the server names no model",
    where: "--model",
    expected: "a model that the server knows",
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The system's own code, such as ECONNREFUSED; an error of several addresses hides it one level down. */
function reason(thrown: unknown): string {
  const error = thrown as { code?: unknown; message?: string; errors?: { code?: unknown }[] };
  return String(error.code ?? error.errors?.[0]?.code ?? error.message ?? thrown);
}
