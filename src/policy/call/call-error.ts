/** What a call has failed with, in Manx's own typed errors: which phase, which limit, never a bare "terminated". */
import { formatUs, ManxError } from "../../core/index.ts";
import type { CallFailure } from "./call-decision.ts";
import type { PhaseTimeouts } from "./call-policy.ts";
import type { FailureKind } from "./failure.ts";

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

export function incompleteError(got: string): ManxError {
  return new ManxError("MANX_STREAM_INCOMPLETE", {
    expected: "the whole response",
    got,
  });
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
