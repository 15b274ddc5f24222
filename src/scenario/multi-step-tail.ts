/**
 * G4: five steps, each log-normal with a median of 200 ms and a p99 of 2 s. Adding medians says 1 s, adding p99s says 10 s, and both
 * are wrong: tails do not add up. Then what is done about it, through the runtime itself in simulated time: the model thinks,
 * looks something up, thinks, reads what it found, thinks and answers.
 */
import { Random, SimClock } from "../clock/index.ts";
import { assert } from "../core/index.ts";
import { Prefetcher, type PrefetchRule, type Tool, Turn, tool } from "../runtime/index.ts";
import { type Quantile, sampleQuantile } from "../stats/index.ts";
import { chatCalls } from "./chat-message.ts";

const STEPS = ["think", "look-up", "think again", "read", "answer"] as const;

const MEDIAN_US = 200_000;
/** p99 is ten times the median, which is 2.326 σ away. */
const SIGMA = Math.log(10) / 2.3263;
/** p95 of a step: 1.645 σ. */
const LATE_US = Math.round(MEDIAN_US * Math.exp(1.645 * SIGMA));
/** How often the next call is the one that was guessed. */
const GUESSED = 0.8;

export interface Tail {
  readonly p50: Quantile;
  readonly p95: Quantile;
  readonly p99: Quantile;
}

export interface ComposedTail {
  readonly tail: Tail;
  /** µs: what adding up medians and p99s says. */
  readonly naive: { readonly medianUs: number; readonly p99Us: number };
  /** µs by which p99 falls if this step alone never takes longer than its p95; the largest first. */
  readonly buys: readonly { readonly step: string; readonly p99FallsUs: number }[];
}

/** @param heavy a step whose p99 is 4 s instead; default: none. */
export function composedTail(turns: number, seed: number, heavy?: string): ComposedTail {
  const random = new Random(seed, "steps");
  const rows = Array.from({ length: turns }, () =>
    STEPS.map((step) => draw(random, step === heavy ? SIGMA * 1.3 : SIGMA)),
  );
  const tail = tailOf(rows.map(total));
  const buys = STEPS.map((step, k) => {
    const capped = rows.map((row) => total(row) - Math.max(0, row[k]! - LATE_US));
    return { step, p99FallsUs: tail.p99.value - tailOf(capped).p99.value };
  });
  return {
    tail,
    naive: { medianUs: STEPS.length * MEDIAN_US, p99Us: STEPS.length * 10 * MEDIAN_US },
    buys: buys.sort((a, b) => b.p99FallsUs - a.p99FallsUs),
  };
}

export interface StepCure {
  readonly name: string;
  readonly tail: Tail;
  /** Runs of tools and of the model beyond one per step, as a share. */
  readonly moreRuns: number;
}

/** The same turns as they are, hedged at p95, and hedged with both tools begun while the model thinks. */
export async function stepCures(turns: number, seed: number): Promise<readonly StepCure[]> {
  const cures: StepCure[] = [];
  for (const name of ["as it was", "hedged at p95", "hedged and prefetched"] as const) {
    cures.push(await cure(name, turns, seed));
  }
  return cures;
}

interface Row {
  /** µs of the first attempt and of a hedge, per step. */
  readonly times: readonly (readonly [number, number])[];
  readonly isGuessed: readonly boolean[];
}

async function cure(name: string, turns: number, seed: number): Promise<StepCure> {
  const clock = new SimClock();
  const random = new Random(seed, "turns");
  const hedges = name !== "as it was";
  let row: Row = { times: [], isGuessed: [] };
  let runs = 0;
  const timed = (at: 1 | 3): Tool =>
    tool<unknown, unknown>({
      name: STEPS[at],
      effect: "pure",
      prefetch: true,
      input: (value) => value,
      ...(hedges && { hedgeAfter: LATE_US }),
      run: async (_, { signal, attempt }) => {
        runs += 1;
        await clock.sleepUntil(clock.nowUs() + row.times[at]![attempt === 1 ? 0 : 1], signal);
        return at;
      },
    });
  const tools = [timed(1), timed(3)];
  const rules: PrefetchRule[] = [
    { tool: STEPS[1], when: ({ calls }) => calls.length === 0, args: { of: "guess" } },
    { tool: STEPS[3], when: ({ calls }) => calls.length === 1, args: { of: "guess" } },
  ];
  const prefetch = new Prefetcher({ tools, rules, budget: { wasteShare: 0.3 } });
  const walls: number[] = [];
  const think = async (at: number): Promise<void> => {
    const [first, second] = row.times[at]!;
    runs += hedges && first > LATE_US ? 2 : 1;
    const us = hedges ? Math.min(first, LATE_US + second) : first;
    await clock.sleepUntil(clock.nowUs() + us);
  };
  const all = (async () => {
    for (let i = 0; i < turns; i += 1) {
      row = {
        times: STEPS.map(() => [draw(random, SIGMA), draw(random, SIGMA)] as const),
        isGuessed: STEPS.map(() => random.next() < GUESSED),
      };
      const startUs = clock.nowUs();
      const turn = new Turn({
        tools,
        clock,
        ...(name === "hedged and prefetched" && { prefetch }),
      });
      for (const at of [0, 2] as const) {
        const step = turn.step("openai-chat");
        await think(at);
        const of = row.isGuessed[at] ? "guess" : "other";
        for (const chunk of chatCalls([{ name: STEPS[at + 1]!, args: { of } }])) step.chunk(chunk);
        step.end();
        await step.results();
      }
      await think(4);
      walls.push(clock.nowUs() - startUs);
      await turn.close();
    }
  })();
  await clock.run();
  await all;
  return { name, tail: tailOf(walls), moreRuns: runs / (turns * STEPS.length) - 1 };
}

function draw(random: Random, sigma: number): number {
  return Math.round(MEDIAN_US * Math.exp(sigma * random.normal()));
}

function total(row: readonly number[]): number {
  return row.reduce((sum, us) => sum + us, 0);
}

function tailOf(times: readonly number[]): Tail {
  assert(times.length > 0, "a tail has samples");
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number): Quantile => sampleQuantile(sorted, q);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
