/** One way in which an upstream lets a call down: what it does on the wire, and what the caller must see of it. */
import type { FaultPhase, UpstreamApi } from "./fault-wire.ts";
import type { Step } from "./replay-server.ts";

/** What the caller has in the end. */
export type Verdict =
  /** All of it, as if nothing had been. */
  | "whole"
  /** No answer, and an error with its status, in the caller's own format. */
  | "status"
  /** The beginning, then one error event in the caller's own format. */
  | "in-band"
  /** What came went on byte by byte, and the caller's own parser refuses it. */
  | "passed";

/** How the upstream is there at all. */
export type Reach =
  | "plain"
  | "refused"
  | "no-name"
  | "tls-silent"
  | "tls-good"
  | "tls-expired"
  | "tls-unknown"
  | "tls-other-name";

export interface FaultPoint {
  readonly api: UpstreamApi;
  readonly isStream: boolean;
  readonly phase: FaultPhase;
}

export interface Fault {
  readonly name: string;
  readonly phases: readonly FaultPhase[];
  readonly modes: readonly ("stream" | "whole")[];
  readonly reach?: Reach;
  steps(at: FaultPoint): readonly Step[];
  /** Without another target. Default: a status before content, in band after. */
  readonly alone?: Verdict;
  /** With another target, if that is not the usual: whole before content. */
  readonly withSpare?: Verdict;
  /** The second try at the same target is whole: one is allowed even without another target. */
  readonly passes?: boolean;
  /** Within which the gateway's own limits must end it. */
  readonly limitMs: number;
  /** Where the formats differ, what the translation makes of it. */
  readonly translated?: Verdict;
}

/**
 * The gateway's limits in the matrix, in ms: well above what a busy machine may take for a cell in which nothing is
 * silent. */
export const MATRIX_LIMITS_MS = {
  connect: 1_200,
  headers: 1_600,
  firstContent: 2_000,
  lifeGap: 1_400,
  progressGap: 1_800,
} as const;
