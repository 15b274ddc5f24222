/**
 * What load is sent to, and what comes back. The pacer and the collector know nothing else, so a run against real sockets
 * and one against a server written in ten lines in virtual time are the same run.
 */
import type { StreamMetrics } from "../stream/index.ts";
import type { WorkRequest } from "./work-request.ts";

export interface Job {
  readonly request: WorkRequest;
  /** From 0, in order of intended starts. */
  readonly index: number;
  /** On the run's clock: every time that a user would feel counts from here. */
  readonly intendedUs: number;
}

export interface Target {
  /** Starts at once. `done` is called exactly once, and never before this returns. */
  send(job: Job, done: (outcome: Outcome) => void): void;
}

/**
 * Why a request is a failure: `http-429` and so on by status, `timeout` (the run's own limit, so the true time is longer),
 * `connect`, `connection-lost` (before any response), `stream-incomplete` (it broke off), `in-band-error` (an error inside a 200), `malformed`,
 * `client-backlog` (this client had too many open), `interrupted` (the run was stopped, nobody's fault).
 */
export type FailureClass =
  | `http-${number}`
  | "timeout"
  | "connect"
  | "connection-lost"
  | "stream-incomplete"
  | "in-band-error"
  | "malformed"
  | "client-backlog"
  | "interrupted";

export interface Outcome {
  readonly failure: FailureClass | null;
  /** When it was over: last byte, or the failure. */
  readonly endUs: number;
  /** When the request's first byte was handed to an open connection; null if it never was. */
  readonly sentUs: number | null;
  /** When the first byte of the response came; null if none did. */
  readonly headersUs: number | null;
  /** Whether it paid for a connection; null if it never had one. */
  readonly connection: "new" | "reused" | null;
  /** Time to open the connection, if it did. */
  readonly connectUs?: number;
  /** Null for a response that is no stream. */
  readonly stream: StreamTimes | null;
  /** Output tokens as the server counted them; null if it did not say. */
  readonly outputTokens: number | null;
  /** Prompt tokens and how many of them the server's prefix cache had, if it said. */
  readonly promptTokens?: number | null;
  readonly cachedTokens?: number | null;
}

/** Of one stream, in the words of src/stream; undefined figures are null, never 0. */
export type StreamTimes = Pick<
  StreamMetrics,
  "ttftUs" | "ttfvtUs" | "serviceTtftUs" | "tpotUs" | "chunkGapsUs" | "itlUs"
> & { readonly stalls: Pick<StreamMetrics["stalls"], "count" | "stalledUs" | "worstGapUs"> };
