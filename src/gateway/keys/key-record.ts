/** A virtual key as it is kept: by its hash, never itself. The schema of the key file and of keys in the configuration. */
import { z } from "zod";
import { name } from "../../config/index.ts";

/** SHA-256 in hex. */
const hash = z.string().regex(/^[0-9a-f]{64}$/, "a SHA-256 of 64 hexadecimal digits");
const count = z.int().min(1).nullable().default(null);
const instant = z
  .string()
  .regex(
    /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/,
    'a UTC date such as "2027-01-31" or "2027-01-31T12:00Z"',
  )
  .refine(exists, "a date that exists");

/** Date.parse takes the 31st of February for the 3rd of March. */
function exists(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10));
}

export const keyRecordSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9]{8}$/, "the eight characters after mk_")
    .describe("what the key begins with, after mk_"),
  hash: hash.describe("SHA-256 of the whole key; manx gateway key create makes it"),
  tenant: name.default("default").describe("whose limits and fair share count"),
  note: z.string().max(200).default("").describe("what it is for"),
  models: z
    .array(z.string().min(1).max(200))
    .max(1_000)
    .nullable()
    .default(null)
    .describe('models that it may use, "gpt-*" for all that begin so; null = all'),
  priority: z.int().min(0).max(9).default(1).describe("0 is served first"),
  warmUp: z
    .boolean()
    .default(false)
    .describe("may mark calls as warm-up: they are in no percentile"),
  created: instant.nullable().default(null),
  expires: instant
    .nullable()
    .default(null)
    .describe("first instant at which it is no longer valid"),
  disabled: z.boolean().default(false),
  budget: z
    .strictObject({
      tokensPerDay: count.describe("prompts and answers, UTC day"),
      tokensPerMonth: count.describe("prompts and answers, UTC month"),
      usdPerDay: z.number().positive().nullable().default(null).describe("needs prices"),
      usdPerMonth: z.number().positive().nullable().default(null).describe("needs prices"),
    })
    .prefault({}),
  rate: z
    .strictObject({
      concurrency: count.describe("most requests in flight"),
      tokensPerMinute: count.describe("prompts and answers"),
    })
    .prefault({})
    .describe("of this key, within its tenant's"),
});

export type KeyRecord = z.output<typeof keyRecordSchema>;
