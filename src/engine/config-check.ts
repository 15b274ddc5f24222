/**
 * Whether an engine of this config can exist, or an error that shows the arithmetic of why it cannot. Names are looked up,
 * numbers held against each other; a lever without a meaning where it stands is refused, not ignored.
 */
import { ManxError } from "../core/index.ts";
import { checkCost } from "./cost-choice.ts";
import {
  findGpu,
  findModel,
  type Gpu,
  kvBytesPerToken,
  type Model,
  weightBytes,
} from "./data-sheets.ts";
import { checkPools } from "./disaggregated/pools.ts";
import type { EngineConfig } from "./engine-config.ts";
import { refuseCrossHost } from "./parallel/cross-host.ts";
import { checkScheduling } from "./scheduling-levers.ts";
import { checkSpeculation } from "./speculation/speculation.ts";

/** Runtime, activations and communication buffers per GPU beside weights and KV (AIConfigurator: 3.5 GiB). */
const OTHER_BYTES = 3.5 * 2 ** 30;
const GIB = 2 ** 30;

/**
 * Tokens of KV that fit beside the weights.
 *
 * @param draftShare weights of a draft model, as a share of the model's own.
 * @throws MANX_CONFIG_IMPOSSIBLE with the sum, if none do.
 */
export function kvTokens(
  gpu: Gpu,
  model: Model,
  ranks: number,
  memoryShare: number,
  draftShare = 0,
): number {
  const usable = gpu.memoryBytes * memoryShare * ranks;
  const weights = weightBytes(model) * (1 + draftShare);
  const free = usable - weights - OTHER_BYTES * ranks;
  const tokens = Math.floor(free / kvBytesPerToken(model));
  if (tokens > 0) return tokens;
  const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    what: `${model.name} does not fit into ${ranks} × ${gpu.name}`,
    expected: `weights ${gib(weights)} + other ${gib(OTHER_BYTES * ranks)} below ${gib(usable)}`,
    got: `${gib(-free)} too much (${gib(gpu.memoryBytes * ranks)} × ${memoryShare} usable)`,
    hint: "take more ranks, a larger GPU or a smaller model",
  });
}

/**
 * @throws MANX_CONFIG_IMPOSSIBLE naming the lever; MANX_NAME_UNKNOWN with the nearest; MANX_TABLE_FORMAT for a fitted cost
 *   that is not whole
 */
export function checkConfig(config: EngineConfig): { gpu: Gpu; model: Model; kvTokens: number } {
  const gpu = findGpu(config.gpu, "gpu");
  const model = findModel(config.model, "model");
  refuseBroken(config, [...countRules(config), ...sizeRules(config, model)]);
  checkScheduling(config, config.scheduling);
  refuseCrossHost(config);
  checkCost(config);
  const { speculation, pools } = config;
  if (speculation !== undefined) checkSpeculation(speculation);
  refuseBroken(config, [...stepRules(config), ...preemptionRules(config)]);
  if (pools !== undefined) checkPools(pools, config.scheduling);
  const draftShare = speculation?.draftShare ?? 0;
  // What an engine says of itself goes before what the sheets say of it: it runs, whatever they leave.
  const tokens =
    config.kvTokens ?? kvTokens(gpu, model, config.ranks, config.memoryShare, draftShare);
  refuseTooSmall(config, tokens);
  return { gpu, model, kvTokens: tokens };
}

/** A memory that holds not even one reservation, or one block. */
function refuseTooSmall(config: EngineConfig, tokens: number): void {
  const { memory, contextMax, blockTokens } = config;
  if (memory === "radix") return;
  const [field, unit, size] =
    memory === "contiguous"
      ? (["contextMax", "reservation", contextMax] as const)
      : (["blockTokens", "block", blockTokens] as const);
  if (size <= tokens) return;
  const parts =
    config.kvTokens === undefined
      ? { where: field, expected: `a ${unit} of at most the ${tokens} tokens that fit`, got: size }
      : { where: "kvTokens", expected: `at least a ${unit}'s ${size} tokens`, got: tokens };
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", { ...parts, got: String(parts.got) });
}

type Rule = readonly [field: keyof EngineConfig, ok: boolean, expected: string];

function refuseBroken(config: EngineConfig, rules: readonly Rule[]): void {
  for (const [field, ok, expected] of rules) {
    if (ok) continue;
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: field,
      expected: `${field}: ${expected}`,
      got: String(config[field]),
    });
  }
}

const COUNTS = [
  "ranks",
  "ranksPerHost",
  "contextMax",
  "blockTokens",
  "pieceTokens",
  "sequencesMax",
  "tokensMax",
] as const satisfies readonly (keyof EngineConfig)[];

function countRules(config: EngineConfig): readonly Rule[] {
  const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
  return COUNTS.map((name): Rule => [name, isCount(config[name]), "a whole number from 1"]);
}

function sizeRules(config: EngineConfig, model: Model): readonly Rule[] {
  const { ranks, memoryShare, attention, memory, pieceTokens, blockTokens, contextMax } = config;
  return [
    ["fillWaitUs", isQuantity(config.fillWaitUs), "a time from 0"],
    ["memoryShare", memoryShare > 0 && memoryShare <= 1, "above 0 and at most 1"],
    [
      "ranks",
      model.kvHeads % ranks === 0 || ranks % model.kvHeads === 0,
      `a divisor or multiple of ${model.kvHeads} KV heads`,
    ],
    [
      "kvTokens",
      config.kvTokens === undefined ||
        (Number.isSafeInteger(config.kvTokens) && config.kvTokens >= 1),
      "a whole number from 1",
    ],
    ["attention", attention === "split-kv" || attention === "per-head", "split-kv or per-head"],
    [
      "pieceTokens",
      memory !== "prefix" || pieceTokens % blockTokens === 0,
      `a multiple of the block's ${blockTokens} tokens`,
    ],
    [
      "contextMax",
      contextMax <= model.contextMax,
      `at most ${model.name}'s ${model.contextMax} tokens`,
    ],
  ];
}

/** How steps are composed, and what they let in. */
function stepRules(config: EngineConfig): readonly Rule[] {
  const { ahead, admission, scheduling, mixing, order, speculation } = config;
  const isChunked = scheduling === "chunked";
  const isPlain = isChunked && mixing === "decode-first" && order === "first-come";
  return [
    [
      "ahead",
      ahead === false || (ahead === true && isPlain),
      "false, or true with chunked scheduling, decode-first mixing and first-come order; " +
        `they are ${scheduling}, ${mixing} and ${order}`,
    ],
    [
      "admission",
      admission === "known" || (admission === "step" && isChunked),
      `known, or step with chunked scheduling; it is ${scheduling}`,
    ],
    [
      "scheduling",
      speculation === undefined || scheduling !== "static",
      "continuous or chunked with speculation: a static batch has no place for answers of several tokens",
    ],
  ];
}

function preemptionRules({
  preemption,
  scheduling,
  hostMemoryBytes,
}: EngineConfig): readonly Rule[] {
  return [
    [
      "preemption",
      preemption === "recompute" || (preemption === "swap" && scheduling !== "static"),
      `recompute, or swap unless scheduling is static; it is ${scheduling}`,
    ],
    ["hostMemoryBytes", isQuantity(hostMemoryBytes), "bytes from 0"],
  ];
}

function isQuantity(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}
