/** What went wrong at the upstream, in Manx's own typed errors: which phase, which limit, never a bare "terminated". */
import { formatUs, ManxError } from "../core/index.ts";
import type { CallFailure, FailureKind, PhaseTimeouts } from "../policy/index.ts";

/** How a request ended, for metrics; a closed list. A client that leaves is no error of anybody. */
export type Outcome =
  | "ok"
  | "upstream_status"
  | "stream_error"
  | "stream_empty"
  | "stream_incomplete"
  | "upstream_down"
  | "timeout_connect"
  | "timeout_headers"
  | "timeout_first_content"
  | "timeout_gap"
  | "timeout_progress"
  | "deadline"
  | "no_target"
  | "guard_refused"
  | "guard_failed"
  | "client_cancelled"
  | "client_stalled"
  | "refused"
  | "internal";

export const OUTCOMES: readonly Outcome[] = [
  "ok",
  "upstream_status",
  "stream_error",
  "stream_empty",
  "stream_incomplete",
  "upstream_down",
  "timeout_connect",
  "timeout_headers",
  "timeout_first_content",
  "timeout_gap",
  "timeout_progress",
  "deadline",
  "no_target",
  "guard_refused",
  "guard_failed",
  "client_cancelled",
  "client_stalled",
  "refused",
  "internal",
];

/** @returns how a call that ends with `error` is counted. An upstream that closes without a head was not there. */
export function outcomeOf({ kind }: CallFailure, error: ManxError): Outcome {
  return error.code === "MANX_UPSTREAM_DOWN" ? "upstream_down" : OUTCOME_OF[kind];
}

const OUTCOME_OF: Readonly<Record<CallFailure["kind"], Outcome>> = {
  connect: "upstream_down",
  reuse_race: "upstream_down",
  garbage: "upstream_down",
  status: "upstream_status",
  stream_error: "stream_error",
  cut: "stream_incomplete",
  timeout_connect: "timeout_connect",
  timeout_headers: "timeout_headers",
  timeout_first_content: "timeout_first_content",
  stall_bytes: "timeout_gap",
  stall_progress: "timeout_progress",
  local: "refused",
  unsuited: "refused",
  deadline: "deadline",
  no_target: "no_target",
};

interface Wait {
  readonly phase: string;
  readonly expected: string;
  readonly limit: keyof PhaseTimeouts;
}

const WAITS: Readonly<Partial<Record<FailureKind, Wait>>> = {
  timeout_connect: { phase: "connect", expected: "a connection", limit: "connectUs" },
  timeout_headers: { phase: "headers", expected: "the head of the response", limit: "headersUs" },
  timeout_first_content: {
    phase: "first_content",
    expected: "the first output of the model",
    limit: "firstContentUs",
  },
  stall_bytes: { phase: "gap", expected: "the next bytes of the response", limit: "lifeGapUs" },
  stall_progress: {
    phase: "progress",
    expected: "further output of the model, whose connection lives",
    limit: "progressGapUs",
  },
};

/** @returns undefined if that kind of failure is no time-out. */
function timeoutError(kind: CallFailure["kind"], timeouts: PhaseTimeouts): ManxError | undefined {
  const wait = WAITS[kind as FailureKind];
  if (wait === undefined) return undefined;
  const limitUs = timeouts[wait.limit];
  return new ManxError("MANX_UPSTREAM_TIMEOUT", {
    what: `the upstream was silent for longer than the limit of phase "${wait.phase}"`,
    expected: `${wait.expected} within ${formatUs(limitUs)}`,
    details: { phase: wait.phase, limitUs },
  });
}

/** @param origin of the configuration; it holds no credentials. */
export function downError(cause: Error, origin: string): ManxError {
  return new ManxError("MANX_UPSTREAM_DOWN", { where: origin, got: causeName(cause), cause });
}

/** No upstream is to blame: this machine has no socket left. */
export function exhaustedError(cause: Error): ManxError {
  return new ManxError("MANX_OVERLOADED", {
    where: "this gateway",
    expected: "a free socket",
    got: causeName(cause),
    hint: "come back in a moment; raise the process's limit of open files (ulimit -n)",
    cause,
  });
}

export function incompleteError(got: string): ManxError {
  return new ManxError("MANX_STREAM_INCOMPLETE", {
    expected: "the whole response",
    got,
  });
}

/** The code of a Node or undici error; its message may hold addresses, so it is used only where there is no code. */
export function causeName(cause: Error): string {
  const { code } = cause as NodeJS.ErrnoException;
  return code ?? cause.message;
}

/**
 * The one error that a call ends with.
 * @param fault of the attempt that failed last.
 */
export function finalError(
  failure: CallFailure,
  fault: ManxError | undefined,
  timeouts: PhaseTimeouts,
): ManxError {
  const timeout = timeoutError(failure.kind, timeouts);
  if (timeout !== undefined) return timeout;
  if (failure.kind === "deadline") return new ManxError("MANX_DEADLINE");
  if (failure.kind === "no_target") return new ManxError("MANX_NO_TARGET");
  // A refusal that came too late to be passed on as it was.
  if (failure.kind === "status") {
    return new ManxError("MANX_UPSTREAM_ERROR", { got: `status ${failure.status}` });
  }
  return fault ?? new ManxError("MANX_UPSTREAM_DOWN");
}

/**
 * The retries were made here; a caller's SDK that made its own would multiply them (casebook GW-16). A truthful
 * `Retry-After` goes with it where there is one to tell.
 */
export function refusalHeaders(failure: CallFailure, attempts: number): string[] {
  const headers: string[] = [];
  if (attempts > 0) headers.push("x-should-retry", "false");
  const { retryAfterUs } = failure;
  if (failure.kind === "no_target" && retryAfterUs !== undefined) {
    headers.push("retry-after", String(Math.max(1, Math.ceil(retryAfterUs / 1_000_000))));
  }
  return headers;
}
