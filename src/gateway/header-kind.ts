/**
 * What a header is to the gateway, by its name: bits, so that one look-up answers all that is asked of it. Names come as
 * new strings with every request, in whatever case their sender likes: a lower-casing and two or three searches for each
 * of them took twice the time, 2 µs a call with both heads once all is warm.
 *
 * Bounded: NAMES_MAX names are remembered, the first that come. All others are worked out anew each time, which changes
 * nothing but the time it takes.
 */
import { CREDENTIAL_HEADERS } from "../core/index.ts";

/** Belongs to one connection. */
export const HOP_BY_HOP = 1 << 0;
/** Of a request: set anew from the pool's origin and the body that is sent, or answered by this gateway's own server. */
export const SET_ANEW = 1 << 1;
/** Says who the caller is. */
export const CREDENTIAL = 1 << 2;
/** Between the caller and this gateway. */
export const OWN = 1 << 3;
export const ACCEPT_ENCODING = 1 << 4;
/** How proxies treat the answer. */
export const PROXY_RULE = 1 << 5;
export const CONTENT_LENGTH = 1 << 6;
/** What the body is. */
export const BODY_FORM = 1 << 7;
/** Whether the caller's SDK should try again. */
export const RETRY_RULE = 1 << 8;

/** Of Manx's own headers, those that an engine's twin reads; all others are between the caller and this gateway. */
export const FOR_THE_ENGINE: ReadonlySet<string> = new Set([
  "x-manx-fault",
  "x-manx-script",
  "x-manx-tenant",
]);

const GROUPS: readonly (readonly [bit: number, names: Iterable<string>])[] = [
  [HOP_BY_HOP, ["connection", "keep-alive", "proxy-authenticate", "proxy-authorization"]],
  [HOP_BY_HOP, ["proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]],
  [SET_ANEW, ["host", "content-length", "expect"]],
  [CREDENTIAL, CREDENTIAL_HEADERS],
  [ACCEPT_ENCODING, ["accept-encoding"]],
  [PROXY_RULE, ["cache-control", "x-accel-buffering"]],
  [CONTENT_LENGTH, ["content-length"]],
  [BODY_FORM, ["content-type", "content-encoding"]],
  [RETRY_RULE, ["x-should-retry"]],
];

/** In lower case. */
const KINDS = new Map<string, number>();
for (const [bit, names] of GROUPS) {
  for (const name of names) KINDS.set(name, (KINDS.get(name) ?? 0) | bit);
}

const NAMES_MAX = 500;
const NAME_CHARS_MAX = 64;
/** As they were written. */
const remembered = new Map<string, number>();

/** @param name of a header, in any case. @returns the bits above that hold of it; 0 of one that just passes. */
export function headerKind(name: string): number {
  const kind = remembered.get(name);
  if (kind !== undefined) return kind;
  const found = findKind(name.toLowerCase());
  if (remembered.size < NAMES_MAX && name.length <= NAME_CHARS_MAX) remembered.set(name, found);
  return found;
}

function findKind(lower: string): number {
  return KINDS.get(lower) ?? (lower.startsWith("x-manx-") && !FOR_THE_ENGINE.has(lower) ? OWN : 0);
}
