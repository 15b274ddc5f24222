/**
 * What a step costs by published kernel tables (AIConfigurator's, made with vLLM's kernels on real GPUs): each matrix product,
 * attention of each prompt and of the answers, the all-reduce of tensor parallelism, and what lies between them by memory
 * traffic. Unlike a layer profile it covers any model of the usual shape on a measured GPU.
 *
 * Attention is measured for powers of two of heads only. Other numbers are priced between their neighbours by heads, at the
 * nearest measured number of KV heads that is not smaller; more heads than were measured are refused.
 *
 * A chunk of n tokens on c computed ones is priced as its share (T² − c²) / T² of a whole prompt of T = n + c: the pairs of query
 * and key that it adds.
 */
import { assert, ManxError } from "../core/index.ts";
import type { Batch } from "./batch.ts";
import type { CostModel } from "./cost-model.ts";
import type { Gpu, Model } from "./data-sheets.ts";
import { MeasuredGrid } from "./measured-grid.ts";
import { readTable, type TableText } from "./measured-table.ts";

/** The tables of one GPU in 16 bit, head size 128. Latencies in ms. */
export interface KernelTableText {
  /** n, k, m, latency_ms: m tokens times a k × n matrix */
  readonly gemm: TableText;
  /** heads, kv_heads, batch, isl, latency_ms */
  readonly contextAttention: TableText;
  /** heads, kv_heads, batch, kv_len, latency_ms */
  readonly generationAttention: TableText;
  /** kernel, gpus, bytes, latency_ms; the rows measured under CUDA graphs are used */
  readonly allReduce: TableText;
}

export interface KernelTableOptions {
  readonly gpu: Gpu;
  readonly model: Model;
  /** GPUs of one host that share each layer. */
  readonly ranks: number;
  /** Added to every step: launches, sampling and the engine's own work that the GPU waits for. */
  readonly stepOverheadUs: number;
  /** Added for each sequence of a step: sampling, and the engine's work on its state. Default 0. */
  readonly sequenceOverheadUs?: number;
}

const BYTES_PER_VALUE = 2;
/** AIConfigurator's empirical constants for kernels that only move memory: share of the bandwidth, and start of each. */
const BANDWIDTH_SHARE = 0.8;
const KERNEL_START_US = 3;
const ELEMENT_KERNELS_PER_LAYER = 5;
const GRAPH_KERNEL = "vLLM_custom_graph";
/** Widest output head shard that is looked up; a wider one is priced in proportion. */
const HEAD_WIDTH_MAX = 65_536;

export class KernelTableCost implements CostModel {
  readonly name = "kernel-tables";
  readonly #model: Model;
  /** Of one rank. */
  readonly #heads: number;
  /** µs of a step by its tokens: matrix products, element-wise work and collectives of all layers. */
  readonly #layersUs: MeasuredGrid;
  /** µs by sequences. */
  readonly #headUs: MeasuredGrid;
  readonly #prefillUs: MeasuredGrid;
  readonly #decodeUs: MeasuredGrid;
  readonly #stepOverheadUs: number;
  readonly #sequenceOverheadUs: number;

  /** @throws MANX_TABLE_FORMAT; MANX_CONFIG_IMPOSSIBLE for a shape that no table reaches. */
  constructor(tables: KernelTableText, options: KernelTableOptions) {
    const { model, ranks } = options;
    assert(ranks >= 1 && model.headSize === 128, "the tables are for heads of 128");
    this.#model = model;
    this.#stepOverheadUs = options.stepOverheadUs;
    this.#sequenceOverheadUs = options.sequenceOverheadUs ?? 0;
    const gemm = gridOf(tables.gemm, ["n", "k", "m"]);
    const heads = model.heads / ranks;
    const kvHeads = Math.max(1, model.kvHeads / ranks);
    this.#heads = heads;
    this.#layersUs = layersOf(gemm, tables.allReduce, { ...options, heads, kvHeads });
    const headWidth = Math.min(HEAD_WIDTH_MAX, model.vocabulary / ranks);
    const wider = model.vocabulary / ranks / headWidth;
    this.#headUs = alongTokens(gemm, [[headWidth, model.hidden]], wider);
    this.#prefillUs = attentionOf(tables.contextAttention, "isl", heads, kvHeads);
    this.#decodeUs = attentionOf(tables.generationAttention, "kv_len", heads, kvHeads);
  }

  stepUs(batch: Batch): number {
    const us =
      this.#layersUs.at(batch.tokens) +
      this.#headUs.at(batch.size) +
      this.#model.layers * this.attentionUs(batch) +
      this.#stepOverheadUs +
      this.#sequenceOverheadUs * batch.size;
    return Math.max(1, Math.round(us));
  }

  /** One layer's attention, µs: each chunk by itself, all decodes at their mean length. */
  attentionUs(batch: Batch): number {
    const { decodeSequences, decodeContext } = batch;
    let us =
      decodeSequences === 0
        ? 0
        : this.#decodeUs.at(this.#heads, decodeSequences, decodeContext / decodeSequences);
    if (batch.prefillSequences === 0) return us;
    for (let i = 0; i < batch.size; i += 1) {
      const request = batch.requests[i]!;
      if (request.generated > 0 && batch.newTokens[i] === 1) continue;
      const whole = request.computed + batch.newTokens[i]!;
      us += this.#prefillUs.at(this.#heads, 1, whole) * (1 - (request.computed / whole) ** 2);
    }
    return us;
  }
}

interface Shard extends KernelTableOptions {
  readonly heads: number;
  readonly kvHeads: number;
}

function gridOf(table: TableText, axes: readonly string[]): MeasuredGrid {
  const rows = readTable(table, { numbers: [...axes, "latency_ms"] });
  return new MeasuredGrid(rows.map(({ numbers }) => toUs(numbers)));
}

/** The last number from ms to µs. */
function toUs(numbers: readonly number[]): number[] {
  return [...numbers.slice(0, -1), 1e3 * numbers.at(-1)!];
}

/** Sum of products of the shapes [n, k], µs by m, times `weight`. */
function alongTokens(
  gemm: MeasuredGrid,
  shapes: readonly (readonly [number, number])[],
  weight: number,
): MeasuredGrid {
  const priceOf = (m: number): number =>
    weight * shapes.reduce((sum, [n, k]) => sum + gemm.at(n, k, m), 0);
  return new MeasuredGrid(gemm.lastPlaces.map((m) => [m, priceOf(m)]));
}

function layersOf(gemm: MeasuredGrid, allReduce: TableText, shard: Shard): MeasuredGrid {
  const { gpu, model, ranks, heads, kvHeads } = shard;
  const { hidden, headSize, layers } = model;
  const width = model.intermediate / ranks;
  const projected = (heads + 2 * kvHeads) * headSize;
  const products = alongTokens(
    gemm,
    [
      [projected, hidden],
      [hidden, heads * headSize],
      [2 * width, hidden],
      [hidden, width],
    ],
    layers,
  );
  const bytesPerToken = BYTES_PER_VALUE * (8 * hidden + 3 * projected + 3 * width);
  const usPerToken = bytesPerToken / ((gpu.memoryBytesPerS * BANDWIDTH_SHARE) / 1e6);
  const reduce = ranks === 1 ? undefined : allReduceOf(allReduce, ranks);
  const betweenUs = (m: number): number =>
    m * usPerToken +
    ELEMENT_KERNELS_PER_LAYER * KERNEL_START_US +
    2 * (reduce?.at(m * hidden * BYTES_PER_VALUE) ?? 0);
  // The all-reduce bends at sizes of its own.
  const bends = (reduce?.places ?? []).map((bytes) => bytes / hidden / BYTES_PER_VALUE);
  const places = new Set([...products.places, ...bends.filter((m) => m >= 1)]);
  return new MeasuredGrid([...places].map((m) => [m, products.at(m) + layers * betweenUs(m)]));
}

function allReduceOf(table: TableText, ranks: number): MeasuredGrid {
  const rows = readTable(table, { names: ["kernel"], numbers: ["gpus", "bytes", "latency_ms"] });
  const ours = rows.filter(
    ({ names, numbers }) => names[0] === GRAPH_KERNEL && numbers[0] === ranks,
  );
  if (ours.length > 0) return new MeasuredGrid(ours.map(({ numbers }) => toUs(numbers.slice(1))));
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    what: "the kernel tables have no all-reduce for this many GPUs",
    where: table.name,
    expected: [...new Set(rows.map(({ numbers }) => numbers[0]))].join(", "),
    got: String(ranks),
  });
}

/** µs by heads, batch and length. */
function attentionOf(
  table: TableText,
  length: string,
  heads: number,
  kvHeads: number,
): MeasuredGrid {
  const rows = readTable(table, { numbers: ["heads", "kv_heads", "batch", length, "latency_ms"] });
  const measured = [...new Set(rows.map(({ numbers }) => numbers[1]!))].sort((a, b) => a - b);
  const kv = measured.find((count) => count >= kvHeads);
  const ours = rows.filter(({ numbers }) => numbers[1] === kv);
  const most = Math.max(...ours.map(({ numbers }) => numbers[0]!));
  if (kv === undefined || heads > most) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: "the kernel tables have no attention for this many heads on one GPU",
      where: table.name,
      expected: `at most ${most} heads and ${measured.at(-1)} KV heads`,
      got: `${heads} and ${kvHeads}`,
      hint: "take more ranks, so that each has fewer heads",
    });
  }
  return new MeasuredGrid(ours.map(({ numbers }) => [numbers[0]!, ...toUs(numbers.slice(2))]));
}
