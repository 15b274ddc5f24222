/**
 * Turns whose next call is planted: with a known share it is the one that the last result names, otherwise another. Played
 * through the runtime in simulated time, with and without prefetching, on the same draws; beside what the formula of
 * arXiv 2512.15834 says for these very times.
 */
import { Random, SimClock } from "../../src/clock/index.ts";
import { prefetchedTurnUs } from "../../src/policy/index.ts";
import {
  type LoggedTurn,
  type PrefetchBudget,
  Prefetcher,
  type PrefetchReport,
  type PrefetchRule,
  type Tool,
  Turn,
  tool,
} from "../../src/runtime/index.ts";
import { FINISH, wholeCall } from "./runtime-world.ts";

export interface Planted {
  readonly title: string;
  /** α: how often the next call is the planted one. */
  readonly hitRate: number;
  /** µs. */
  readonly think: (random: Random) => number;
  readonly tool: (random: Random) => number;
  readonly by: "rule" | "learned";
  readonly budget: PrefetchBudget;
}

export interface PlantedResult {
  readonly calls: number;
  readonly withoutUs: number;
  readonly withUs: number;
  /** By the formula, with the planted α, and with the share of calls that really were found begun. */
  readonly plantedUs: number;
  readonly foundUs: number;
  readonly report: PrefetchReport;
}

const STEPS = 5;

interface Draw {
  readonly thinkUs: number;
  readonly toolUs: number;
  readonly isPlanted: boolean;
  readonly next: string;
}

const RULE: PrefetchRule = {
  tool: "look-up",
  args: ({ input, last }) => ({
    id: (last("look-up")?.result as { next: string } | undefined)?.next ?? input,
  }),
};

export async function playPlanted(planted: Planted, turns: number): Promise<PlantedResult> {
  const draws = drawn(planted, turns, 1);
  const none = await play(planted, draws);
  const learned =
    planted.by === "rule"
      ? { rules: [RULE] }
      : { learned: Prefetcher.learn((await play(planted, drawn(planted, 100, 2))).log).model };
  const some = await play(planted, draws, learned);
  const { report } = some;
  const calls = turns * STEPS;
  const formulaUs = (hitRate: number): number =>
    draws.flat().reduce((sum, times) => sum + prefetchedTurnUs({ ...times, hitRate, calls: 1 }), 0);
  return {
    calls,
    withoutUs: none.wallUs,
    withUs: some.wallUs,
    plantedUs: formulaUs(planted.hitRate),
    foundUs: formulaUs(report.hits / calls),
    report,
  };
}

function drawn(planted: Planted, turns: number, seed: number): readonly (readonly Draw[])[] {
  const random = new Random(seed, "planted");
  return Array.from({ length: turns }, () =>
    Array.from({ length: STEPS }, () => ({
      thinkUs: Math.round(planted.think(random)),
      toolUs: Math.round(planted.tool(random)),
      isPlanted: random.next() < planted.hitRate,
      next: `id-${random.int(2 ** 40)}`,
    })),
  );
}

interface Played {
  readonly wallUs: number;
  readonly log: readonly LoggedTurn[];
  readonly report: PrefetchReport;
}

async function play(
  { budget }: Planted,
  draws: readonly (readonly Draw[])[],
  guessing?: { rules: readonly PrefetchRule[] } | { learned: object },
): Promise<Played> {
  const clock = new SimClock();
  let now: Draw | undefined;
  const tools: readonly Tool[] = [
    tool<unknown, unknown>({
      name: "look-up",
      effect: "pure",
      prefetch: true,
      input: (value) => value,
      run: async (_, { signal }) => {
        const { toolUs, next } = now!;
        await clock.sleepUntil(clock.nowUs() + toolUs, signal);
        return { next };
      },
    }),
  ];
  const log: LoggedTurn[] = [];
  const prefetch = new Prefetcher({
    tools,
    ...(guessing as object | undefined),
    budget: guessing === undefined ? { concurrency: 0 } : budget,
    onTurn: (turn) => log.push(turn),
  });
  const all = (async () => {
    for (const [i, steps] of draws.entries()) {
      const input = `id-of-turn-${i}`;
      const turn = new Turn({ tools, clock, prefetch, input });
      let planted = input;
      for (const draw of steps) {
        now = draw;
        const step = turn.step("openai-chat");
        await clock.sleepUntil(clock.nowUs() + draw.thinkUs);
        step.chunk(wholeCall(0, "look-up", { id: draw.isPlanted ? planted : "another" }));
        step.chunk(FINISH);
        step.end();
        await step.results();
        planted = draw.next;
      }
      await turn.close();
    }
  })();
  await clock.run();
  await all;
  return { wallUs: clock.nowUs(), log, report: prefetch.report };
}
