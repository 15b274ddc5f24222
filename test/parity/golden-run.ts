/**
 * A recorded run of Vidur, and its repetition by our reference policies. Every step is compared before it is priced, so a
 * departure is reported where it begins and not where it ends in a table without an entry.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
  ChunkedMixedReference,
  type CostTables,
  PrefillFirstReference,
  type ReferenceBatch,
  type ReferenceCost,
  ReferenceEngine,
  type ReferenceRequest,
  type ReferenceRestart,
  type ReferenceScheduler,
  StaticReference,
  TableCost,
  WholeMixedReference,
} from "../../src/engine/index.ts";

export interface GoldenMeta {
  readonly scheduler: "vllm" | "sarathi" | "orca" | "faster_transformer";
  readonly num_layers: number;
  readonly block_size: number;
  readonly num_blocks: number;
  readonly watermark_fraction: number;
  readonly batch_size_cap: number;
  readonly max_batch_size_from_memory: number;
  readonly max_tokens_in_batch: number | null;
  readonly chunk_size: number | null;
  readonly max_tokens_per_request: number;
  readonly nccl_cpu_launch_overhead_ms: number;
  readonly prefill_batching_overhead: number;
  readonly decode_batching_overhead: number;
}

/** id, arrived, prompt, output, scheduled, prefill completed, completed (seconds), restarts. */
type RequestRow = [number, number, number, number, number, number, number, number];
/** Start (seconds, rounded to 1e-9), request ids, tokens of each, price (seconds). */
type StepRow = [number, number[], number[], number];
/** Index of the step being composed, request id, tokens processed until then. */
type RestartRow = [number, number, number];

export interface GoldenRun {
  readonly name: string;
  readonly meta: GoldenMeta;
  readonly requests: readonly RequestRow[];
  readonly steps: readonly StepRow[];
  readonly restarts: readonly RestartRow[];
  readonly tables_ms: CostTables;
}

export const GOLDEN_NAMES = [
  "vllm_q1.0",
  "sarathi512_q1.0",
  "sarathi512_q1.0_cap8",
  "vllm_q1.0_b600",
  "sarathi64_q1.0_b300_n200",
  "orca_q1.0",
  "ft_q0.25_cap6_n200",
] as const;

export function readGolden(name: (typeof GOLDEN_NAMES)[number]): GoldenRun {
  const file = new URL(`../../data/vidur-golden/${name}.json.gz`, import.meta.url);
  return { ...(JSON.parse(gunzipSync(readFileSync(file)).toString()) as GoldenRun), name };
}

export function schedulerOf(meta: GoldenMeta): ReferenceScheduler {
  const common = {
    blocks: meta.num_blocks,
    blockTokens: meta.block_size,
    watermarkShare: meta.watermark_fraction,
    sequencesMax: meta.batch_size_cap,
  };
  const wholeContext = {
    ...common,
    contextTokensMax: meta.max_tokens_per_request,
    sequencesMax: Math.min(meta.batch_size_cap, meta.max_batch_size_from_memory),
  };
  switch (meta.scheduler) {
    case "vllm":
      return new PrefillFirstReference({ ...common, paddedTokensMax: meta.max_tokens_in_batch! });
    case "sarathi":
      return new ChunkedMixedReference({ ...common, chunkTokens: meta.chunk_size! });
    case "orca":
      return new WholeMixedReference(wholeContext);
    case "faster_transformer":
      return new StaticReference(wholeContext);
  }
}

export function costOf({ meta, tables_ms }: Pick<GoldenRun, "meta" | "tables_ms">): TableCost {
  return new TableCost({
    tables: tables_ms,
    layers: meta.num_layers,
    launchMs: meta.nccl_cpu_launch_overhead_ms,
    prefillBatchingShare: meta.prefill_batching_overhead,
    decodeBatchingShare: meta.decode_batching_overhead,
  });
}

export interface Parity {
  readonly requests: number;
  readonly steps: number;
  readonly requestSteps: number;
  readonly restarts: readonly RestartRow[];
  /** Largest relative difference of a request's time. */
  readonly timeErrorMax: number;
  /** Request times compared: three each. */
  readonly times: number;
}

/**
 * Repeats a run to its end.
 * @throws Error where a step, a price, a restart or the number of steps first differs.
 */
export function repeat(golden: GoldenRun, cost: ReferenceCost = costOf(golden)): Parity {
  const restarts: RestartRow[] = [];
  let steps = 0;
  let requestSteps = 0;
  const engine = new ReferenceEngine({
    scheduler: schedulerOf(golden.meta),
    cost: {
      priceS: (batch) => {
        compareMembers(golden, steps, batch);
        return cost.priceS(batch);
      },
    },
    requests: golden.requests.map(([id, arrivedS, promptTokens, outputTokens]) => ({
      id,
      arrivedS,
      promptTokens,
      outputTokens,
    })),
    onRestart: (restart) => {
      restarts.push(rowOf(restart));
      expectEqual(golden, steps, "restart", restarts.at(-1), golden.restarts[restarts.length - 1]);
    },
  });
  for (let step = engine.step(); step !== undefined; step = engine.step()) {
    const [startS, , , priceS] = golden.steps[step.index]!;
    expectEqual(golden, step.index, "price", step.priceS, priceS);
    expectEqual(golden, step.index, "start", asRecorded(step.startS), startS);
    steps += 1;
    requestSteps += step.batch.size;
  }
  expectEqual(golden, steps, "number of steps", steps, golden.steps.length);
  expectEqual(golden, steps, "number of restarts", restarts.length, golden.restarts.length);
  const errors = compareTimes(golden, engine.requests);
  const timeErrorMax = errors.reduce((most, error) => Math.max(most, error), 0);
  const requests = engine.requests.length;
  return { requests, steps, requestSteps, restarts, timeErrorMax, times: errors.length };
}

function compareMembers(golden: GoldenRun, index: number, batch: ReferenceBatch): void {
  const [, ids, tokens] = golden.steps[index] ?? [];
  const ours = batch.requests.map((request) => request.id);
  expectEqual(golden, index, "members", ours, ids);
  expectEqual(golden, index, "tokens", batch.newTokens, tokens);
}

/** Relative error of each request's scheduled, first-token and completion time. */
function compareTimes(golden: GoldenRun, requests: readonly ReferenceRequest[]): number[] {
  const byId = new Map(requests.map((request) => [request.id, request]));
  return golden.requests.flatMap(([id, , , , scheduledS, firstTokenS, completedS, restarts]) => {
    const request = byId.get(id)!;
    expectEqual(golden, golden.steps.length, `restarts of ${id}`, request.restarts, restarts);
    const error = (ours: number, theirs: number) => Math.abs(ours - theirs) / theirs;
    return [
      error(request.scheduledS, scheduledS),
      error(request.firstTokenS, firstTokenS),
      error(request.completedS, completedS),
    ];
  });
}

/** The recorder rounded starts to 1e-9 as NumPy does: scaled in doubles, halves to the even neighbour. */
function asRecorded(seconds: number): number {
  const scaled = seconds * 1e9;
  const floor = Math.floor(scaled);
  const isHalf = scaled - floor === 0.5;
  return (isHalf ? floor + (floor % 2) : Math.round(scaled)) / 1e9;
}

function rowOf({ stepIndex, request, processed }: ReferenceRestart): RestartRow {
  return [stepIndex, request.id, processed];
}

function expectEqual(
  golden: GoldenRun,
  step: number,
  what: string,
  ours: number | readonly number[] | undefined,
  theirs: number | readonly number[] | undefined,
): void {
  const isEqual =
    typeof ours === "object" && typeof theirs === "object"
      ? ours.length === theirs.length && ours.every((value, i) => value === theirs[i])
      : ours === theirs;
  if (isEqual) return;
  throw new Error(
    `${golden.name}, step ${step}: ${what}: expected ${JSON.stringify(theirs)}, got ${JSON.stringify(ours)}`,
  );
}
