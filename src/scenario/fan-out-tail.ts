/**
 * G2: five branches of typically 2 s, each with a retrieval of 22 s in 1 % of cases. The median says nothing of it, p95 hardly:
 * 1 − 0.99⁵ = 4.9 % of all fan-outs wait for one. Through `fanOut` itself in simulated time, joined in several ways.
 */
import { Random, SimClock } from "../clock/index.ts";
import { US_PER_S } from "../core/index.ts";
import {
  adviseFanOut,
  type BranchCode,
  type BranchSample,
  type FanOutOptions,
  fanOut,
  StragglerPolicy,
} from "../runtime/index.ts";
import { type Quantile, sampleQuantile } from "../stats/index.ts";

const BRANCHES = ["papers", "web", "code", "notes", "mail"] as const;
const HICCUP = 0.01;

export interface FanOutTail {
  readonly name: string;
  readonly p50: Quantile;
  readonly p95: Quantile;
  readonly p99: Quantile;
  /** Share of fan-outs that took more than 20 s. */
  readonly over20s: number;
  /** Attempts beyond one per branch, as a share. */
  readonly moreCalls: number;
}

const WAYS: readonly (readonly [name: string, options: () => FanOutOptions])[] = [
  ["one branch", () => ({})],
  ["all of 5", () => ({})],
  ["all of 5, stragglers hedged", () => ({ hedge: new StragglerPolicy() })],
  ["4 of 5", () => ({ join: { k: 4 } })],
  ["4 of 5, stragglers hedged", () => ({ join: { k: 4 }, hedge: new StragglerPolicy() })],
];

export async function fanOutTails(fanOuts: number, seed: number): Promise<readonly FanOutTail[]> {
  const tails: FanOutTail[] = [];
  for (const [i, [name, options]] of WAYS.entries()) {
    tails.push(
      await play(name, i === 0 ? BRANCHES.slice(0, 1) : BRANCHES, options(), fanOuts, seed),
    );
  }
  return tails;
}

/** What is said of it from recorded requests: that it is no good, and whose fault it is. */
export function fanOutAdvice(fanOuts: number, seed: number): ReturnType<typeof adviseFanOut> {
  const random = new Random(seed, "rows");
  const branch = (): BranchSample => {
    const model = Math.round(1.6 * US_PER_S * Math.exp(0.25 * random.normal()));
    const retrieval = random.next() < HICCUP ? 20.4 * US_PER_S : 0.4 * US_PER_S;
    return { us: model + retrieval, parts: { model, retrieval } };
  };
  const rows = Array.from({ length: fanOuts }, () => BRANCHES.map(branch));
  const before = Array.from({ length: fanOuts }, () =>
    Math.round(3.2 * US_PER_S * Math.exp(0.1 * random.normal())),
  );
  return adviseFanOut({ branches: BRANCHES, rows, before });
}

async function play(
  name: string,
  names: readonly string[],
  options: FanOutOptions,
  fanOuts: number,
  seed: number,
): Promise<FanOutTail> {
  const clock = new SimClock();
  const random = new Random(seed, "branches");
  let calls = 0;
  const branch: BranchCode = ({ signal }) => {
    calls += 1;
    const isSlow = random.next() < HICCUP;
    const us = isSlow ? 22 * US_PER_S : 2 * US_PER_S * Math.exp(0.25 * random.normal());
    return clock.sleepUntil(clock.nowUs() + Math.round(us), signal);
  };
  const branches = Object.fromEntries(names.map((one) => [one, branch]));
  const walls: number[] = [];
  const all = (async () => {
    for (let i = 0; i < fanOuts; i += 1) {
      walls.push((await fanOut(branches, { clock, ...options })).wallUs);
    }
  })();
  await clock.run();
  await all;
  walls.sort((a, b) => a - b);
  const at = (q: number): Quantile => sampleQuantile(walls, q);
  const over20s = walls.filter((us) => us > 20 * US_PER_S).length / fanOuts;
  const moreCalls = calls / (fanOuts * names.length) - 1;
  return { name, p50: at(0.5), p95: at(0.95), p99: at(0.99), over20s, moreCalls };
}
