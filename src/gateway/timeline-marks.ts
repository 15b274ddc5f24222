/** For the client's own timeline: what the gateway took, what the upstream took, and on which connection, as headers. */
export interface TimelineFacts {
  /** The request was there, whole. */
  readonly readyUs: number;
  /** The attempt whose answer this is was sent on its way. */
  readonly sentUs: number;
  readonly nowUs: number;
  readonly isWarm: boolean;
  readonly attempts: number;
}

/** @returns names and values in turn. */
export function timelineMarks(facts: TimelineFacts): string[] {
  const ownMs = (facts.sentUs - facts.readyUs) / 1_000;
  const upstreamMs = (facts.nowUs - facts.sentUs) / 1_000;
  return [
    "server-timing",
    `manx;dur=${ownMs.toFixed(3)}, upstream;dur=${upstreamMs.toFixed(3)}`,
    "x-manx-connection",
    facts.isWarm ? "reused" : "new",
    "x-manx-attempts",
    String(facts.attempts),
  ];
}
