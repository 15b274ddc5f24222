/**
 * What a prompt's tokens cost, by model: list prices of the providers' pages, with their date. A model that is not here has
 * no price, and no amount is made up for it.
 */
export interface PromptPrice {
  /** US dollars for a million tokens that come from no cache. */
  readonly inputUsd: number;
  /** … and that do. */
  readonly cachedUsd: number;
  /** When it was looked up. */
  readonly asOf: string;
}

const AS_OF = "2025-11";

/** By a part of the model's name; the first that matches counts. */
const PRICES: readonly (readonly [name: RegExp, inputUsd: number, cachedUsd: number])[] = [
  [/opus-4-5\b/, 5, 0.5],
  [/opus-4(?:-[01])?(?=-\d{8}|@|:|$)/, 15, 1.5],
  [/sonnet-4(?:-[05])?(?=-\d{8}|@|:|$)/, 3, 0.3],
  [/3-[57]-sonnet/, 3, 0.3],
  [/haiku-4-5\b/, 1, 0.1],
  [/3-5-haiku/, 0.8, 0.08],
  [/gpt-4o-mini/, 0.15, 0.075],
  [/gpt-4o/, 2.5, 1.25],
  [/gpt-4-1-nano/, 0.1, 0.025],
  [/gpt-4-1-mini/, 0.4, 0.1],
  [/gpt-4-1(?!\d)/, 2, 0.5],
  [/gpt-5-nano/, 0.05, 0.005],
  [/gpt-5-mini/, 0.25, 0.025],
  [/gpt-5(?:-1)?(?=-\d{4}-|$)/, 1.25, 0.125],
  [/\bo4-mini/, 1.1, 0.275],
  [/\bo3(?=-\d{4}-|$)/, 2, 0.5],
];

/** @returns null for a model whose price is not known. */
export function promptPrice(model: string): PromptPrice | null {
  const name = model.toLowerCase().replaceAll(".", "-");
  const known = PRICES.find(([form]) => form.test(name));
  return known === undefined ? null : { inputUsd: known[1], cachedUsd: known[2], asOf: AS_OF };
}
