/**
 * Which headers pass the gateway. Hop-by-hop headers belong to one connection and stop here, both ways, with whatever
 * `Connection` names (RFC 9110, 7.6.1): a client's `Connection: close` passed on would end the pool's reuse, an
 * upstream's would end the client's. All others pass as they came, in order, repeated ones too; credentials with them.
 *
 * `Content-Encoding` passes unchanged: the bytes do as well. `Accept-Encoding` does not where the gateway reads along: a
 * stream that nobody can read cannot be seen to stall.
 */

import { CREDENTIAL_HEADERS } from "../core/index.ts";

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

/** Who the caller is to the gateway; where the gateway has a key of its own, none of its caller's business upstream. */
const NOT_FORWARDED_WITH_KEY = new Set([...NOT_FORWARDED, ...CREDENTIAL_HEADERS]);

/** Of Manx's own headers, those that an engine's twin reads; all others are between the caller and this gateway. */
export const FOR_THE_ENGINE: ReadonlySet<string> = new Set([
  "x-manx-fault",
  "x-manx-script",
  "x-manx-tenant",
]);

export interface RequestHeaderOptions {
  /** This gateway's own name, for `Via`. */
  readonly via: string;
  /** The gateway's key for the upstream, as headers; null passes the caller's on. */
  readonly credentials: HeaderList | null;
  /** Of a caller's credential, whether it is this gateway's own key: that goes no further. */
  readonly isOwnKey?: (value: string) => boolean;
  /** The answer is read on the side, so it must come in the clear. */
  readonly inTheClear: boolean;
}

/** @param rawHeaders of the client's request. */
export function requestHeaders(
  rawHeaders: readonly string[],
  { via, credentials, isOwnKey, inTheClear }: RequestHeaderOptions,
): HeaderList {
  const passed = pass(rawHeaders, credentials === null ? NOT_FORWARDED : NOT_FORWARDED_WITH_KEY);
  const kept: HeaderList = [];
  for (let i = 0; i < passed.length; i += 2) {
    const name = passed[i]!.toLowerCase();
    // The latter would hide the answer from it.
    if (name.startsWith("x-manx-") && !FOR_THE_ENGINE.has(name)) continue;
    if (inTheClear && name === "accept-encoding") continue;
    if (isOwnKey !== undefined && CREDENTIAL_HEADERS.has(name) && isOwnKey(passed[i + 1]!))
      continue;
    kept.push(passed[i]!, passed[i + 1]!);
  }
  if (inTheClear) kept.push("accept-encoding", "identity");
  if (credentials !== null) kept.push(...credentials);
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

const REPLACED_IN_REFUSALS = new Set(["x-should-retry", "content-length"]);

/** @param headers of an upstream's refusal, whose body has been read whole. */
export function refusalHead(headers: readonly string[], bodyBytes: number): HeaderList {
  const kept = pass(headers, REPLACED_IN_REFUSALS);
  kept.push("content-length", String(bodyBytes));
  return kept;
}

const OF_THE_BODY = new Set(["content-length", "content-type", "content-encoding"]);

/** Of an answer whose body becomes another one. */
export function translatedHead(head: ResponseHead): ResponseHead {
  const headers = pass(head.headers, OF_THE_BODY);
  headers.push("content-type", head.isEventStream ? "text/event-stream" : "application/json");
  return { ...head, headers };
}
