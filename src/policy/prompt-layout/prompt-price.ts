/**
 * What a prompt's tokens cost, by model: list prices of the providers, in US dollars, with the month in which they were looked
 * up. A model that is not here has no price, and no amount is made up for it.
 */
export interface PromptPrice {
  /** For a million tokens that come from no cache. */
  readonly inputUsd: number;
  /** … and that do. */
  readonly cachedUsd: number;
  readonly asOf: string;
}

type Row = readonly [name: RegExp, inputUsd: number, cachedUsd: number];

/** By a part of the model's name; the first that matches counts. A date or a cloud's suffix may follow it, a version not. */
const ANTHROPIC: readonly Row[] = [
  [/(?:fable|mythos)-5-1\b/, 10, 0.25],
  [/(?:fable|mythos)-5(?=-\d{8}|@|:|$)/, 10, 1],
  [/opus-5-5\b/, 4, 0.2],
  [/opus-(?:5(?=-\d{8}|@|:|$)|4-[5-8]\b)/, 5, 0.5],
  [/opus-4(?:-[01])?(?=-\d{8}|@|:|$)/, 15, 1.5],
  [/sonnet-5-5\b/, 2, 0.1],
  [/sonnet-5(?=-\d{8}|@|:|$)/, 2, 0.2],
  [/sonnet-4(?:-[056])?(?=-\d{8}|@|:|$)/, 3, 0.3],
  [/3-[57]-sonnet/, 3, 0.3],
  // Of prompts up to 100,000 tokens; longer ones are dearer.
  [/haiku-5-5\b/, 0.1, 0.01],
  [/haiku-4-5\b/, 1, 0.1],
  [/3-5-haiku/, 0.8, 0.08],
];

const OPENAI: readonly Row[] = [
  [/gpt-5-5(?=-\d{4}-|$)/, 5, 0.5],
  [/gpt-5-4-nano/, 0.2, 0.02],
  [/gpt-5-4-mini/, 0.75, 0.075],
  [/gpt-5-4(?=-\d{4}-|$)/, 2.5, 0.25],
  [/gpt-5-nano/, 0.05, 0.005],
  [/gpt-5-mini/, 0.25, 0.025],
  [/gpt-5(?:-1)?(?=-\d{4}-|$)/, 1.25, 0.125],
  [/gpt-4-1-nano/, 0.1, 0.025],
  [/gpt-4-1-mini/, 0.4, 0.1],
  [/gpt-4-1(?=-\d{4}-|$)/, 2, 0.5],
  [/gpt-4o-mini/, 0.15, 0.075],
  [/gpt-4o(?=-\d{4}-|$)/, 2.5, 1.25],
];

const LISTS = [
  { rows: ANTHROPIC, asOf: "2026-10" },
  { rows: OPENAI, asOf: "2026-06" },
] as const;

/** @returns null for a model whose price is not known. */
export function promptPrice(model: string): PromptPrice | null {
  const name = model.toLowerCase().replaceAll(".", "-");
  for (const { rows, asOf } of LISTS) {
    const known = rows.find(([form]) => form.test(name));
    if (known !== undefined) return { inputUsd: known[1], cachedUsd: known[2], asOf };
  }
  return null;
}
