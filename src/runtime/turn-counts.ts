/** What has happened to the calls of a turn, in numbers. */
export interface TurnCounts {
  /** Runs that were begun, repeats and hedges included. */
  started: number;
  /** Calls that began before their message was whole. */
  early: number;
  repeated: number;
  hedged: number;
  timeouts: number;
  /** Runs that were cut short and ended within the grace. */
  obeyed: number;
  /** Runs that ignored their signal and were given up. */
  abandoned: number;
  /** Runs that were taken back, and those where that failed. */
  undone: number;
  undoFailed: number;
  /** Calls that took over a run from a stream that had failed. */
  adopted: number;
  /** Runs that were begun on a guess, and calls that took one of them over. */
  prefetched: number;
  prefetchHits: number;
  truncated: number;
  /** Calls for another choice of the response, or run by the provider. */
  ignored: number;
  observerErrors: number;
}

export function newCounts(): TurnCounts {
  return {
    started: 0,
    early: 0,
    repeated: 0,
    hedged: 0,
    timeouts: 0,
    obeyed: 0,
    abandoned: 0,
    undone: 0,
    undoFailed: 0,
    adopted: 0,
    prefetched: 0,
    prefetchHits: 0,
    truncated: 0,
    ignored: 0,
    observerErrors: 0,
  };
}
