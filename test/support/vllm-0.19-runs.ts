/**
 * The two real vLLM 0.19 runs under data/vllm-0.19-runs: what was sent, what was measured, the machine's profile, and the
 * twin of that server. See the README there for the source.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { SimClock } from "../../src/clock/index.ts";
import {
  ContinuousBatcher,
  type ContinuousOptions,
  Engine,
  type EngineRequest,
  type EngineTotals,
  PrefixKv,
  ProfileCost,
  type ProfileCostOptions,
  type TableText,
} from "../../src/engine/index.ts";
import { readTable } from "../../src/engine/measured-table.ts";
import { type LatencyTable, mean, type ServedTimes } from "./latency-table.ts";

const ROOT = new URL("../../data/vllm-0.19-runs/", import.meta.url);

export type RunName = "rtx4090" | "rtxpro6000";

/** What the server was started with, from each run's meta.json, and the size of its KV memory. */
const SERVERS: Readonly<
  Record<RunName, { sequencesMax: number; blocks: number; skewDefault?: number }>
> = {
  // num_gpu_blocks of meta.json.
  rtx4090: { sequencesMax: 256, blocks: 2_588 },
  // Not published: (0.9 · 96 GiB − 16.06 GB of weights) / 2 MiB a block. It never runs full.
  rtxpro6000: { sequencesMax: 128, blocks: 36_578, skewDefault: 0.0543 },
};
const BLOCK_TOKENS = 16;
const LAYERS = 32;

export interface RealRequest extends ServedTimes {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Names of the prompt's blocks: equal as far as two prompts begin alike. */
  readonly prefixIds: readonly number[];
  /** Since the first arrival. */
  readonly arrivedUs: number;
  /** From there until the engine's loop took it in, at the end of a step. */
  readonly takenInMs: number;
}

export interface Rule extends Omit<ProfileCostOptions, "layers" | "skewDefault"> {
  readonly admission: NonNullable<ContinuousOptions["admission"]>;
  readonly ahead: boolean;
  /** Blocks that hold no request's tokens; vLLM keeps one "null block". */
  readonly blocksAside: number;
}

/**
 * The rule for every run. All but its last part follows from the server's own settings or code, none from a measured
 * latency: asynchronous scheduling and full-length admission from its resolved settings, the null block from its block pool.
 * Chunks are summed as in the tool that made the profile. The overhead is a constant that was chosen in view of both runs:
 * the smallest step of 100 µs with which every figure of both is within its limit.
 */
export const VLLM_RULE: Rule = {
  chunks: "summed",
  admission: "step",
  ahead: true,
  blocksAside: 1,
  stepOverheadUs: 200,
};

export interface TwinRun {
  /** In the order of the real requests. */
  readonly requests: readonly ServedTimes[];
  readonly totals: EngineTotals;
  readonly endUs: number;
  /** Share of the KV memory in use at 1, 2, 3 … s after the first arrival, %. */
  readonly kvPercent: readonly number[];
}

export function readGzipped(path: string): TableText {
  return { name: path, text: gunzipSync(readFileSync(new URL(path, ROOT))).toString("utf8") };
}

interface LoggedRequest {
  readonly input_toks: number;
  readonly output_toks: number;
  readonly arrival_time: number;
  readonly queued_ts: number;
  readonly first_token_ts: number;
  readonly last_token_ts: number;
}

/**
 * Arrivals are stamped by a wall clock and everything else by a monotonic one. The smallest distance between being sent
 * and being queued is taken as the distance of the two clocks. TTFT and E2E count from the arrival, as everywhere in
 * Manx; the publishers' own figures count from `queued_ts`, which is on average 22 to 30 ms later.
 */
export function realRequests(run: RunName): RealRequest[] {
  const logged = readGzipped(`${run}/requests.jsonl.gz`)
    .text.trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LoggedRequest);
  const offset = Math.min(...logged.map((one) => one.queued_ts - one.arrival_time));
  const first = Math.min(...logged.map((one) => one.arrival_time));
  const names = blockNames(logged.map((one) => one.input_toks));
  return logged.map((one, i) => {
    const firstMs = 1e3 * (one.first_token_ts - one.arrival_time - offset);
    const lastMs = 1e3 * (one.last_token_ts - one.arrival_time - offset);
    return {
      promptTokens: one.input_toks,
      outputTokens: one.output_toks,
      prefixIds: names[i]!,
      arrivedUs: Math.round(1e6 * (one.arrival_time - first)),
      takenInMs: 1e3 * (one.queued_ts - one.arrival_time - offset),
      ttftMs: firstMs,
      tpotMs: (lastMs - firstMs) / Math.max(1, one.output_toks - 1),
      e2eMs: lastMs,
    };
  });
}

/** By request and block. Both runs sent the same prompts, some of which are later turns of an earlier conversation. */
function blockNames(promptTokens: readonly number[]): number[][] {
  const text = readFileSync(new URL("shared_prefixes.csv", ROOT), "utf8");
  const columns = ["request", "earlier", "shared_toks"];
  const rows = readTable({ name: "shared_prefixes.csv", text }, { numbers: columns });
  const shared = new Map(rows.map(({ numbers }) => [numbers[0]!, numbers]));
  let fresh = 0;
  const names: number[][] = [];
  for (const [i, tokens] of promptTokens.entries()) {
    const [, earlier = 0, alike = 0] = shared.get(i) ?? [];
    const own = names[earlier]?.slice(0, Math.floor(alike / BLOCK_TOKENS)) ?? [];
    while (own.length < Math.floor(tokens / BLOCK_TOKENS)) {
      fresh += 1;
      own.push(fresh);
    }
    names.push(own);
  }
  return names;
}

export function profileCost(run: RunName, rule: Rule): ProfileCost {
  const { skewDefault } = SERVERS[run];
  return new ProfileCost(
    {
      dense: readGzipped(`${run}/dense.csv.gz`),
      perSequence: readGzipped(`${run}/per_sequence.csv.gz`),
      attention: readGzipped(`${run}/attention.csv.gz`),
      skew: skewDefault === undefined ? undefined : readGzipped(`${run}/skew_fit.csv.gz`),
    },
    { ...rule, layers: LAYERS, ...(skewDefault !== undefined && { skewDefault }) },
  );
}

export function runTwin(
  run: RunName,
  rule: Rule,
  requests: readonly RealRequest[],
  cost = profileCost(run, rule),
): TwinRun {
  const { sequencesMax, blocks } = SERVERS[run];
  const clock = new SimClock();
  const kv = new PrefixKv((blocks - rule.blocksAside) * BLOCK_TOKENS, BLOCK_TOKENS);
  const done: EngineRequest[] = [];
  const engine = new Engine({
    clock,
    cost,
    scheduler: new ContinuousBatcher(kv, {
      ...rule,
      prompts: "chunked",
      sequencesMax,
      tokensMax: 2_048,
    }),
    sink: { onToken: () => undefined, onFinish: (request) => done.push(request) },
    contextMax: 32_768,
  });
  requests.forEach((request, place) => {
    clock.at(request.arrivedUs, () => engine.submit(request, place));
  });
  const kvPercent: number[] = [];
  const sample = (): void => {
    kvPercent.push((100 * kv.reservedTokens) / kv.totalTokens);
    if (done.length < requests.length) clock.at(clock.nowUs() + 1_000_000, sample);
  };
  clock.at(1_000_000, sample);
  clock.runSync();
  const endUs = Math.max(...done.map(({ lastTokenUs }) => lastTokenUs));
  done.sort((a, b) => (a.tag as number) - (b.tag as number));
  return { requests: done.map(servedTimes), totals: engine.totals, endUs, kvPercent };
}

/** The measured share of the KV memory in use, second by second, %; of the 4090's run only. */
export function realKvPercent(): number[] {
  const text = readFileSync(new URL("rtx4090/timeseries.csv", ROOT), "utf8");
  return readTable({ name: "timeseries.csv", text }, { numbers: ["kv_cache_pct"] }).map(
    ({ numbers }) => numbers[0]!,
  );
}

/** The publishers' own simulator, LLMServingSim 2, on the same run: signed errors in %, as they print them. */
export function publishedErrors(run: RunName): LatencyTable {
  const printed = readGzipped(`${run}/summary.txt.gz`)
    .text.split("\n")
    .flatMap((line) => /([-+][\d.]+)%$/.exec(line)?.[1] ?? [])
    .map(Number);
  const column = (from: number) => ({
    mean: printed[from]!,
    p50: printed[from + 1]!,
    p90: printed[from + 2]!,
    p95: printed[from + 3]!,
    p99: printed[from + 4]!,
  });
  return { ttftMs: column(0), tpotMs: column(5), e2eMs: column(10) };
}

/** Mean over requests of |E2E error|, %. */
export function meanRequestError(
  ours: readonly ServedTimes[],
  real: readonly ServedTimes[],
): number {
  return 100 * mean(real.map(({ e2eMs }, i) => Math.abs(ours[i]!.e2eMs / e2eMs - 1)));
}

function servedTimes(request: EngineRequest): ServedTimes {
  const { arrivedUs, firstTokenUs, lastTokenUs, outputTokens } = request;
  return {
    ttftMs: (firstTokenUs - arrivedUs) / 1e3,
    tpotMs: (lastTokenUs - firstTokenUs) / 1e3 / Math.max(1, outputTokens - 1),
    e2eMs: (lastTokenUs - arrivedUs) / 1e3,
  };
}
