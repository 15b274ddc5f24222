/**
 * The section `engine` of `manx.config.jsonc`: every lever of the twin and its server as people write it. Times and sizes
 * are texts with their unit, counts are plain numbers. What a single value may be is said here; what is possible together
 * is the engine's to judge.
 */
import { z } from "zod";
import { duration, name, share, size } from "../../config/index.ts";
import {
  COST_KINDS,
  GPU_NAMES,
  LINK_NAMES,
  type LinkName,
  MIXINGS,
  MODEL_NAMES,
  ORDER_NAMES,
} from "../../engine/index.ts";
import { ROUTERS, type RouterName } from "../../policy/index.ts";
import { faultShareSchema } from "../fault-schema.ts";
import { ENGINES_MAX } from "../live-engine.ts";

const TOKENS_MAX = 100_000_000;

const tokens = z.int().min(1).max(TOKENS_MAX);
/** 0 is any number. */
const cap = z.int().min(0).max(TOKENS_MAX).default(0);
const seed = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const path = z.string().min(1).max(4_096);
const engines = z.int().min(1).max(ENGINES_MAX);

function oneOf<Name extends string>(names: readonly Name[]) {
  return z.enum(names as readonly [Name, ...Name[]]);
}

const costSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("roofline") }).describe("From data sheets."),
    z
      .strictObject({ kind: z.literal("fitted"), file: path })
      .describe("From a file that `manx engine fit` has written."),
    z
      .strictObject({
        kind: z.literal("kernel-tables"),
        gemm: path,
        contextAttention: path,
        generationAttention: path,
        allReduce: path,
        stepOverhead: duration.describe("added to every step"),
        sequenceOverhead: duration.default("0us").describe("added for each sequence of it"),
      })
      .describe("From tables of single kernels; CSV, plain or gzipped."),
    z
      .strictObject({
        kind: z.literal("profile"),
        dense: path,
        perSequence: path,
        attention: path,
        skew: path.optional(),
        chunks: z.enum(["summed", "each"]).default("each"),
        skewDefault: share.optional(),
        stepOverhead: duration.default("0us"),
      })
      .describe("From a profile of one layer; CSV, plain or gzipped."),
  ])
  .default({ kind: COST_KINDS[0] });

const speculationSchema = z
  .strictObject({
    drafts: z.int().min(1).max(16).describe("tokens proposed for each answer and step"),
    acceptance: z
      .union([share, z.array(share).min(1).max(16)])
      .describe("probability that a draft is kept when all before it were: one, or one a position"),
    draftShare: z
      .number()
      .min(0)
      .lt(1)
      .default(0.05)
      .describe("price of a draft step as a share of the model's own; 0 for n-gram look-up"),
    seed: seed.default(0).describe("of the luck of each request"),
  })
  .describe("Speculative decoding; off unless given.");

const poolsSchema = z
  .strictObject({
    prefill: engines.describe("engines"),
    decode: engines.describe("engines"),
    link: oneOf(LINK_NAMES as readonly LinkName[])
      .default("infiniband-400g")
      .describe("between the pools"),
  })
  .describe("Prefill and decode on engines of their own, in place of replicas.");

const neighbourSchema = z
  .strictObject({
    share: z.number().gt(0).max(0.95).describe("of the GPU's time while it is on"),
    on: duration.describe("mean"),
    off: duration.describe("mean"),
    replicas: z.array(z.int().min(0)).optional().describe("default: all"),
  })
  .describe("Somebody else on the same GPU, whose load comes and goes.");

const hourlySchema = z
  .strictObject({
    startHour: z.number().min(0).lt(24).default(0).describe("time of day at the start"),
    shares: z.array(z.number().min(0).max(0.95)).length(24).describe("from midnight on"),
  })
  .describe("Background load by the hour of the day.");

export const engineSchema = z
  .strictObject({
    model: oneOf(MODEL_NAMES).default("llama-3.1-8b").describe("whose step times and KV sizes"),
    gpu: oneOf(GPU_NAMES).default("h100-sxm").describe("that the steps are priced for"),
    context: tokens.default(16_384).describe("longest prompt plus output, tokens"),

    ranks: z.int().min(1).max(1_024).default(1).describe("GPUs that share each layer"),
    ranksPerHost: z.int().min(1).max(1_024).default(8).describe("more lie on several hosts"),
    link: oneOf(LINK_NAMES as readonly LinkName[])
      .default("infiniband-400g")
      .describe("between the hosts of one engine"),
    allowCrossHost: z.boolean().default(false).describe("ranks may lie on several hosts"),

    cost: costSchema.describe("where the price of a step comes from"),
    attention: z
      .enum(["split-kv", "per-head"])
      .default("split-kv")
      .describe("how answers under way read their KV"),

    scheduling: z
      .enum(["chunked", "continuous", "static"])
      .default("chunked")
      .describe("how a step is put together"),
    sequences: z.int().min(1).max(65_536).default(256).describe("most requests in the batch"),
    tokens: tokens.default(2_048).describe("most tokens computed in a step"),
    fillWait: duration.default("0s").describe("static: how long a batch waits to be full"),
    ahead: z.boolean().default(false).describe("a step is composed while the one before it runs"),
    admission: z
      .enum(["known", "step"])
      .default("known")
      .describe("what a request takes as it enters: room for all it has, or for its first piece"),
    order: oneOf(ORDER_NAMES).default("first-come").describe("who is next"),
    ageing: duration.default("10s").describe("priority: a wait worth one class; 0s is strict"),
    priorityPreempts: z.boolean().default(false).describe("a better class throws out who runs"),
    starvation: duration
      .default("5s")
      .describe("shortest-uncached: a wait that counts more than length"),
    outputWeight: z
      .number()
      .min(0.001)
      .max(1_000)
      .default(2)
      .describe("fair-share: an output token against a prompt token"),
    mixing: oneOf(MIXINGS).default("decode-first").describe("chunked: what a step begins with"),
    consecutivePrefills: cap.describe("prefill-first: most steps of prompts in a row; 0 is any"),
    requestTokens: cap.describe("chunked: most tokens of a request in a step; 0 is any"),
    longPrompt: tokens.default(4_096).describe("uncached tokens above which a prompt is long"),
    longPrefills: cap.describe("most long prompts under way at a time; 0 is any"),
    passes: cap.describe("steps in which others pass one that does not fit"),

    memory: z
      .enum(["paged", "prefix", "radix", "contiguous"])
      .default("paged")
      .describe("KV memory: blocks; with a cache by block or by token; or one stretch a request"),
    memoryShare: z.number().gt(0).max(1).default(0.9).describe("of GPU memory that may be used"),
    kvTokens: tokens.optional().describe("tokens of KV memory; default: what fits the GPUs"),
    block: z.int().min(1).max(65_536).default(16).describe("tokens of a block"),
    preemption: z
      .enum(["recompute", "swap"])
      .default("recompute")
      .describe("what becomes of the KV of one that is thrown out"),
    hostMemory: size.default("4GiB").describe("swap: host memory for it, all ranks together"),

    speculation: speculationSchema.optional(),
    pools: poolsSchema.optional(),
    replicas: engines.default(1).describe("engines behind one router"),
    routing: oneOf(Object.keys(ROUTERS) as readonly RouterName[])
      .default("round-robin")
      .describe("how requests are spread over replicas or prefill engines"),
    cold: z
      .array(duration)
      .max(ENGINES_MAX)
      .optional()
      .describe("by replica: how long after the start it begins to compute"),
    neighbour: neighbourSchema.optional(),
    hourly: hourlySchema.optional(),

    faults: z
      .array(faultShareSchema)
      .max(64)
      .default([])
      .describe("of all traffic; a request that asks for one of its own gets that instead"),

    listen: z
      .strictObject({
        host: z.string().min(1).max(255).default("127.0.0.1").describe("address"),
        port: z.int().min(0).max(65_535).default(8_000).describe("0 takes any free one"),
      })
      .prefault({})
      .describe("where the server is reached"),
    servedModel: name.optional().describe("name that requests ask for; default: the model's own"),
    speed: z
      .number()
      .min(0.001)
      .max(1_000)
      .default(1)
      .describe("how many times as fast as the GPU would be"),
    seed: seed.default(42).describe("of words, ids, faults, and lengths that no request sets"),
    queue: z.int().min(1).max(1_000_000).default(1_024).describe("more waiting are answered 429"),
    drain: duration.default("10s").describe("how long open requests may go on at the end"),
  })
  .describe("The twin of an inference engine behind OpenAI's API: `manx engine`.");

export type EngineSection = z.output<typeof engineSchema>;
