/**
 * What lanes and fair shares in front of simulated engines do, beside first come, first served. Virtual time: the same
 * numbers on every machine.
 *
 *     npm run bench:lanes
 *
 * 1. One request in twenty has 28,000 tokens. The short ones' time to first token without them, with them in one queue, and
 *    with them in a lane that may hold 60,000 tokens in flight, two of them. What the long ones pay stands beside it.
 * 2. Eight tenants, one of which sends half of all requests, three times what the engine can serve.
 */
import type { EngineConfig } from "../src/engine/index.ts";
import type { AdmissionOptions } from "../src/policy/index.ts";
import type { Histogram } from "../src/stats/index.ts";
import {
  fifo,
  jainIndex,
  type LaneRun,
  mixedArrivals,
  runLaneWorld,
  twoLanes,
  unequalArrivals,
} from "../test/support/lane-world.ts";

const SEEDS = [1, 2, 3, 4, 5];
const GOAL_RATIO = 1.3;
const GOAL_JAIN = 0.95;
const SECONDS = 400;
const LONG_TOKENS = 28_000;
const PLACES = 1_024;

interface Row {
  readonly title: string;
  readonly engines: number;
  readonly perS: number;
  readonly engine: Partial<EngineConfig>;
  readonly longTokensInFlight: number;
}

const CAPPED = { longPrefillsMax: 1, requestTokensMax: 512 };
const ROWS: readonly Row[] = [
  { title: "4 engines", engines: 4, perS: 10, engine: {}, longTokensInFlight: 60_000 },
  {
    title: "4 engines, long prompts in chunks of 512",
    engines: 4,
    perS: 10,
    engine: CAPPED,
    longTokensInFlight: 60_000,
  },
  { title: "2 engines", engines: 2, perS: 5, engine: {}, longTokensInFlight: 30_000 },
  {
    title: "1 engine: nowhere to go but behind a long one",
    engines: 1,
    perS: 4,
    engine: {},
    longTokensInFlight: 30_000,
  },
  {
    title: "1 engine, long prompts in chunks of 512",
    engines: 1,
    perS: 4,
    engine: CAPPED,
    longTokensInFlight: 30_000,
  },
];

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

const quantile = (histogram: Histogram, q: number): number =>
  histogram.atRank(Math.ceil(q * histogram.n));
const ms = (us: number): string => `${Math.round(us / 1_000)} ms`.padStart(9);

function printRow(row: Row): void {
  const { engines, perS } = row;
  const engine = { contextMax: 32_768, ...row.engine };
  const run = (seed: number, longShare: number, admission: AdmissionOptions): LaneRun =>
    runLaneWorld({
      arrivals: mixedArrivals({ seed, perS, seconds: SECONDS, longShare, longTokens: LONG_TOKENS }),
      engines,
      engine,
      admission: { ...admission, ageMaxUs: 600_000_000 },
      shortTokens: 8_192,
    });
  const lanes = twoLanes(PLACES, row.longTokensInFlight);
  const runs = {
    "without the long ones": SEEDS.map((seed) => run(seed, 0, fifo(PLACES))),
    "one queue": SEEDS.map((seed) => run(seed, 0.05, fifo(PLACES))),
    lanes: SEEDS.map((seed) => run(seed, 0.05, lanes)),
  };
  console.log(`\n${row.title}, ${perS} requests/s`);
  for (const [name, each] of Object.entries(runs)) {
    const p99 = each.map(({ short }) => quantile(short, 0.99));
    const ratios = p99.map((us, i) => us / quantile(runs["without the long ones"][i]!.short, 0.99));
    const long = (q: number): string =>
      each[0]!.long.n === 0 ? "" : ms(medianOf(each.map((one) => quantile(one.long, q))));
    const sum = each.reduce((total, one) => total + one.short.n, 0);
    console.log(
      `  ${name.padEnd(22)} short p99 ${ms(medianOf(p99))}  ratio ${medianOf(ratios).toFixed(2).padStart(6)}` +
        `  n ${sum}  long p50 ${long(0.5)}  p99 ${long(0.99)}`,
    );
  }
}

function printShares(): void {
  console.log("\n8 tenants, one sends half, 100 requests/s to one engine for 60 s");
  for (const knowsTenants of [false, true]) {
    const indexes = SEEDS.map((seed) => {
      const arrivals = unequalArrivals(seed, 100, 60, 8);
      const world = { arrivals, engines: 1, engine: {}, admission: fifo(64), shortTokens: 8_192 };
      return jainIndex([...runLaneWorld({ ...world, knowsTenants }).servedTokens.values()]);
    });
    const name = knowsTenants ? "fair share" : "first come";
    console.log(`  ${name.padEnd(22)} Jain index of served tokens ${medianOf(indexes).toFixed(3)}`);
  }
}

console.log(
  `goals: ratio ≤ ${GOAL_RATIO} with four engines, Jain index ≥ ${GOAL_JAIN}; medians of ${SEEDS.length} seeds`,
);
for (const row of ROWS) printRow(row);
printShares();
