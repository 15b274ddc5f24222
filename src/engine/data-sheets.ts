/**
 * GPUs and models by name: the figures of data sheets and model cards that the cost model starts from. Bandwidth and
 * FLOPS are peaks; `prefillShare` and `decodeShare` say what part of the peak FLOPS real kernels reach (llm-d's BLIS
 * defaults for H100, A100 and L40S; the H200 has the H100's compute and takes its shares). All values are 16 bit.
 */
import { lookUp } from "../core/index.ts";

export interface Gpu {
  readonly name: string;
  readonly memoryBytes: number;
  readonly memoryBytesPerS: number;
  /** Streaming multiprocessors: thread blocks run on one each. */
  readonly multiprocessors: number;
  /** Dense bf16. */
  readonly flopsPerS: number;
  /** One direction, all links of one GPU; 0 if there is no NVLink. */
  readonly nvlinkBytesPerS: number;
  /** One direction of PCIe × 16 to its host: half of what NVIDIA's data sheets state for both. */
  readonly hostBytesPerS: number;
  readonly prefillShare: number;
  readonly decodeShare: number;
}

export interface Model {
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly intermediate: number;
  readonly vocabulary: number;
  /** Longest context that the model was made for, tokens. */
  readonly contextMax: number;
  /** Whether input and output embedding are one matrix. */
  readonly tiedEmbedding: boolean;
}

const GIB = 2 ** 30;
const PCIE_4 = 32e9;
const PCIE_5 = 64e9;

const GPUS = {
  "a100-80gb-sxm": gpu("a100-80gb-sxm", 80, 2.039e12, 108, 312e12, 300e9, PCIE_4, 0.38, 0.18),
  "h100-sxm": gpu("h100-sxm", 80, 3.35e12, 132, 989e12, 450e9, PCIE_5, 0.45, 0.3),
  "h200-sxm": gpu("h200-sxm", 141, 4.8e12, 132, 989e12, 450e9, PCIE_5, 0.45, 0.3),
  l40s: gpu("l40s", 48, 0.864e12, 142, 362e12, 0, PCIE_4, 0.32, 0.08),
} as const satisfies Record<string, Gpu>;

const MODELS = {
  "llama-3.1-8b": model("llama-3.1-8b", 32, 4_096, 32, 8, 14_336, 128_256, 131_072),
  "llama-3.1-70b": model("llama-3.1-70b", 80, 8_192, 64, 8, 28_672, 128_256, 131_072),
  "llama-2-70b": model("llama-2-70b", 80, 8_192, 64, 8, 28_672, 32_000, 4_096),
  "qwen2.5-7b": model("qwen2.5-7b", 28, 3_584, 28, 4, 18_944, 152_064, 131_072),
  "qwen3-32b": model("qwen3-32b", 64, 5_120, 64, 8, 25_600, 151_936, 40_960),
  "mistral-nemo-12b": model("mistral-nemo-12b", 40, 5_120, 32, 8, 14_336, 131_072, 131_072),
} as const satisfies Record<string, Model>;

export const GPU_NAMES: readonly string[] = Object.keys(GPUS);
export const MODEL_NAMES: readonly string[] = Object.keys(MODELS);

/** @param where as of `lookUp`. @throws MANX_NAME_UNKNOWN with the nearest name. */
export function findGpu(name: string, where?: string): Gpu {
  return lookUp(GPUS, name, "GPU", where);
}

/** @param where as of `lookUp`. @throws MANX_NAME_UNKNOWN with the nearest name. */
export function findModel(name: string, where?: string): Model {
  return lookUp(MODELS, name, "model", where);
}

function gpu(
  name: string,
  memoryGib: number,
  memoryBytesPerS: number,
  multiprocessors: number,
  flopsPerS: number,
  nvlinkBytesPerS: number,
  hostBytesPerS: number,
  prefillShare: number,
  decodeShare: number,
): Gpu {
  const memoryBytes = memoryGib * GIB;
  return {
    name,
    memoryBytes,
    memoryBytesPerS,
    multiprocessors,
    flopsPerS,
    nvlinkBytesPerS,
    hostBytesPerS,
    prefillShare,
    decodeShare,
  };
}

function model(
  name: string,
  layers: number,
  hidden: number,
  heads: number,
  kvHeads: number,
  intermediate: number,
  vocabulary: number,
  contextMax: number,
): Model {
  const headSize = 128;
  const shape = { layers, hidden, heads, kvHeads, headSize, intermediate, vocabulary, contextMax };
  return { name, ...shape, tiedEmbedding: false };
}

/** Of a weight, an activation or a key. */
export const VALUE_BYTES = 2;

/** Weights of one layer: query, key, value and output projections, and a gated MLP. */
export function layerParameters(model: Model): number {
  const attention = model.hidden * model.headSize * (2 * model.heads + 2 * model.kvHeads);
  return attention + 3 * model.hidden * model.intermediate;
}

/** All weights in 16 bit, both embeddings included. */
export function weightBytes(model: Model): number {
  const embeddings = (model.tiedEmbedding ? 1 : 2) * model.hidden * model.vocabulary;
  return VALUE_BYTES * (model.layers * layerParameters(model) + embeddings);
}

/** KV of one token in 16 bit over all layers: 2 · layers · KV heads · head size · 2 bytes. */
export function kvBytesPerToken(model: Model): number {
  return 2 * model.layers * model.kvHeads * model.headSize * VALUE_BYTES;
}
