/**
 * Five branches side by side in simulated time, through `fanOut` itself: what joins and hedging do to the tail, and what they
 * cost. Two loads: log-normal with a median of 900 ms and σ 0.35, in 1 % of cases eight times as slow; and the golden one, typically
 * 2 s, in 1 % of cases 22 s. Then everything becomes three times as slow at once, where a hedge can only do harm.
 *
 *     npm run bench:fan-out [-- --fan-outs 50000]
 */
import { parseArgs } from "node:util";
import { Random, SimClock } from "../src/clock/index.ts";
import {
  type BranchCode,
  type FanOutOptions,
  fanOut,
  StragglerPolicy,
} from "../src/runtime/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";

const { values } = parseArgs({ options: { "fan-outs": { type: "string", default: "50000" } } });
const fanOuts = Number(values["fan-outs"]);

const BRANCHES = ["a", "b", "c", "d", "e"];

interface Load {
  /** µs of one run. */
  readonly draw: (random: Random) => number;
  readonly deadlineMs: number;
}

const LOADS: Readonly<Record<string, Load>> = {
  "median 900 ms, 1 % eight times as slow": {
    draw: (random) => 900_000 * Math.exp(0.35 * random.normal()) * (random.next() < 0.01 ? 8 : 1),
    deadlineMs: 2_500,
  },
  "golden: typically 2 s, 1 % at 22 s": {
    draw: (random) =>
      random.next() < 0.01 ? 22_000_000 : 2_000_000 * Math.exp(0.25 * random.normal()),
    deadlineMs: 5_000,
  },
};

interface Outcome {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly moreCalls: number;
  /** Share of hedged branches in the slow second half, if there was one. */
  readonly whileSlow: number;
}

type Options = (load: Load) => FanOutOptions & { readonly names?: readonly string[] };

async function run(
  load: Load,
  options: FanOutOptions,
  names: readonly string[],
  slowsDown: boolean,
): Promise<Outcome> {
  const clock = new SimClock();
  const random = new Random(1, "branches");
  let calls = 0;
  let slowness = 1;
  const branch: BranchCode = ({ signal }) => {
    calls += 1;
    const tookUs = Math.round(load.draw(random) * slowness);
    return clock.sleepUntil(clock.nowUs() + tookUs, signal);
  };
  const branches = Object.fromEntries(names.map((name) => [name, branch]));
  const walls: number[] = [];
  let callsAtHalf = 0;
  const all = (async () => {
    for (let i = 0; i < fanOuts; i += 1) {
      if (i === fanOuts >> 1) {
        callsAtHalf = calls;
        if (slowsDown) slowness = 3;
      }
      walls.push((await fanOut(branches, { clock, ...options })).wallUs / 1_000);
    }
  })();
  await clock.run();
  await all;
  const sorted = walls.sort((a, b) => a - b);
  const [p50Ms, p99Ms, p999Ms] = [0.5, 0.99, 0.999].map((q) => sampleQuantile(sorted, q).value);
  const wanted = fanOuts * names.length;
  return {
    p50Ms: p50Ms!,
    p99Ms: p99Ms!,
    p999Ms: p999Ms!,
    moreCalls: calls / wanted - 1,
    whileSlow: (calls - callsAtHalf) / (wanted / 2) - 1,
  };
}

const WAYS: Readonly<Record<string, Options>> = {
  "one branch": () => ({ names: ["a"] }),
  "all of 5": () => ({}),
  "all of 5, hedged": () => ({ hedge: new StragglerPolicy() }),
  "all of 5, hedged from p92, 10 %": () => ({
    hedge: new StragglerPolicy({ percentile: 92, share: 0.1 }),
  }),
  "4 of 5": () => ({ join: { k: 4 } }),
  "4 of 5, hedged": () => ({ join: { k: 4 }, hedge: new StragglerPolicy() }),
  "what is there at a deadline": ({ deadlineMs }) => ({
    join: { deadline: `${deadlineMs}ms`, partial: true },
  }),
};

console.log(`${fanOuts.toLocaleString("en-US")} fan-outs each`);
for (const [title, load] of Object.entries(LOADS)) {
  console.log(`\n${title.padEnd(42)}p50      p99    p99.9   more calls`);
  let plainMs = 0;
  for (const [name, options] of Object.entries(WAYS)) {
    const { names = BRANCHES, ...rest } = options(load);
    const { p50Ms, p99Ms, p999Ms, moreCalls } = await run(load, rest, names, false);
    if (name === "all of 5") plainMs = p999Ms;
    const better = name.includes("hedged")
      ? `  p99.9 ${(plainMs / p999Ms).toFixed(1)}× better`
      : "";
    const cells = [p50Ms, p99Ms, p999Ms].map((ms) => `${Math.round(ms)} ms`.padStart(9)).join("");
    const more = `${(100 * moreCalls).toFixed(2).padStart(6)} %`;
    console.log(`  ${name.padEnd(34)} ${cells}   ${more}${better}`);
  }
  const slow = await run(load, { hedge: new StragglerPolicy() }, BRANCHES, true);
  const percent = (100 * slow.whileSlow).toFixed(2);
  console.log(
    `  hedged, all three times as slow from the middle on: ${percent} % more calls in that half`,
  );
}
