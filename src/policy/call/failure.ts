/**
 * How an attempt can fail, and what may follow. Slow is not failed: a time-out while the model may still be working is
 * never answered by sending the same work to the same place again.
 */
export type FailureKind =
  /** No connection: refused, no such name, certificate. Nothing was sent. */
  | "connect"
  /** A kept connection was found dead before a byte of the answer came. */
  | "reuse_race"
  /** An HTTP status that says no. */
  | "status"
  /** An error event in an answer that began with 200. */
  | "stream_error"
  /** The transport ended before the answer was whole. */
  | "cut"
  /** What came is no HTTP, or no answer in the target's format. */
  | "garbage"
  | "timeout_connect"
  | "timeout_headers"
  | "timeout_first_content"
  /** After the head no byte, or after first content no progress. */
  | "stall_bytes"
  | "stall_progress"
  /** This process has no connection, memory or file descriptor left for it. */
  | "local"
  /** The call cannot be put in the target's terms: nothing was sent. */
  | "unsuited";

export interface Failure {
  readonly kind: FailureKind;
  /** Of the answer, or what an error event stands for; 0 if there is none. */
  readonly status: number;
  /** What the upstream asked for; undefined if it said nothing. */
  readonly retryAfterUs: number | undefined;
  /** `x-should-retry`; undefined if the upstream did not send it. */
  readonly shouldRetry: boolean | undefined;
}

/** @returns a failure that no header speaks about. */
export function plainFailure(kind: FailureKind, status = 0): Failure {
  return { kind, status, retryAfterUs: undefined, shouldRetry: undefined };
}

export type NextTry =
  /** At once, on a new connection; not counted as a retry. */
  | "again"
  /** Another target at once, the same one after a pause. */
  | "anywhere"
  /** Another target at once, the same one after a long pause: it has said that it is overloaded. */
  | "patiently"
  /** Another target or none: the same one may still be at work on it. */
  | "elsewhere"
  | "never";

/**
 * @param isRepeatable the call has no effect beyond its answer (nothing stored, no tool that the provider runs), so that it
 * may be computed twice.
 */
export function nextTry(failure: Failure, isRepeatable: boolean): NextTry {
  switch (failure.kind) {
    case "reuse_race":
      return "again";
    case "connect":
    case "timeout_connect":
      return "anywhere";
    case "status":
    case "stream_error":
      return nextAfterStatus(failure, isRepeatable);
    case "cut":
    case "garbage":
      return isRepeatable ? "anywhere" : "never";
    case "timeout_headers":
    case "timeout_first_content":
    // Before content, that is: what the caller has seen cannot be taken back, and nobody asks then.
    case "stall_bytes":
    case "stall_progress":
      return isRepeatable ? "elsewhere" : "never";
    case "unsuited":
      return "elsewhere";
    case "local":
      return "never";
  }
}

/** Refused before it was begun: repeating it repeats nothing. */
const NOT_BEGUN = new Set([408, 425, 429, 503, 529]);
const BEGUN = new Set([500, 502, 504]);

function nextAfterStatus({ status, shouldRetry }: Failure, isRepeatable: boolean): NextTry {
  if (shouldRetry === false) return "never";
  if (status === 529) return "patiently";
  if (NOT_BEGUN.has(status)) return "anywhere";
  if (!isRepeatable) return "never";
  if (shouldRetry === true || BEGUN.has(status)) return "anywhere";
  return "never";
}

/** Ends after which the target may still be at work: nothing said no, it only took too long. */
const SILENCES = new Set<string>([
  "timeout_headers",
  "timeout_first_content",
  "stall_bytes",
  "stall_progress",
]);

/** @param end of an attempt. */
export function isSilence(end: string | undefined): boolean {
  return end !== undefined && SILENCES.has(end);
}

/** What a breaker counts. A 429 says that we are too fast, and a 4xx that the caller is wrong: neither that it is ill. */
export function isIllness({ kind, status }: Failure): boolean {
  if (kind === "status" || kind === "stream_error") return status >= 500;
  return kind !== "reuse_race" && kind !== "local" && kind !== "unsuited";
}
