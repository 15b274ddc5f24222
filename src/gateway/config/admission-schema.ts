/** How lanes, queues and tenants' limits are written. A limit that is left out is none. */
import { z } from "zod";
import { duration, name, share } from "../../config/index.ts";
import { durationText } from "../../core/index.ts";
import { ADMISSION_DEFAULTS, DEFAULT_ADAPTIVE } from "../../policy/index.ts";

const tokens = z.int().min(1).max(1e12);
const places = z.int().min(1).max(1_000_000);

const tenant = z.strictObject({
  concurrency: places.optional().describe("most requests in flight"),
  tokensPerMinute: tokens.optional().describe("prompts and answers together"),
  burstTokens: tokens.optional().describe("most tokens saved up; default: a minute's"),
  weight: z.number().positive().max(1_000).optional().describe("share of the service; default 1"),
});

const lane = z.strictObject({
  name,
  tokens: tokens
    .optional()
    .describe("prompt and predicted answer up to which it takes; none in the last"),
  share: share.default(0).describe("of the places that is this lane's alone"),
  tokensInFlight: tokens.optional().describe("most of this lane in flight"),
});

const adaptive = z.strictObject({
  floor: places.default(DEFAULT_ADAPTIVE.floor),
  ceiling: places.default(DEFAULT_ADAPTIVE.ceiling),
  start: places.default(DEFAULT_ADAPTIVE.start).describe("to begin with"),
  tolerance: z
    .number()
    .min(1)
    .max(100)
    .default(DEFAULT_ADAPTIVE.tolerance)
    .describe("x the quiet time to first token is fine"),
  probeEvery: duration.default(durationText(DEFAULT_ADAPTIVE.probeEveryUs)),
});

export const admissionSchema = z.strictObject({
  concurrency: z
    .union([places, z.literal("adaptive"), adaptive])
    .default("adaptive")
    .describe("most requests in flight: a number, or found from the observed latency"),
  lanes: z.array(lane).min(1).max(8).optional().describe("shortest first; default: short and long"),
  queue: places.default(ADMISSION_DEFAULTS.queueMax).describe("most that wait in one lane"),
  tenantQueueFactor: z
    .number()
    .positive()
    .max(1_000)
    .default(ADMISSION_DEFAULTS.tenantQueueFactor)
    .describe("a tenant may fill this many times the free places of its lane"),
  age: duration.default(durationText(ADMISSION_DEFAULTS.ageMaxUs)).describe("longest wait"),
  ageing: duration
    .default(durationText(ADMISSION_DEFAULTS.ageingUs))
    .describe("wait that is worth one class of priority"),
  outputWeight: z.number().positive().max(100).default(ADMISSION_DEFAULTS.outputWeight),
  tenant: tenant.prefault({}).describe("of a tenant that tenants does not name"),
  tenants: z.record(name, tenant).default({}),
  tenantsMax: places.default(ADMISSION_DEFAULTS.tenantsMax).describe("most remembered"),
});

export type WrittenAdmission = z.output<typeof admissionSchema>;
export const ADAPTIVE_WRITTEN = adaptive.parse({});
