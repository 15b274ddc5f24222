/**
 * The ladder: one hour of real traffic against the twin, one lever at a time, on the same arrivals. Rates and lengths are
 * the trace's own. Hardware is sized by rule, not by result: the fewest GPUs with which the *first* rung can carry the
 * hour at all, since a queue that never empties measures the length of the hour and nothing else.
 */
import { US_PER_S } from "../core/index.ts";
import { ENGINE_DEFAULTS, type EngineConfig, type LinkName } from "../engine/index.ts";
import {
  type Budgets,
  type Replay,
  type ReplayOptions,
  type ResultRun,
  replay,
  toResultRun,
  type WorkRequest,
} from "../load/index.ts";
import type { RouterName } from "../policy/index.ts";

export type Levers = Partial<Pick<EngineConfig, "scheduling" | "memory" | "speculation">> & {
  readonly routing?: RouterName;
  /** Half of the engines, rounded down, only prefill, and hand over to the others by this link. Two engines at least. */
  readonly split?: LinkName;
};

export interface Rung {
  readonly title: string;
  /** Null for a lever that the twin does not have yet: its column stays, marked "next". */
  readonly levers: Levers | null;
}

/** From what an engine did by default to what today's do, each lever alone on top of the one before. */
export const BATCHING_RUNGS: readonly Rung[] = [
  { title: "static + contiguous", levers: { scheduling: "static", memory: "contiguous" } },
  { title: "continuous", levers: { scheduling: "continuous", memory: "contiguous" } },
  { title: "+ paged", levers: { scheduling: "continuous", memory: "paged" } },
  { title: "+ chunked prefill", levers: { scheduling: "chunked", memory: "paged" } },
];

/** Only for a trace that tells which prompts begin alike. */
export const PREFIX_RUNGS: readonly Rung[] = [
  { title: "chunked + paged", levers: { scheduling: "chunked", memory: "paged" } },
  { title: "+ prefix cache", levers: { scheduling: "chunked", memory: "prefix" } },
  {
    title: "+ least-load routing",
    levers: { scheduling: "chunked", memory: "prefix", routing: "least-load" },
  },
  {
    title: "+ prefix routing",
    levers: { scheduling: "chunked", memory: "prefix", routing: "prefix" },
  },
];

/**
 * Two that are not for everybody, each alone on what today's engines do. The drafts are the article's own: five of them,
 * a draft model of a thirtieth of the target, seven in ten accepted. Only the last is open to doubt: measure it.
 */
export const FURTHER_RUNGS: readonly Rung[] = [
  { title: "chunked + paged", levers: { scheduling: "chunked", memory: "paged" } },
  {
    title: "with speculation",
    levers: {
      scheduling: "chunked",
      memory: "paged",
      speculation: { draftTokens: 5, acceptance: 0.7, draftShare: 1 / 30 },
    },
  },
  {
    title: "split pools",
    levers: { scheduling: "chunked", memory: "paged", split: "infiniband-400g" },
  },
];

/** MLPerf Inference's limits for a chat server (Llama-2-70B Server scenario): a stated SLO that nobody here chose. */
const SLO: Budgets = { ttftUs: 2 * US_PER_S, tpotUs: 200_000 };

/** Requests of the rate search: enough for 60 beyond a p99. */
const SEARCH_REQUESTS = 6_000;
/** The search spans 2^±6 around the trace's own rate in steps that end at 12/2^8 of an octave, 3 %. */
const SEARCH_OCTAVES = 6;
const SEARCH_ROUNDS = 8;
/** A queue that is given everything at once shows the engine's ceiling. */
const AT_ONCE = 1e12;

export interface LadderOptions {
  readonly requests: readonly WorkRequest[];
  readonly workload: string;
  readonly seed: number;
  /** Put before the runs' names, which are keys in a document of several ladders. */
  readonly prefix?: string;
  readonly rungs: readonly Rung[];
  readonly base?: EngineConfig;
  /** Default: by rule, the fewest with which the first rung carries the trace. */
  readonly replicas?: number;
  /** Whether ceiling and sustained rate are looked for, which takes ten times as long. Default true. */
  readonly rates?: boolean;
  /** Told before each piece of work, and waited for: the place to show progress, let others run, or throw to stop. */
  readonly onStep?: (text: string, done: number, of: number) => Promise<void> | void;
}

export interface RungResult {
  readonly rung: Rung;
  /** Null for a rung that is still to come. */
  readonly run: ResultRun | null;
  /** Requests per second, all replicas together, when everything is offered at once. */
  readonly peakPerS: number | null;
  /** Highest offered rate at which p99 TTFT and p99 TPOT meet the SLO, and the searched trace's size. */
  readonly sustainedPerS: number | null;
  readonly sustainedRequests: number;
}

export interface Ladder {
  readonly replicas: number;
  readonly rungs: readonly RungResult[];
}

export async function runLadder(options: LadderOptions): Promise<Ladder> {
  const base = options.base ?? { ...ENGINE_DEFAULTS, contextMax: contextFor(options.requests) };
  const { rungs } = options;
  const measured = rungs.filter((rung) => rung.levers !== null);
  const rates = options.rates ?? true;
  const of = measured.length * (rates ? 3 : 1) + 1;
  let done = 0;
  const step = async (text: string): Promise<void> => {
    await options.onStep?.(text, done, of);
    done += 1;
  };
  const replayAs = (rung: Rung, part: Partial<ReplayOptions>): Replay =>
    replay({ ...replayOptions(rung, options, base), ...part }, SLO);

  await step("sizing");
  const first = measured[0];
  const replicas =
    options.replicas ??
    (first === undefined ? 1 : fewestReplicas(options.requests, (part) => replayAs(first, part)));
  const results: RungResult[] = [];
  for (const rung of rungs) {
    if (rung.levers === null) {
      results.push({ rung, run: null, peakPerS: null, sustainedPerS: null, sustainedRequests: 0 });
      continue;
    }
    await step(`${rung.title}: the whole trace`);
    const engines = enginesFor(rung, replicas);
    const whole = replayAs(rung, engines);
    const run = toResultRun(whole, { ...replayOptions(rung, options, base), ...engines }, SLO);
    if (!rates) {
      results.push({ rung, run, peakPerS: null, sustainedPerS: null, sustainedRequests: 0 });
      continue;
    }
    await step(`${rung.title}: ceiling`);
    const peak = replayAs(rung, { ...engines, speed: AT_ONCE });
    await step(`${rung.title}: rate within the SLO`);
    const search = options.requests.slice(0, SEARCH_REQUESTS);
    results.push({
      rung,
      run,
      peakPerS: (peak.finished * US_PER_S) / peak.endUs,
      sustainedPerS: sustainedRate(search, (part) => replayAs(rung, { ...engines, ...part })),
      sustainedRequests: search.length,
    });
  }
  await options.onStep?.("done", of, of);
  return { replicas, rungs: results };
}

/** The next power of two that holds the workload's longest request: what somebody would set as the context limit. */
export function contextFor(requests: readonly WorkRequest[]): number {
  let longest = 1;
  for (const { promptTokens, outputTokens } of requests) {
    longest = Math.max(longest, promptTokens + outputTokens);
  }
  return 2 ** Math.ceil(Math.log2(longest));
}

function replayOptions(rung: Rung, options: LadderOptions, base: EngineConfig): ReplayOptions {
  const { routing = "round-robin", split: _, ...engineLevers } = rung.levers ?? {};
  return {
    name: `${options.prefix ?? ""}${rung.title}`,
    requests: options.requests,
    workload: options.workload,
    arrivals: "replay of the trace's own times",
    config: { ...base, ...engineLevers },
    routing,
    seed: options.seed,
  };
}

function enginesFor(rung: Rung, replicas: number): Pick<ReplayOptions, "replicas" | "pools"> {
  const link = rung.levers?.split;
  if (link === undefined) return { replicas };
  const prefill = Math.floor(replicas / 2);
  return { pools: { prefill, decode: replicas - prefill, link } };
}

function offeredPerS(requests: readonly WorkRequest[]): number {
  const lastUs = requests.at(-1)?.atUs ?? 0;
  return lastUs === 0 ? 0 : (requests.length * US_PER_S) / lastUs;
}

function fewestReplicas(
  requests: readonly WorkRequest[],
  run: (part: Partial<ReplayOptions>) => Replay,
): number {
  const ceiling = run({ replicas: 1, speed: AT_ONCE });
  const ceilingPerS = (ceiling.finished * US_PER_S) / Math.max(1, ceiling.endUs);
  return Math.max(1, Math.ceil(offeredPerS(requests) / ceilingPerS));
}

/** Bisection on the logarithm of the speed; the answer is a rate that was met, 0 if even the slowest was not. */
function sustainedRate(
  requests: readonly WorkRequest[],
  run: (part: Partial<ReplayOptions>) => Replay,
): number {
  const rate = offeredPerS(requests);
  const meets = (octave: number): boolean => {
    const done = run({ requests, speed: 2 ** octave });
    return p99(done, "ttftUs") <= SLO.ttftUs && p99(done, "tpotUs") <= SLO.tpotUs;
  };
  let low = -SEARCH_OCTAVES;
  let high = SEARCH_OCTAVES;
  if (!meets(low)) return 0;
  for (let round = 0; round < SEARCH_ROUNDS; round += 1) {
    const middle = (low + high) / 2;
    if (meets(middle)) low = middle;
    else high = middle;
  }
  return rate * 2 ** low;
}

function p99(done: Replay, metric: "ttftUs" | "tpotUs"): number {
  const histogram = done.histograms[metric];
  return histogram.atRank(Math.ceil(0.99 * histogram.n));
}
