/**
 * Which headers pass the gateway. Hop-by-hop headers belong to one connection and stop here, both ways, with whatever
 * `Connection` names (RFC 9110, 7.6.1): a client's `Connection: close` passed on would end the pool's reuse, an
 * upstream's would end the client's. All others pass as they came, in order, repeated ones too; credentials with them.
 *
 * `Content-Encoding` passes unchanged: the bytes do as well. `Accept-Encoding` does not where the gateway reads along: a
 * stream that nobody can read cannot be seen to stall.
 */
import {
  ACCEPT_ENCODING,
  BODY_FORM,
  CONTENT_LENGTH,
  CREDENTIAL,
  HOP_BY_HOP,
  headerKind,
  OWN,
  PROXY_RULE,
  RETRY_RULE,
  SET_ANEW,
} from "./header-kind.ts";

export { FOR_THE_ENGINE } from "./header-kind.ts";

/** Flat list: name, value, name, value. */
export type HeaderList = string[];

/** What Connection says nearly always, and names nothing with. */
const NAMES_NOTHING = new Set(["keep-alive", "close"]);

function namedByConnection(headers: readonly string[]): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== 10 || headers[i]!.toLowerCase() !== "connection") continue;
    if (NAMES_NOTHING.has(headers[i + 1]!)) continue;
    for (const name of headers[i + 1]!.toLowerCase().split(",")) {
      const trimmed = name.trim();
      if (trimmed === "close" || trimmed === "") continue;
      named ??= new Set();
      named.add(trimmed);
    }
  }
  return named;
}

/** @param stopped bits of what does not pass. */
function pass(from: readonly string[], stopped: number): HeaderList {
  const named = namedByConnection(from);
  const kept: HeaderList = [];
  for (let i = 0; i < from.length; i += 2) {
    const name = from[i]!;
    if ((headerKind(name) & stopped) !== 0) continue;
    if (named?.has(name.toLowerCase()) === true) continue;
    kept.push(name, from[i + 1]!);
  }
  return kept;
}

export interface RequestHeaderOptions {
  /** This gateway's own name, for `Via`. */
  readonly via: string;
  /** The gateway's key for the upstream, as headers; null passes the caller's on. */
  readonly credentials: HeaderList | null;
  /** Of a caller's credential, whether it is this gateway's own key: that goes no further. */
  readonly isOwnKey?: ((value: string) => boolean) | undefined;
  /** The answer is read on the side, so it must come in the clear. */
  readonly inTheClear: boolean;
}

/** @param rawHeaders of the client's request. */
export function requestHeaders(
  rawHeaders: readonly string[],
  { via, credentials, isOwnKey, inTheClear }: RequestHeaderOptions,
): HeaderList {
  let stopped = HOP_BY_HOP | SET_ANEW | OWN;
  // Where the gateway has a key of its own, who the caller is to the gateway is none of its business upstream.
  if (credentials !== null) stopped |= CREDENTIAL;
  if (inTheClear) stopped |= ACCEPT_ENCODING;
  const passed = pass(rawHeaders, stopped);
  const kept = isOwnKey === undefined ? passed : withoutOwnKey(passed, isOwnKey);
  if (inTheClear) kept.push("accept-encoding", "identity");
  if (credentials !== null) kept.push(...credentials);
  kept.push("via", `1.1 ${via}`);
  return kept;
}

function withoutOwnKey(headers: HeaderList, isOwnKey: (value: string) => boolean): HeaderList {
  const kept: HeaderList = [];
  for (let i = 0; i < headers.length; i += 2) {
    if ((headerKind(headers[i]!) & CREDENTIAL) !== 0 && isOwnKey(headers[i + 1]!)) continue;
    kept.push(headers[i]!, headers[i + 1]!);
  }
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

/** @param rawHeaders of the upstream's response, names and values in turn. */
export function responseHead(rawHeaders: readonly string[]): ResponseHead {
  const passed = pass(rawHeaders, HOP_BY_HOP);
  const type = findHeader(passed, "content-type").toLowerCase();
  const isEventStream = type.startsWith("text/event-stream");
  const encoding = findHeader(passed, "content-encoding").trim().toLowerCase();
  const headers = isEventStream
    ? eventStreamHeaders(passed, findHeader(passed, "cache-control"))
    : passed;
  return {
    headers,
    isEventStream,
    isJson: type.startsWith("application/json"),
    isUnsized:
      findHeader(passed, "content-length") === "" &&
      findHeader(rawHeaders, "transfer-encoding") === "",
    isEncoded: encoding !== "" && encoding !== "identity",
  };
}

/** @returns the first value, "" if there is none. */
export function findHeader(headers: readonly string[], wanted: string): string {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length !== wanted.length) continue;
    if (name === wanted || name.toLowerCase() === wanted) return headers[i + 1]!;
  }
  return "";
}

/** Tells every proxy behind the gateway neither to gather nor to compress (casebook GW-14). */
function eventStreamHeaders(headers: HeaderList, cacheControl: string): HeaderList {
  const kept = pass(headers, PROXY_RULE | CONTENT_LENGTH);
  const directives = cacheControl === "" ? "no-cache" : cacheControl;
  const isKept = /no-transform/i.test(cacheControl);
  kept.push("cache-control", isKept ? directives : `${directives}, no-transform`);
  kept.push("x-accel-buffering", "no");
  return kept;
}

/** @param headers of an upstream's refusal, whose body has been read whole. */
export function refusalHead(headers: readonly string[], bodyBytes: number): HeaderList {
  const kept = pass(headers, RETRY_RULE | CONTENT_LENGTH);
  kept.push("content-length", String(bodyBytes));
  return kept;
}

/** Of an answer whose body becomes another one. */
export function translatedHead(head: ResponseHead): ResponseHead {
  const headers = pass(head.headers, CONTENT_LENGTH | BODY_FORM);
  headers.push("content-type", head.isEventStream ? "text/event-stream" : "application/json");
  return { ...head, headers };
}
