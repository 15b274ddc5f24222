/** How a fan-out comes back together, as its author sets it. */
export interface JoinPolicy {
  /** `all`: every branch that is required. `k`: that many branches, whichever, and all that are required. */
  readonly join: "all" | { readonly k: number };
  /** µs from the start; then what is there counts, or nothing does. Infinite for none. */
  readonly withinUs: number;
  /**
   * At the deadline: whether what is there may do without the rest. Required branches it may never do without; optional ones
   * have until then.
   */
  readonly partial: boolean;
}

export interface JoinBranch {
  readonly name: string;
  /** Without it there is no result. An optional one counts if it comes in time; `all` waits for it only if it is partial. */
  readonly required: boolean;
  /** A second attempt does no harm. */
  readonly hedges: boolean;
}

/** When a slow branch may get a second attempt. Asked by the machine, fed by it. */
export interface StragglerHedge {
  /** µs after the branch began; infinite while too little is known. */
  delayUs(branch: string): number;
  /** @returns whether a branch that is late may be hedged, which is paid for then. */
  mayHedge(branch: string): boolean;
  /** A branch has come before its delay, or was still out at it. */
  note(branch: string, wasLate: boolean): void;
  /** A first attempt took this long. */
  record(branch: string, tookUs: number): void;
}
