/** How upstreams and models are written. */
import { z } from "zod";
import { duration, name, secret } from "../../config/index.ts";
import { durationText } from "../../core/index.ts";
import { GATEWAY_LIMITS } from "../limits.ts";

const url = z.string().min(1).max(2_000);

export const upstreamSchema = z.strictObject({
  name,
  url: url.optional().describe("such as https://api.openai.com or http://127.0.0.1:8000/v1"),
  urls: z.array(url).min(1).max(256).optional().describe("instead of url: replicas of one server"),
  format: z
    .enum(["openai", "anthropic", "any"])
    .default("openai")
    .describe(
      "what it speaks; calls in the other one's format are translated; any = each as it came",
    ),
  kind: z
    .enum(["provider", "vllm", "sglang", "other"])
    .default("other")
    .describe("whose metrics and health page are read, and which limits are known"),
  key: secret.nullable().default(null).describe("null = callers' own credentials are passed on"),
  authHeader: z
    .enum(["bearer", "x-api-key", "api-key"])
    .optional()
    .describe("how the key is sent; default: as the format's own clients do"),
  allowPlainHttp: z
    .boolean()
    .default(false)
    .describe("send the key over http:// to another machine; it can be read on the way"),
  connections: z.int().min(1).max(65_535).default(2_048).describe("most, to each URL"),
  preconnect: z.int().min(0).max(1_024).default(4).describe("opened ahead and kept, to each URL"),
  idle: duration
    .default(durationText(GATEWAY_LIMITS.idleUs))
    .describe("how long an unused connection is kept; a hint of the upstream comes first"),
  http2: z.enum(["auto", "never"]).default("auto"),
  tls: z
    .strictObject({
      ca: z.string().min(1).nullable().default(null).describe("PEM file to trust instead"),
      serverName: z.string().min(1).max(253).nullable().default(null),
    })
    .prefault({}),
  canPrefill: z
    .boolean()
    .default(false)
    .describe("goes on with a last message of the assistant, as Anthropic and vLLM can"),
  hostedTools: z
    .enum(["refuse", "drop"])
    .default("refuse")
    .describe("of calls that are translated: tools that only the caller's provider knows"),
  router: z
    .enum(["round-robin", "least-load", "prefix"])
    .default("least-load")
    .describe("among urls; prefix keeps prompts that begin alike together"),
  region: name.nullable().default(null).describe("hedges go to another one if there is one"),
});

const target = z.strictObject({
  upstream: name,
  model: z.string().min(1).max(200).nullable().default(null).describe("the upstream's name for it"),
  weight: z.number().positive().max(1_000_000).default(1).describe("share within one order"),
  order: z.int().min(0).max(100).default(0).describe("lower ones first"),
});

const cacheMarks = z.strictObject({
  order: z
    .boolean()
    .default(true)
    .describe("tools by name, keys and results in one order: equal prompts are equal bytes"),
  marks: z
    .boolean()
    .default(true)
    .describe("cache_control for upstreams of Anthropic's format, unless the caller has set any"),
  minimumTokens: z
    .int()
    .min(0)
    .max(10_000_000)
    .nullable()
    .default(null)
    .describe("of a prefix that the model keeps; null = as known of the model by its name"),
});

export const modelSchema = z.strictObject({
  name: z
    .string()
    .regex(/^(\*|[\w.:@/-]{1,200})$/, 'a model\'s name, or "*" for every other')
    .describe('what callers ask for; "*" is every name that no other model has'),
  targets: z
    .array(z.union([name, target]))
    .min(1)
    .max(64),
  policy: name.default("default"),
  cacheMarks: z
    .union([z.boolean(), cacheMarks])
    .default(false)
    .describe("for the provider's prompt cache; true for the defaults"),
});

export type WrittenUpstream = z.output<typeof upstreamSchema>;
/** What `true` stands for. */
export const CACHE_MARKS_WRITTEN = cacheMarks.parse({});
export type WrittenModel = z.output<typeof modelSchema>;
