/** A guarded call in simulated time, whose rounds answer from lists. */
import {
  type GuardedAnswerOptions,
  guardedAnswer,
  Rails,
  type SourceItem,
  Turn,
} from "../../src/runtime/index.ts";
import { railWorld, type Scripted, scriptedRail, timedSource, watch } from "./rail-world.ts";

export type Timed = ReadonlyArray<readonly [atMs: number, item: SourceItem]>;

/** Plays a call whose n-th round answers with the n-th list. */
export async function play(
  scripts: readonly Scripted[],
  rounds: readonly Timed[],
  more: Partial<GuardedAnswerOptions> & { readonly deadline?: string } = {},
) {
  const { clock, log } = railWorld();
  const rails = new Rails(
    scripts.map((one) => scriptedRail(clock, log, one)),
    { windowChars: 20, overlapChars: 8 },
  );
  const asked: string[] = [];
  const abortedMs: number[] = [];
  const deadline = more.deadline;
  const turn = new Turn({ tools: [], clock, ...(deadline !== undefined && { deadline }) });
  const answer = guardedAnswer({
    rails,
    turn,
    request: "first words",
    ask: ({ request, round, signal }) => {
      asked.push(`${round} ${request} ${clock.nowUs() / 1_000}`);
      signal.addEventListener("abort", () => abortedMs.push(clock.nowUs() / 1_000));
      return timedSource(clock, rounds[round - 1]!, signal);
    },
    ...more,
  });
  const seen = watch(clock, answer);
  await clock.run();
  return { seen, asked, abortedMs, log, clock, turn, answer };
}

export const hasBad = (text: string): string => (text.includes("BAD") ? "flag" : "clean");
export const OUT: Scripted = { name: "out", verdict: hasBad, afterMs: 10 };
export const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;
