/**
 * Which headers pass the gateway. Hop-by-hop headers belong to one connection and stop here, both ways, with whatever
 * `Connection` names (RFC 9110, 7.6.1): a client's `Connection: close` passed on would end the pool's reuse, an
 * upstream's would end the client's. All others pass as they came, in order, repeated ones too; credentials with them.
 *
 * `Accept-Encoding` and `Content-Encoding` pass unchanged: the bytes do as well.
 */

/** Flat list: name, value, name, value. */
export type HeaderList = string[];

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Set anew from the pool's origin and the body that is sent; `Expect` was answered by this gateway's own server. */
const NOT_FORWARDED = new Set([...HOP_BY_HOP, "host", "content-length", "expect"]);

function namedByConnection(headers: readonly string[]): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== 10 || headers[i]!.toLowerCase() !== "connection") continue;
    for (const name of headers[i + 1]!.toLowerCase().split(",")) {
      const trimmed = name.trim();
      if (HOP_BY_HOP.has(trimmed) || trimmed === "close" || trimmed === "") continue;
      named ??= new Set();
      named.add(trimmed);
    }
  }
  return named;
}

function pass(from: readonly string[], stopped: ReadonlySet<string>): HeaderList {
  const named = namedByConnection(from);
  const kept: HeaderList = [];
  for (let i = 0; i < from.length; i += 2) {
    const name = from[i]!.toLowerCase();
    if (stopped.has(name) || named?.has(name)) continue;
    kept.push(from[i]!, from[i + 1]!);
  }
  return kept;
}

/**
 * @param rawHeaders of the client's request.
 * @param via this gateway's own name, for `Via`.
 */
export function requestHeaders(rawHeaders: readonly string[], via: string): HeaderList {
  const kept = pass(rawHeaders, NOT_FORWARDED);
  kept.push("via", `1.1 ${via}`);
  return kept;
}

export interface ResponseHead {
  readonly headers: HeaderList;
  /** `text/event-stream`. */
  readonly isEventStream: boolean;
  readonly isJson: boolean;
  /** Neither a length nor chunks: only the end of the connection ends the body, whole or not. */
  readonly isUnsized: boolean;
  /** Not `identity`: the bytes are passed on, but cannot be read on the side. */
  readonly isEncoded: boolean;
}

/**
 * @param rawHeaders of the upstream's response, names and values in turn.
 * @param added further headers, such as Server-Timing.
 */
export function responseHead(rawHeaders: readonly string[], added: HeaderList): ResponseHead {
  const passed = pass(rawHeaders, HOP_BY_HOP);
  const type = find(passed, "content-type").toLowerCase();
  const isEventStream = type.startsWith("text/event-stream");
  const encoding = find(passed, "content-encoding").trim().toLowerCase();
  const headers = isEventStream
    ? eventStreamHeaders(passed, find(passed, "cache-control"))
    : passed;
  headers.push(...added);
  return {
    headers,
    isEventStream,
    isJson: type.startsWith("application/json"),
    isUnsized:
      find(passed, "content-length") === "" && find(rawHeaders, "transfer-encoding") === "",
    isEncoded: encoding !== "" && encoding !== "identity",
  };
}

/** @returns the first value, "" if there is none. */
function find(headers: readonly string[], wanted: string): string {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === wanted.length && name.toLowerCase() === wanted) return headers[i + 1]!;
  }
  return "";
}

/** Tells every proxy behind the gateway neither to gather nor to compress (casebook GW-14). */
function eventStreamHeaders(headers: HeaderList, cacheControl: string): HeaderList {
  const replaced = new Set(["cache-control", "x-accel-buffering", "content-length"]);
  const kept = pass(headers, replaced);
  const directives = cacheControl === "" ? ["no-cache"] : [cacheControl];
  if (!/no-transform/i.test(cacheControl)) directives.push("no-transform");
  kept.push("cache-control", directives.join(", "), "x-accel-buffering", "no");
  return kept;
}
