/** What went wrong at the upstream, in Manx's own typed errors: which phase, which limit, never a bare "terminated". */
import { formatUs, ManxError } from "../core/index.ts";
import type { WaitPhase } from "./phase-watch.ts";

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
  | "timeout_gap"
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
  "timeout_gap",
  "client_cancelled",
  "client_stalled",
  "refused",
  "internal",
];

const EXPECTED: Readonly<Record<WaitPhase, string>> = {
  connect: "a connection",
  headers: "the head of the response",
  gap: "the next bytes of the response",
  write: "the client to read on",
};

export function timeoutError(phase: WaitPhase, limitUs: number): ManxError {
  return new ManxError("MANX_UPSTREAM_TIMEOUT", {
    what: `the upstream was silent for longer than the limit of phase "${phase}"`,
    expected: `${EXPECTED[phase]} within ${formatUs(limitUs)}`,
    details: { phase, limitUs },
  });
}

/** @param origin of the configuration; it holds no credentials. */
export function downError(cause: Error, origin: string): ManxError {
  return new ManxError("MANX_UPSTREAM_DOWN", { where: origin, got: causeName(cause), cause });
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
