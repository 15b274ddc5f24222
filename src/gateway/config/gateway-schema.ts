/**
 * The section `gateway` of manx.config.jsonc as people write it: durations and sizes as texts with units, every object
 * strict, every default here. `resolveGateway` makes the plain form of it.
 */
import { z } from "zod";
import { duration, name, secret, share, size } from "../../config/index.ts";
import { durationText, sizeText } from "../../core/index.ts";
import { keyRecordSchema } from "../keys/key-record.ts";
import { priceTableSchema } from "../keys/price-table.ts";
import { GATEWAY_LIMITS, REHEARSAL_CALLS } from "../limits.ts";
import { admissionSchema } from "./admission-schema.ts";
import { guardrailSchema, guardrailWindowSchema } from "./guardrail-schema.ts";
import { policySchema } from "./policy-schema.ts";
import { modelSchema, upstreamSchema } from "./upstream-schema.ts";

const host = z.string().min(1).max(253);
const port = z.int().min(0).max(65_535);
const path = z.string().min(1).max(4_096);
const time = (us: number, words: string) => duration.default(durationText(us)).describe(words);
const bytes = (most: number, words: string) => size.default(sizeText(most)).describe(words);

const listen = z.strictObject({
  host: host.default("127.0.0.1").describe("127.0.0.1 lets in this machine alone"),
  port: port.default(4_000).describe("0 = any free one"),
  workers: z.int().min(1).max(256).default(1).describe("processes that share the port"),
  rehearsal: z
    .int()
    .min(0)
    .max(100_000)
    .default(REHEARSAL_CALLS)
    .describe("calls to itself before it listens, so that the first real ones find compiled code"),
});

const admin = z.strictObject({
  host: host.default("127.0.0.1"),
  port: port.default(4_001),
  key: secret,
});

const keys = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("none") }).describe("whoever reaches the port may call"),
  z.strictObject({ source: z.literal("inline"), keys: z.array(keyRecordSchema).max(1_000) }),
  z.strictObject({ source: z.literal("file"), path }).describe("as manx gateway key writes it"),
]);

const limits = z.strictObject({
  write: time(GATEWAY_LIMITS.writeUs, "a client that takes nothing of what it is owed; 0s = none"),
  receive: time(GATEWAY_LIMITS.receiveUs, "a request that is not received whole"),
  receiveHead: time(GATEWAY_LIMITS.receiveHeadUs, "a request whose head is not received whole"),
  clientIdle: time(GATEWAY_LIMITS.clientIdleUs, "a client's connection without a request"),
  grace: time(GATEWAY_LIMITS.graceUs, "still takes new requests after the word to stop"),
  drain: time(GATEWAY_LIMITS.drainUs, "open requests when the gateway stops"),
  body: bytes(GATEWAY_LIMITS.bodyBytes, "one request's body"),
  bodies: bytes(GATEWAY_LIMITS.bodiesBytes, "all request bodies at one time"),
  head: bytes(GATEWAY_LIMITS.headBytes, "one request's head"),
  requests: z.int().min(1).max(65_535).default(GATEWAY_LIMITS.connections).describe("in flight"),
  clients: z.int().min(1).max(65_535).default(GATEWAY_LIMITS.clients).describe("connections"),
});

export const gatewaySchema = z.strictObject({
  listen: listen.prefault({}),
  admin: admin.nullable().default(null).describe("a port of its own for operators; off by default"),
  upstreams: z.array(upstreamSchema).min(1).max(1_000),
  models: z
    .array(modelSchema)
    .max(10_000)
    .default([])
    .describe("default, with one upstream: all names go there as they are"),
  policies: z
    .record(name, policySchema)
    .default({})
    .describe("the one named default is used unless said"),
  admission: admissionSchema
    .nullable()
    .default(null)
    .describe("lanes, fair share and limits; {} for the defaults"),
  keys: keys.default({ source: "none" }).describe("who may call"),
  prices: priceTableSchema.nullable().default(null).describe("for budgets in money"),
  log: z
    .strictObject({
      access: z.union([z.enum(["off", "stdout"]), path]).default("off"),
      client: z
        .boolean()
        .default(false)
        .describe("with the address that the request came from, which may be personal data"),
    })
    .prefault({}),
  otlp: z
    .strictObject({
      url: z.string().min(1).max(2_000).describe("such as http://127.0.0.1:4318"),
      headers: z.record(z.string().min(1).max(200), secret).default({}),
      share: share
        .default(1)
        .describe("of requests whose traces are sent, beside those that failed or were slow"),
      slow: duration.default("10s").describe("this long without first output is slow"),
      names: z
        .enum(["current", "old"])
        .default("current")
        .describe("of GenAI attributes; old = from before semantic conventions 1.37"),
    })
    .nullable()
    .default(null),
  state: secret
    .nullable()
    .default(null)
    .describe("redis://… where gateways share budgets, lanes and breakers; env:NAME works too"),
  guardrails: z
    .array(guardrailSchema)
    .max(100)
    .default([])
    .describe("from cheap to dear; beside the generation, and before anything is released"),
  guardrailWindow: guardrailWindowSchema.prefault({}),
  warmUpFrom: z
    .enum(["loopback", "anyone"])
    .default("loopback")
    .describe(
      "whose mark x-manx-purpose: warm-up counts, beside that of keys with warmUp: such calls are in no percentile",
    ),
  limits: limits.prefault({}),
});

export type WrittenGateway = z.output<typeof gatewaySchema>;
export type WrittenOtlp = NonNullable<WrittenGateway["otlp"]>;
