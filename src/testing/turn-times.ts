/** What a budget is set on: times of a recorded turn and of the model calls in it, from their spans. */
import { EVENT, type Span, type TurnRecord } from "../trace/index.ts";

export interface TurnTimes {
  readonly e2eUs: number;
  /** From the turn's start to the first output of any of its calls that a user can see; null without one. */
  readonly firstVisibleUs: number | null;
  /** Of each model call that had an output: from its start to the first one of any kind. */
  readonly ttftsUs: readonly number[];
}

export function turnTimes({ wallUs, spans }: TurnRecord): TurnTimes {
  const ttftsUs: number[] = [];
  let firstVisibleUs: number | null = null;
  for (const span of spans) {
    if (span.kind !== "model-call") continue;
    // Whoever makes the attempts may be the one who sees the output.
    const seen = [
      span,
      ...spans.filter(({ parentId, kind }) => parentId === span.id && kind === "attempt"),
    ];
    const firstUs = firstOf(seen, EVENT.outputStart);
    if (firstUs !== null) ttftsUs.push(firstUs - span.startUs);
    const visibleUs = firstOf(seen, EVENT.outputVisible);
    if (visibleUs !== null) firstVisibleUs = Math.min(firstVisibleUs ?? visibleUs, visibleUs);
  }
  return { e2eUs: wallUs, firstVisibleUs, ttftsUs };
}

function firstOf(spans: readonly Span[], name: string): number | null {
  const times = spans.flatMap(({ events }) => events.filter((one) => one.name === name));
  return times.length === 0 ? null : Math.min(...times.map(({ atUs }) => atUs));
}
