/**
 * What a step costs by Vidur's kernel tables, to the last bit. Double addition is not associative, so the order of the
 * terms below is part of the rule; nothing here may be regrouped.
 *
 * A table holds milliseconds of one layer by tokens of the step rounded up to a multiple of 8. Attention has tables of its
 * own: prefill by context and squared chunk, decode by batch and mean context. A step that a table has no entry for is
 * refused, not guessed.
 */
import { ManxError } from "../../core/index.ts";
import { requireCount } from "./block-ledger.ts";
import type { ReferenceBatch } from "./reference-batch.ts";

export interface ReferenceCost {
  /** Seconds that `batch` takes. Pure. */
  priceS(batch: ReferenceBatch): number;
}

/** By tokens of the step, rounded up. */
const OPERATORS = [
  "attn_pre_proj",
  "attn_post_proj",
  "attn_rope",
  "all_reduce",
  "input_layernorm",
  "mlp_up_proj",
  "mlp_down_proj",
  "mlp_act",
  "post_attention_layernorm",
  "add",
] as const;
/** By exact tokens, and by two keys. */
const OTHERS = ["attn_kv_cache_save", "attn_prefill", "attn_decode"] as const;

type Operator = (typeof OPERATORS)[number];
type TableName = Operator | (typeof OTHERS)[number];

/** Rows of one or two keys and the milliseconds. */
export type CostTables = Readonly<Record<TableName, readonly (readonly number[])[]>>;

export interface TableCostOptions {
  readonly tables: CostTables;
  readonly layers: number;
  /** Of each all-reduce, beside what the table says. */
  readonly launchMs: number;
  /** Added to the attention of several prompts, and of several decodes, as a share of it. */
  readonly prefillBatchingShare: number;
  readonly decodeBatchingShare: number;
}

const TOKEN_STEP = 8;
const CONTEXT_STEP = 64;
/** First of two keys; the second, a squared number of tokens, stays below. */
const KEY_STRIDE = 2 ** 32;

export class TableCost implements ReferenceCost {
  readonly #tables: ReadonlyMap<TableName, ReadonlyMap<number, number>>;
  readonly #layers: number;
  readonly #launchMs: number;
  readonly #prefillFactor: number;
  readonly #decodeFactor: number;

  /** @throws MANX_CONFIG_IMPOSSIBLE if a table is missing, has a malformed row, or has two prices for one key. */
  constructor(options: TableCostOptions) {
    requireCount("layers", options.layers);
    const names: readonly TableName[] = [...OPERATORS, ...OTHERS];
    this.#tables = new Map(names.map((name) => [name, readTable(name, options.tables[name])]));
    this.#layers = options.layers;
    this.#launchMs = options.launchMs;
    this.#prefillFactor = 1 + options.prefillBatchingShare;
    this.#decodeFactor = 1 + options.decodeBatchingShare;
  }

  /** @throws MANX_CONFIG_IMPOSSIBLE if a table does not reach this step. */
  priceS(batch: ReferenceBatch): number {
    const rounded = roundUp(batch.tokens, TOKEN_STEP);
    const ms = (name: Operator): number => this.#at(name, rounded);
    const allReduceMs = ms("all_reduce") + this.#launchMs;
    const attentionMs =
      ms("attn_pre_proj") +
      ms("attn_post_proj") +
      ms("attn_rope") +
      this.#at("attn_kv_cache_save", batch.tokens) +
      this.#decodeMs(batch) +
      this.#prefillMs(batch) +
      allReduceMs +
      ms("input_layernorm");
    const mlpMs =
      ms("mlp_up_proj") +
      ms("mlp_down_proj") +
      ms("mlp_act") +
      allReduceMs +
      ms("post_attention_layernorm");
    return (attentionMs + mlpMs + ms("add")) * this.#layers * 1e-3;
  }

  /** Several prompts count as one whose square is the sum of theirs, on contexts that add up. */
  #prefillMs({ requests, newTokens }: ReferenceBatch): number {
    let prompts = 0;
    let context = 0;
    let squares = 0;
    for (const [i, request] of requests.entries()) {
      if (request.isReady) continue;
      prompts += 1;
      context += roundUp(request.processed, CONTEXT_STEP);
      squares += newTokens[i]! ** 2;
    }
    if (prompts === 0) return 0;
    // The root of a whole number never lies halfway between two, so how halves are rounded does not matter.
    const chunk = Math.round(Math.sqrt(squares));
    const ms = this.#at("attn_prefill", context, chunk ** 2);
    return prompts > 1 ? ms * this.#prefillFactor : ms;
  }

  #decodeMs({ requests }: ReferenceBatch): number {
    let decodes = 0;
    let context = 0;
    for (const request of requests) {
      if (!request.isReady) continue;
      decodes += 1;
      context += request.processed;
    }
    if (decodes === 0) return 0;
    const mean = Math.floor(context / decodes);
    const ms = this.#at("attn_decode", decodes, roundUp(mean, CONTEXT_STEP));
    return decodes > 1 ? ms * this.#decodeFactor : ms;
  }

  #at(name: TableName, first: number, second?: number): number {
    const ms = this.#tables.get(name)!.get(keyOf(first, second));
    if (ms !== undefined) return ms;
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: `the cost table ${name} has no entry for this step`,
      where: name,
      expected: "an entry for every step that the run makes",
      got: second === undefined ? String(first) : `${first}, ${second}`,
      hint: "take the tables of a run with the same requests, policy and limits",
    });
  }
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}

function keyOf(first: number, second: number | undefined): number {
  return second === undefined ? first : first * KEY_STRIDE + second;
}

function readTable(name: TableName, rows: CostTables[TableName] | undefined): Map<number, number> {
  const fail = (expected: string, got: unknown): never => {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      what: `the cost table ${name} cannot be used`,
      where: name,
      expected,
      got: JSON.stringify(got) ?? "nothing",
      hint: "compare it with data/vidur-golden/README.md",
    });
  };
  if (!Array.isArray(rows)) return fail("rows of numbers", rows);
  const keys = name === "attn_prefill" || name === "attn_decode" ? 2 : 1;
  const table = new Map<number, number>();
  for (const row of rows as CostTables[TableName]) {
    if (row.length !== keys + 1 || !row.every((value) => Number.isFinite(value) && value >= 0)) {
      fail(`${keys} key(s) and milliseconds from 0`, row);
    }
    const key = keyOf(row[0]!, keys === 2 ? row[1] : undefined);
    const ms = row[keys]!;
    if (table.has(key) && table.get(key) !== ms) fail("one price for a key", row);
    table.set(key, ms);
  }
  return table;
}
