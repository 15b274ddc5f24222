/** What models cost, as the operator knows it: dated, since prices change, and never guessed for a model that is missing. */
import { z } from "zod";

const usdPerMillion = z.number().min(0).max(100_000);

export const priceTableSchema = z.strictObject({
  asOf: z
    .string()
    .regex(/^\d{4}-\d\d-\d\d$/, 'a date such as "2026-11-29"')
    .describe("when they were looked up"),
  models: z.record(
    z.string().min(1).max(200),
    z.strictObject({
      input: usdPerMillion.describe("USD per million tokens of prompts"),
      cached: usdPerMillion.optional().describe("of prompts read from a cache; default: as input"),
      output: usdPerMillion.describe("USD per million tokens of answers"),
    }),
  ),
});

export type PriceTable = z.output<typeof priceTableSchema>;

/** What one call has used. */
export interface TokensUsed {
  /** The whole prompt, cached or not. */
  readonly inputTokens: number;
  /** Of these, read from a cache. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/** @returns millionths of a USD; undefined if the model has no price. */
export function costMicroUsd(
  prices: PriceTable,
  model: string,
  { inputTokens, cachedTokens, outputTokens }: TokensUsed,
): number | undefined {
  if (!Object.hasOwn(prices.models, model)) return undefined;
  const { input, cached = input, output } = prices.models[model]!;
  // Per million tokens and in millionths: the two cancel out.
  return (inputTokens - cachedTokens) * input + cachedTokens * cached + outputTokens * output;
}
