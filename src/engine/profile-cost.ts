/**
 * What a step costs by a profile of one layer, taken operator by operator inside the engine: dense operators by the tokens
 * of the step, output head and sampler by its sequences, attention by four axes (tokens of the chunk, context of the
 * chunk, number of decodes, their KV length). The layout is that of LLMServingSim 2's profiler (KAIST, ISPASS 2026).
 *
 * Decodes of unequal length cost more than as many of the mean length, since the longest holds the others up: of the
 * difference between pricing all at the longest and all at the mean a measured share α is added, where a profile has it.
 *
 * Outside the measured range the last segment is extended; what was never measured is refused when the profile is read.
 */
import { assert, ManxError } from "../core/index.ts";
import type { Batch } from "./batch.ts";
import type { CostModel } from "./cost-model.ts";
import { MeasuredGrid } from "./measured-grid.ts";
import { readTable, type TableText } from "./measured-table.ts";
import { SkewTable } from "./skew-table.ts";

/** The tables of one GPU, model and degree of tensor parallelism. All times in µs, per layer and rank. */
export interface LayerProfileText {
  /** layer, tokens, time_us */
  readonly dense: TableText;
  /** layer, sequences, time_us */
  readonly perSequence: TableText;
  /** prefill_chunk, kv_prefill, n_decode, kv_decode, time_us */
  readonly attention: TableText;
  /** pc, n_label, skew_rate_label, kv_big_label, kp_label, alpha */
  readonly skew?: TableText | undefined;
}

export interface ProfileCostOptions {
  readonly layers: number;
  /**
   * Several prompts in one step: "summed" prices one chunk of all their tokens on their mean context, "each" every chunk
   * by itself and the decodes once.
   */
  readonly chunks: "summed" | "each";
  /** α where the skew table has no entry; only with a skew table. */
  readonly skewDefault?: number;
  /** Added to every step: what no operator's time covers. Default 0. */
  readonly stepOverheadUs?: number;
}

const PER_LAYER: Readonly<Record<string, number>> = {
  layernorm: 2,
  qkv_proj: 1,
  rotary_emb: 1,
  o_proj: 1,
  gate_up_proj: 1,
  act_fn: 1,
  down_proj: 1,
};
/** Of some architectures only. */
const PER_LAYER_IF_THERE = "qk_norm";
const PER_STEP = ["embedding", "final_layernorm"] as const;
const PER_SEQUENCE = ["lm_head", "sampler"] as const;

export class ProfileCost implements CostModel {
  readonly name = "profile";
  readonly #options: ProfileCostOptions;
  /** µs by tokens: all dense operators of all layers, and those outside the layers. */
  readonly #denseUs: MeasuredGrid;
  readonly #sequenceUs: MeasuredGrid;
  readonly #attentionUs: MeasuredGrid;
  readonly #skew: SkewTable | undefined;

  /** @throws MANX_TABLE_FORMAT if a column, an operator or every row is missing. */
  constructor(profile: LayerProfileText, options: ProfileCostOptions) {
    assert(options.layers >= 1, "a model has layers");
    this.#options = options;
    this.#denseUs = denseOf(profile.dense, options.layers);
    this.#sequenceUs = weightedSum(
      curvesOf(profile.perSequence, "sequences"),
      new Map(PER_SEQUENCE.map((name) => [name, 1])),
      profile.perSequence.name,
    );
    const columns = ["prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"];
    const rows = readTable(profile.attention, { numbers: columns }).map(({ numbers }) => {
      const [chunk, chunkContext, decodes, decodeContext, us] = numbers;
      return [chunk!, decodes!, chunkContext!, decodeContext!, us!];
    });
    this.#attentionUs = new MeasuredGrid([...rows, [0, 0, 0, 0, 0]]);
    if (profile.skew !== undefined) {
      this.#skew = new SkewTable(profile.skew, options.skewDefault ?? 0);
    }
  }

  stepUs(batch: Batch): number {
    const us =
      this.#denseUs.at(batch.tokens) +
      this.#sequenceUs.at(batch.size) +
      this.#options.layers * this.attentionUs(batch) +
      (this.#options.stepOverheadUs ?? 0);
    return Math.max(1, Math.round(us));
  }

  /** One layer's attention, µs. A member with one new token is a decode, whatever it belongs to. */
  attentionUs(batch: Batch): number {
    const members = countMembers(batch);
    const { chunks, chunkTokens, chunkContext, decodes, decodeContext } = members;
    const mean = decodes === 0 ? 0 : decodeContext / decodes;
    const context = chunks === 0 ? 0 : chunkContext / chunks;
    if (this.#options.chunks === "summed" || chunks <= 1) {
      return this.#mixedUs(chunkTokens, context, members, mean);
    }
    let us = this.#mixedUs(0, 0, members, mean);
    for (let i = 0; i < batch.size; i += 1) {
      const tokens = batch.newTokens[i]!;
      if (tokens > 1) us += this.#priceUs(tokens, batch.requests[i]!.computed, 0, 0);
    }
    return us;
  }

  #mixedUs(tokens: number, context: number, members: Members, mean: number): number {
    const { decodes, shortest, longest } = members;
    const us = this.#priceUs(tokens, context, decodes, mean);
    if (this.#skew === undefined || decodes < 2 || longest === shortest) return us;
    const rate = (mean - shortest) / (longest - shortest);
    const alpha = this.#skew.alpha({ tokens, context, decodes, rate, longest });
    return us + alpha * (this.#priceUs(tokens, context, decodes, longest) - us);
  }

  #priceUs(tokens: number, context: number, decodes: number, decodeContext: number): number {
    return Math.max(0, this.#attentionUs.at(tokens, decodes, context, decodeContext));
  }
}

interface Members {
  chunks: number;
  chunkTokens: number;
  /** Σ of computed tokens of the chunks, and of the decodes. */
  chunkContext: number;
  decodes: number;
  decodeContext: number;
  shortest: number;
  longest: number;
}

function countMembers(batch: Batch): Members {
  const counted: Members = {
    chunks: 0,
    chunkTokens: 0,
    chunkContext: 0,
    decodes: 0,
    decodeContext: 0,
    shortest: Number.POSITIVE_INFINITY,
    longest: 0,
  };
  for (let i = 0; i < batch.size; i += 1) {
    const { computed } = batch.requests[i]!;
    const tokens = batch.newTokens[i]!;
    if (tokens > 1) {
      counted.chunks += 1;
      counted.chunkTokens += tokens;
      counted.chunkContext += computed;
    } else {
      counted.decodes += 1;
      counted.decodeContext += computed;
      counted.shortest = Math.min(counted.shortest, computed);
      counted.longest = Math.max(counted.longest, computed);
    }
  }
  return counted;
}

type Curves = ReadonlyMap<string, readonly (readonly number[])[]>;

function curvesOf(table: TableText, axis: string): Curves {
  const curves = new Map<string, (readonly number[])[]>();
  for (const { names, numbers } of readTable(table, {
    names: ["layer"],
    numbers: [axis, "time_us"],
  })) {
    const curve = curves.get(names[0]!);
    if (curve === undefined) curves.set(names[0]!, [numbers]);
    else curve.push(numbers);
  }
  return curves;
}

function denseOf(table: TableText, layers: number): MeasuredGrid {
  const curves = curvesOf(table, "tokens");
  const weights = new Map<string, number>(PER_STEP.map((name) => [name, 1]));
  for (const [name, times] of Object.entries(PER_LAYER)) weights.set(name, times * layers);
  if (curves.has(PER_LAYER_IF_THERE)) weights.set(PER_LAYER_IF_THERE, layers);
  return weightedSum(curves, weights, table.name);
}

/** One curve in place of many: exact, since a sum of curves is linear wherever each of them is. */
function weightedSum(
  curves: Curves,
  weights: ReadonlyMap<string, number>,
  table: string,
): MeasuredGrid {
  const parts = [...weights].map(([name, weight]): [MeasuredGrid, number] => {
    const rows = curves.get(name);
    if (rows !== undefined) return [new MeasuredGrid(rows), weight];
    throw new ManxError("MANX_TABLE_FORMAT", {
      what: `the profile lacks the operator "${name}"`,
      where: table,
      expected: [...weights.keys()].join(", "),
      got: [...curves.keys()].join(", "),
    });
  });
  const places = new Set(parts.flatMap(([grid]) => grid.places));
  return new MeasuredGrid(
    [...places].map((x) => [x, parts.reduce((sum, [grid, w]) => sum + w * grid.at(x), 0)]),
  );
}
