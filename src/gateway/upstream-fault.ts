/** What went wrong at the upstream: how it is counted, and the errors of its connections. */
import { ManxError } from "../core/index.ts";
import type { CallFailure } from "../policy/index.ts";

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

/** The code of an error of Node; its message may hold addresses, so it is used only where there is no code. */
export function causeName(cause: Error): string {
  const { code } = cause as NodeJS.ErrnoException;
  return code ?? cause.message;
}
