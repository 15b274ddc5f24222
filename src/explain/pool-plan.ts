/**
 * How many of a fixed number of engines should only prefill and how many only decode, found by replaying the workload on
 * every split, and whether the best split beats the same engines when each does both with chunked prefill. A split is
 * never recommended without that comparison: it wins where prompts are long and decode limits tight, and loses where its
 * pools do not fit the workload's mix of lengths.
 */
import { formatUs, ManxError } from "../core/index.ts";
import { describePools, type EngineConfig, type LinkName, type Pools } from "../engine/index.ts";
import { type Budgets, type Replay, replay, type WorkRequest } from "../load/index.ts";
import { histogramQuantile } from "../stats/index.ts";

export interface PoolPlanOptions {
  /** Of every engine. */
  readonly config: EngineConfig;
  /** Engines in all, 2 to 16; each has as many GPUs as the config has ranks. */
  readonly engines: number;
  readonly link: LinkName;
  readonly requests: readonly WorkRequest[];
  readonly workload: string;
  /** Of p99. */
  readonly limits: Budgets;
  readonly onStep?: (text: string) => void;
}

export interface PoolCandidate {
  /** Undefined for engines that do both. */
  readonly pools: Pools | undefined;
  readonly text: string;
  readonly replay: Replay;
  readonly ttftP99Us: number;
  readonly tpotP99Us: number;
  /** The larger of both p99s as a share of its limit: 1 or less meets both. */
  readonly strain: number;
  /** Means over requests: waiting for a prefill engine, and afterwards for a link and for room to decode. */
  readonly prefillWaitUs: number;
  readonly decodeWaitUs: number;
}

export interface PoolPlan {
  /** All splits, the least strained first. */
  readonly splits: readonly PoolCandidate[];
  /** The same engines, least load first, each with chunked prefill. */
  readonly together: PoolCandidate;
  /** Whether the best split is less strained. */
  readonly splitPays: boolean;
  /** The recommendation in a sentence, with both sides' figures. */
  readonly text: string;
}

const ENGINES_MAX = 16;

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
export function planPools(options: PoolPlanOptions): PoolPlan {
  const { engines } = options;
  if (!Number.isInteger(engines) || engines < 2 || engines > ENGINES_MAX) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: "engines",
      expected: `2 to ${ENGINES_MAX} engines to split`,
      got: String(engines),
    });
  }
  const together = evaluate(options, undefined);
  const splits: PoolCandidate[] = [];
  for (let prefill = 1; prefill < engines; prefill += 1) {
    splits.push(evaluate(options, { prefill, decode: engines - prefill, link: options.link }));
  }
  splits.sort((a, b) => a.strain - b.strain);
  const best = splits[0]!;
  const splitPays = best.strain < together.strain;
  const [winner, other] = splitPays ? [best, together] : [together, best];
  return { splits, together, splitPays, text: `${describe(winner)}; ${describe(other)}` };
}

function evaluate(options: PoolPlanOptions, pools: Pools | undefined): PoolCandidate {
  const { config, engines, requests, workload, limits } = options;
  const text = pools === undefined ? `${engines} engines, chunked prefill` : describePools(pools);
  options.onStep?.(text);
  const done = replay(
    {
      name: text,
      requests,
      workload,
      arrivals: "replay of the trace's own times",
      config: { ...config, scheduling: "chunked" },
      routing: "least-load",
      seed: null,
      ...(pools === undefined ? { replicas: engines } : { pools }),
    },
    limits,
  );
  const [ttftP99Us, tpotP99Us] = [p99(done, "ttftUs"), p99(done, "tpotUs")];
  const isWhole = done.finished === done.offered;
  const { transfers = 0, waitUs = 0 } = done.handovers ?? {};
  const { queueUs } = done.histograms;
  return {
    pools,
    text,
    replay: done,
    ttftP99Us,
    tpotP99Us,
    strain: isWhole
      ? Math.max(ttftP99Us / limits.ttftUs, tpotP99Us / limits.tpotUs)
      : Number.POSITIVE_INFINITY,
    prefillWaitUs: queueUs.n === 0 ? 0 : queueUs.toJSON().sum / queueUs.n,
    decodeWaitUs: transfers === 0 ? 0 : waitUs / transfers,
  };
}

function p99(done: Replay, metric: "ttftUs" | "tpotUs"): number {
  const { value } = histogramQuantile(done.histograms[metric], 0.99);
  return Number.isNaN(value) ? 0 : value;
}

function describe(one: PoolCandidate): string {
  const waits =
    one.pools === undefined
      ? `waits ${formatUs(one.prefillWaitUs)} in the mean`
      : `waits ${formatUs(one.prefillWaitUs)} for prefill and ${formatUs(one.decodeWaitUs)} for link and decode`;
  const p99s = `TTFT p99 ${formatUs(one.ttftP99Us)}, TPOT p99 ${formatUs(one.tpotP99Us)}`;
  return `${one.text}: ${p99s}, ${waits}`;
}
