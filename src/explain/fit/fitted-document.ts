/**
 * The document that `manx engine fit` writes: a fitted cost with all that is needed to judge it. Whatever takes a cost
 * needs only the part that `FittedCostText` names; the rest is for people. Its JSON Schema is in
 * schema/fitted-cost.schema.json (`npm run schema`).
 */
import { z } from "zod";
import { COEFFICIENT_NAMES, FITTED_COST_VERSION } from "../../engine/index.ts";
import { FIT_FIGURES } from "./fit-error.ts";

const count = z.number().int().nonnegative();
const amount = z.number().nonnegative();
const coefficients = z.object({
  stepUs: amount.describe("of every step, weights read once"),
  freeTokens: amount.describe("tokens of a step that ride along for nothing"),
  tokenUs: amount.describe("of each token beyond them"),
  prefillSequenceUs: amount.describe("of each prompt, or piece of one, in the step"),
  prefillPairUs: amount.describe("of each pair of query and key in prompts"),
  prefillContextTokenUs: amount.describe("of each computed token that a piece of a prompt reads"),
  decodeSequenceUs: amount.describe("of each answer in the step"),
  decodeContextTokenUs: amount.describe("of each token whose KV is read for an answer"),
});

const figureError = z.object({
  figure: z.enum(FIT_FIGURES).describe("tpot: mean gap of an answer; itl: each of its gaps"),
  n: count.describe("requests that the fit had not seen, or their gaps"),
  medianPercent: amount.describe("of |twin / observed - 1|"),
  p90Percent: amount,
});

const quantile = z.object({
  figure: z.enum(FIT_FIGURES),
  q: z.number().gt(0).max(1).nullable().describe("null: the mean"),
  n: count,
  beyond: count.describe("values beyond it; below 10 it says more about luck than about the tail"),
  logUs: amount.describe("observed; from a scrape, interpolated within a bucket"),
  twinUs: amount.describe("by fits that had not seen these requests"),
  sheetUs: amount.describe("by the data sheet's twin"),
});

const finding = z.object({
  name: z.enum([...COEFFICIENT_NAMES, "requestUs"]),
  value: amount,
  sheet: amount.describe("the data sheet's, or 0"),
  low: amount.nullable().describe("over fits that each left a part of the log out"),
  high: amount.nullable(),
  determined: z.boolean(),
  why: z.string().describe("why not, or where parts of the log disagree"),
});

export const fittedDocumentSchema = z.object({
  $schema: z.string().optional(),
  kind: z.literal("fitted-cost"),
  schemaVersion: z.literal(FITTED_COST_VERSION),
  coefficients,
  requestUs: amount.describe("what a request takes outside of the engine's steps"),
  fittedOn: z.object({
    source: z.string(),
    requests: count,
    undetermined: z.array(z.enum(COEFFICIENT_NAMES)),
  }),
  error: z.array(figureError),
  engine: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe("the engine as it was run, by the twin's names"),
  findings: z.array(finding),
  quantiles: z.array(quantile),
  sheetError: z.array(figureError).describe("of the data sheet's twin on the same requests"),
  notes: z.array(z.string()),
  startedAt: z.iso.datetime(),
  command: z.string(),
  manx: z.string().describe("version"),
});

export type FittedDocument = z.infer<typeof fittedDocumentSchema>;

/** The published JSON Schema (draft 2020-12). */
export function fittedJsonSchema(): Record<string, unknown> {
  return {
    $id: "https://manx.invalid/fitted-cost.schema.json",
    title: "Manx fitted cost",
    ...(z.toJSONSchema(fittedDocumentSchema) as Record<string, unknown>),
  };
}
