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
import { type Gpu, kvBytesPerToken, layerParameters, type Model } from "./data-sheets.ts";

export interface CostModel {
  readonly name: string;
  /** Whole microseconds, at least 1, that `batch` takes. Pure. */
  stepUs(batch: Batch): number;
}

const BYTES_PER_VALUE = 2;
const BANDWIDTH_SHARE = 0.8;
const LAYER_OVERHEAD_US = 32.1;
const STEP_OVERHEAD_US = 126;
/** Start-up of one all-reduce between GPUs of a host. */
const COLLECTIVE_LATENCY_US = 4;

export class RooflineCost implements CostModel {
  readonly name = "roofline";
  readonly #prefillUsPerToken: number;
  readonly #decodeUsPerToken: number;
  readonly #weightsUs: number;
  readonly #usPerPair: number;
  readonly #usPerContextToken: number;
  readonly #elementUsPerToken: number;
  readonly #headUsPerSequence: number;
  readonly #collectiveUsPerToken: number;
  readonly #fixedUs: number;

  /** @param ranks GPUs that share each layer (tensor parallelism) inside one host. */
  constructor(gpu: Gpu, model: Model, ranks = 1) {
    const bytesPerUs = (gpu.memoryBytesPerS * BANDWIDTH_SHARE * ranks) / 1e6;
    const flopsPerUs = (gpu.flopsPerS * ranks) / 1e6;
    const linear = model.layers * layerParameters(model);
    const head = model.hidden * model.vocabulary;
    const { layers, hidden, heads, kvHeads, headSize, intermediate } = model;

    this.#prefillUsPerToken = (2 * linear) / (flopsPerUs * gpu.prefillShare);
    this.#decodeUsPerToken = (2 * linear) / (flopsPerUs * gpu.decodeShare);
    this.#headUsPerSequence = (2 * head) / (flopsPerUs * gpu.decodeShare);
    this.#weightsUs = (BYTES_PER_VALUE * (linear + head)) / bytesPerUs;
    // Two products (QK and PV) of 2 FLOPs over every head and layer for each pair of query and key.
    this.#usPerPair = (4 * layers * heads * headSize) / (flopsPerUs * gpu.prefillShare);
    this.#usPerContextToken = kvBytesPerToken(model) / bytesPerUs;
    const touched = 8 * hidden + 3 * (heads + 2 * kvHeads) * headSize + 3 * intermediate;
    this.#elementUsPerToken = (layers * BYTES_PER_VALUE * touched) / bytesPerUs;

    // Ring all-reduce, twice a layer: 2(n−1)/n of the bytes over the link, 2(n−1) start-ups.
    const share = (2 * (ranks - 1)) / ranks;
    const linkBytesPerUs = Math.max(gpu.nvlinkBytesPerS, 32e9) / 1e6;
    this.#collectiveUsPerToken = (2 * layers * share * hidden * BYTES_PER_VALUE) / linkBytesPerUs;
    const startUps = 2 * layers * 2 * (ranks - 1) * COLLECTIVE_LATENCY_US;
    this.#fixedUs = STEP_OVERHEAD_US + layers * LAYER_OVERHEAD_US + (ranks > 1 ? startUps : 0);
  }

  stepUs(batch: Batch): number {
    const { prefillTokens, decodeSequences } = batch;
    const computeUs =
      prefillTokens * this.#prefillUsPerToken +
      decodeSequences * this.#decodeUsPerToken +
      (batch.prefillSequences + decodeSequences) * this.#headUsPerSequence;
    const attentionUs =
      batch.prefillPairs * this.#usPerPair +
      (batch.decodeContext + batch.prefillContext) * this.#usPerContextToken;
    const tokens = prefillTokens + decodeSequences;
    const perTokenUs = tokens * (this.#elementUsPerToken + this.#collectiveUsPerToken);
    const us = Math.max(computeUs, this.#weightsUs) + attentionUs + perTokenUs + this.#fixedUs;
    return Math.max(1, Math.round(us));
  }
}
