/**
 * What a step costs: a roofline from data sheets, in one file that can be exchanged for a table or a fit. A step is the
 * larger of computing and reading the weights, plus the attention of its prompts and of its answers, priced apart (the
 * first is bound by FLOPS, the second by memory), plus element-wise work, collectives and launch overheads.
 *
 * Constants: memory kernels reach 0.8 of the bandwidth (AIConfigurator's empirical derating); 32.1 µs a layer and 126 µs
 * a step of overhead (llm-d BLIS, fitted on 15 H100 runs). It is a first-principles model: good for direction and
 * ratio. How far it is from measured engines is printed by bench/engine.ts.
 */
import type { Batch } from "./batch.ts";
import {
  type Gpu,
  kvBytesPerToken,
  layerParameters,
  type Model,
  VALUE_BYTES,
} from "./data-sheets.ts";
import type { FittedCoefficients } from "./fitted-cost.ts";
import { findLink, type Link } from "./parallel/links.ts";
import { collectivePrices } from "./parallel/tensor-parallel.ts";

export interface CostModel {
  readonly name: string;
  /** Whole microseconds, at least 1, that `batch` takes. Pure. */
  stepUs(batch: Batch): number;
}

/**
 * How answers under way read their KV.
 *
 * - split-kv: FlashDecoding and its like. A sequence's KV is cut into pieces that are read side by side and put together
 *   afterwards, so all of the GPU reads whatever the batch looks like. The second kernel is part of the layer's overhead,
 *   which was fitted on engines that do this.
 * - per-head: one thread block for each sequence and KV head, as decode kernels were before. A step has
 *   `sequences × KV heads / ranks` blocks, and a block cannot draw more than one multiprocessor's part of the bandwidth.
 *   One long sequence with 8 KV heads keeps 8 of an H100's 132 multiprocessors busy and reads at 8/132 of its speed; 17
 *   of equal length fill the GPU, and then both kernels cost the same. Of unequal lengths the longest decides.
 */
export type AttentionKernel = "split-kv" | "per-head";

export interface RooflineOptions {
  /** Default "split-kv". */
  readonly attention?: AttentionKernel;
  /** Default 8. More ranks than this lie on several hosts. */
  readonly ranksPerHost?: number;
  /** Between hosts. Default InfiniBand. */
  readonly link?: Link;
}

export const RANKS_PER_HOST = 8;
const BANDWIDTH_SHARE = 0.8;
const LAYER_OVERHEAD_US = 32.1;
const STEP_OVERHEAD_US = 126;

export class RooflineCost implements CostModel {
  readonly name = "roofline";
  readonly #prefillUsPerToken: number;
  readonly #decodeUsPerToken: number;
  readonly #weightsUs: number;
  readonly #usPerPair: number;
  readonly #usPerContextToken: number;
  /** As much KV as the longest sequence alone would hold up, per token of it; 0 if it is read by all multiprocessors. */
  readonly #soloSpread: number;
  readonly #elementUsPerToken: number;
  readonly #headUsPerSequence: number;
  readonly #collectiveUsPerToken: number;
  readonly #fixedUs: number;

  /** @param ranks GPUs that share each layer (tensor parallelism). */
  constructor(gpu: Gpu, model: Model, ranks = 1, options: RooflineOptions = {}) {
    const { attention = "split-kv", ranksPerHost = RANKS_PER_HOST } = options;
    const bytesPerUs = (gpu.memoryBytesPerS * BANDWIDTH_SHARE * ranks) / 1e6;
    const flopsPerUs = (gpu.flopsPerS * ranks) / 1e6;
    const linear = model.layers * layerParameters(model);
    const head = model.hidden * model.vocabulary;
    const { layers, hidden, heads, kvHeads, headSize, intermediate } = model;

    this.#prefillUsPerToken = (2 * linear) / (flopsPerUs * gpu.prefillShare);
    this.#decodeUsPerToken = (2 * linear) / (flopsPerUs * gpu.decodeShare);
    this.#headUsPerSequence = (2 * head) / (flopsPerUs * gpu.decodeShare);
    this.#weightsUs = (VALUE_BYTES * (linear + head)) / bytesPerUs;
    // Two products (QK and PV) of 2 FLOPs over every head and layer for each pair of query and key.
    this.#usPerPair = (4 * layers * heads * headSize) / (flopsPerUs * gpu.prefillShare);
    this.#usPerContextToken = kvBytesPerToken(model) / bytesPerUs;
    const touched = 8 * hidden + 3 * (heads + 2 * kvHeads) * headSize + 3 * intermediate;
    this.#elementUsPerToken = (layers * VALUE_BYTES * touched) / bytesPerUs;

    this.#soloSpread = attention === "per-head" ? (gpu.multiprocessors * ranks) / kvHeads : 0;

    const link = options.link ?? findLink("infiniband-400g");
    const { inside, across } = collectivePrices(gpu, model, { ranks, ranksPerHost, link });
    this.#collectiveUsPerToken = inside.usPerToken + across.usPerToken;
    const startUps = inside.fixedUs + across.fixedUs;
    this.#fixedUs = STEP_OVERHEAD_US + layers * LAYER_OVERHEAD_US + startUps;
  }

  /**
   * The same as a `FittedCost` would say it: what a fit starts from, and keeps where its requests say nothing. Near, not
   * equal: computing is priced at the prompts' share of the FLOPS for all, and attention as "split-kv".
   */
  coefficients(): FittedCoefficients {
    const elementUs = this.#elementUsPerToken + this.#collectiveUsPerToken;
    const tokenUs = this.#prefillUsPerToken + elementUs;
    return {
      stepUs: this.#fixedUs + this.#weightsUs,
      freeTokens: this.#weightsUs / tokenUs,
      tokenUs,
      prefillSequenceUs: this.#headUsPerSequence,
      prefillPairUs: this.#usPerPair,
      prefillContextTokenUs: this.#usPerContextToken,
      // Beside the free tokens an answer only pays for what is not hidden behind the weights.
      decodeSequenceUs: elementUs,
      decodeContextTokenUs: this.#usPerContextToken,
    };
  }

  stepUs(batch: Batch): number {
    const { prefillTokens } = batch;
    // Every draft goes through all layers and the output head; its KV is read along with that of the answer.
    const decodeTokens = batch.decodeSequences + batch.draftTokens;
    const computeUs =
      prefillTokens * this.#prefillUsPerToken +
      decodeTokens * this.#decodeUsPerToken +
      (batch.prefillSequences + decodeTokens) * this.#headUsPerSequence;
    const decodeReads = Math.max(batch.decodeContext, batch.decodeLongest * this.#soloSpread);
    const attentionUs =
      batch.prefillPairs * this.#usPerPair +
      (decodeReads + batch.prefillContext) * this.#usPerContextToken;
    const tokens = prefillTokens + decodeTokens;
    const perTokenUs = tokens * (this.#elementUsPerToken + this.#collectiveUsPerToken);
    const us = Math.max(computeUs, this.#weightsUs) + attentionUs + perTokenUs + this.#fixedUs;
    return Math.max(1, Math.round(us));
  }
}
