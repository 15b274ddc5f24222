/**
 * What hedging does to the golden tail, in simulated time: 2 % of calls are ten times as slow by chance (another try would
 * not be), prompts of mixed size. Then the whole upstream slows down threefold at once, where a hedge can only do harm.
 * The same `Call` that the gateway runs, against a scripted upstream.
 *
 *     npm run bench:hedging [-- --calls 20000] [-- --seeds 5]
 */
import { parseArgs } from "node:util";
import { Random } from "../src/clock/index.ts";
import { HEDGE_POLICY } from "../src/policy/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";
import {
  type CallTrace,
  drive,
  makeRoute,
  type Script,
  world,
} from "../test/support/call-world.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "20000" },
    seeds: { type: "string", default: "5" },
  },
});
const calls = Number(values.calls);
const seeds = Number(values.seeds);

const MS = 1_000;
const PER_S = 20;
const MEDIAN_MS = 400;
const SLOW_SHARE = 0.02;
const SLOW_FACTOR = 10;
/** Of the prompts, in tokens: the golden tail, and a mix in which large prompts take longer. */
const ONE_SIZE = [1_500];
const MIXED = [300, 1_500, 6_000];
/** Calls after the slowdown that are looked at: until what is slow begins to be the usual. */
const ONSET_CALLS = 150;

interface Outcome {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly moreCalls: number;
  readonly moreTokens: number;
  /** Hedges among the first calls of the second half. */
  readonly atOnset: number;
}

/** @param slowness of the whole upstream, by call. */
function run(
  seed: number,
  hedges: boolean,
  sizes: readonly number[],
  slowness: (call: number) => number = () => 1,
  { targets, perS } = { targets: 2, perS: PER_S },
): Outcome {
  const { clock, random } = world(seed);
  const dice = new Random(seed, "upstream");
  const route = makeRoute(random, {
    targets,
    policy: { hedge: hedges ? HEDGE_POLICY : null, breaker: null },
  });
  const traces: CallTrace[] = [];
  let tokens = 0;
  let atUs = 0;
  for (let i = 0; i < calls; i += 1) {
    atUs += Math.round(dice.exponential(1_000 / perS) * MS);
    const inputTokens = sizes[dice.int(sizes.length)]!;
    // Every attempt draws anew: what is slow by chance is not slow again.
    const upstream = (): Script => {
      const base = MEDIAN_MS * Math.exp(0.35 * dice.normal()) * (1 + inputTokens / 6_000);
      const chance = dice.next() < SLOW_SHARE ? SLOW_FACTOR : 1;
      const contentUs = Math.round(base * chance * slowness(i) * MS);
      return { headUs: 5 * MS, contentUs, endUs: contentUs + 500 * MS };
    };
    clock.at(atUs, () => {
      traces.push(drive(clock, route, { inputTokens }, upstream));
      tokens += inputTokens;
    });
  }
  clock.runSync();
  const ttftMs = traces.map(({ contentUs, begins }) => (contentUs! - begins[0]!.atUs) / MS);
  ttftMs.sort((a, b) => a - b);
  const begun = traces.reduce((sum, { begins }) => sum + begins.length, 0);
  return {
    p50Ms: sampleQuantile(ttftMs, 0.5).value,
    p99Ms: sampleQuantile(ttftMs, 0.99).value,
    p999Ms: sampleQuantile(ttftMs, 0.999).value,
    moreCalls: begun / calls - 1,
    atOnset: traces
      .slice(calls / 2, calls / 2 + ONSET_CALLS)
      .filter(({ begins }) => begins.length > 1).length,
    moreTokens: (hedges ? route.hedges.spentTokens : 0) / tokens,
  };
}

function range(of: readonly number[], show: (value: number) => string): string {
  return `${show(Math.min(...of))} to ${show(Math.max(...of))}`;
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const all = Array.from({ length: seeds }, (_, i) => i + 1);

function compare(name: string, sizes: readonly number[]): string[] {
  const without = all.map((seed) => run(seed, false, sizes));
  const hedged = all.map((seed) => run(seed, true, sizes));
  const cut = hedged.map(({ p99Ms }, i) => 1 - p99Ms / without[i]!.p99Ms);
  const times = (of: readonly Outcome[]): string =>
    (["p50Ms", "p99Ms", "p999Ms"] as const)
      .map((key) =>
        range(
          of.map((outcome) => outcome[key]),
          ms,
        ),
      )
      .join(", ");
  return [
    `${name}, TTFT p50, p99, p99.9 (n ${calls} a seed)`,
    `  without hedging: ${times(without)}`,
    `  with hedging:    ${times(hedged)}`,
    `  p99 falls by ${range(cut, percent)} (goal 70 %) for ${range(
      hedged.map((o) => o.moreCalls),
      percent,
    )} more calls` +
      ` and ${range(
        hedged.map((o) => o.moreTokens),
        percent,
      )} more prompt tokens (limit 5 %)`,
  ];
}

const slowed = (call: number): number => (call >= calls / 2 ? 3 : 1);
const calm = all.map((seed) => run(seed, true, ONE_SIZE).atOnset);
const storm = all.map((seed) => run(seed, true, ONE_SIZE, slowed).atOnset);
const count = (value: number): string => value.toFixed(0);
/** One target that hedges itself, where calls come often and where one comes now and then. */
const LONE_PER_S = [20, 5, 1, 0.2];
const lone = LONE_PER_S.map((perS) => {
  const hedges = all.map((seed) => run(seed, true, ONE_SIZE, slowed, { targets: 1, perS }).atOnset);
  return `${range(hedges, count)} at ${perS}/s`;
});
console.log(
  [
    `${seeds} seeds of ${calls} calls, ${PER_S}/s, ${SLOW_SHARE * 100} % of them ${SLOW_FACTOR} x slow by chance`,
    ...compare("one size of prompt", ONE_SIZE),
    ...compare("mixed sizes", MIXED),
    `the whole upstream 3 x slower at once: ${range(storm, count)} hedges in the first ${ONSET_CALLS} calls after that, ${range(calm, count)} in the same calls without it`,
    `the same at a single target that hedges itself: ${lone.join(", ")}`,
  ].join("\n"),
);
