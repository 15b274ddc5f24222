/** What cannot be run is refused with a reason. */
import { describe, expect, it } from "vitest";
import { isManxError, type ManxError } from "../../core/index.ts";
import { ChunkedMixedReference } from "./chunked-mixed.ts";
import { PrefillFirstReference } from "./prefill-first.ts";
import { ReferenceBatch } from "./reference-batch.ts";
import { ReferenceEngine } from "./reference-engine.ts";
import { ReferenceRequest, type ReferenceShape } from "./reference-request.ts";
import type { ReferenceScheduler } from "./reference-scheduler.ts";
import { StaticReference } from "./static-reference.ts";
import { type CostTables, TableCost } from "./table-cost.ts";

const LIMITS = { blocks: 10, blockTokens: 16, watermarkShare: 0.1, sequencesMax: 4 };
const cost = { priceS: () => 0.1 };

function errorOf(run: () => unknown): ManxError {
  try {
    run();
  } catch (error) {
    if (isManxError(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function runAll(scheduler: ReferenceScheduler, requests: readonly ReferenceShape[]): number {
  const engine = new ReferenceEngine({ scheduler, cost, requests });
  let steps = 0;
  while (engine.step() !== undefined) steps += 1;
  return steps;
}

describe("a reference run", () => {
  it("ends at once without requests, and stays ended", () => {
    const scheduler = new ChunkedMixedReference({ ...LIMITS, chunkTokens: 16 });
    const engine = new ReferenceEngine({ scheduler, cost, requests: [] });
    expect([engine.step(), engine.step()]).toEqual([undefined, undefined]);
  });

  it("takes one prefill end and D − 1 decodes, from the arrival on", () => {
    const scheduler = new ChunkedMixedReference({ ...LIMITS, chunkTokens: 16 });
    const shape = { id: 7, arrivedS: 2.5, promptTokens: 40, outputTokens: 3 };
    const engine = new ReferenceEngine({ scheduler, cost, requests: [shape] });
    const starts: number[] = [];
    for (let step = engine.step(); step !== undefined; step = engine.step())
      starts.push(step.startS);
    expect(starts).toHaveLength(3 + 2);
    const [request] = engine.requests;
    expect(request!.scheduledS).toBe(2.5);
    expect(request!.firstTokenS).toBe(2.5 + 0.1 + 0.1 + 0.1);
    expect(request!.completedS).toBe(2.5 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1);
  });

  it.each([
    [
      "a prompt beside the watermark",
      new ChunkedMixedReference({ ...LIMITS, chunkTokens: 16 }),
      150,
    ],
    [
      "a prompt above the step's limit",
      new PrefillFirstReference({ ...LIMITS, paddedTokensMax: 64 }),
      65,
    ],
    [
      "more than the context that is reserved",
      new StaticReference({ ...LIMITS, contextTokensMax: 32 }),
      40,
    ],
  ])("refuses what never fits: %s", (_, scheduler, promptTokens) => {
    const ok = { id: 0, arrivedS: 0, promptTokens: 8, outputTokens: 2 };
    const never = { id: 1, arrivedS: 1, promptTokens, outputTokens: 2 };
    const error = errorOf(() => runAll(scheduler, [ok, never]));
    expect(error.code).toBe("MANX_REQUEST_NEVER_FITS");
    expect(error.where).toBe("request 1");
  });

  it.each([
    ["blocks", { blocks: 0 }],
    ["blockTokens", { blockTokens: 0 }],
    ["blockTokens", { blockTokens: 1.5 }],
    ["watermarkShare", { watermarkShare: 1 }],
    ["watermarkShare", { watermarkShare: Number.NaN }],
    ["sequencesMax", { sequencesMax: -1 }],
    ["chunkTokens", { chunkTokens: 0 }],
  ])("refuses a policy that cannot exist: %s", (where, change) => {
    const options = { ...LIMITS, chunkTokens: 16, ...change };
    const error = errorOf(() => new ChunkedMixedReference(options));
    expect([error.code, error.where]).toEqual(["MANX_CONFIG_IMPOSSIBLE", where]);
  });

  it.each([
    { promptTokens: 0 },
    { outputTokens: 0 },
    { promptTokens: 1.5 },
    { arrivedS: -1 },
    { arrivedS: Number.NaN },
  ])("refuses a request that cannot exist: %o", (change) => {
    const shape = { id: 3, arrivedS: 0, promptTokens: 8, outputTokens: 2, ...change };
    expect(errorOf(() => new ReferenceRequest(shape)).code).toBe("MANX_REQUEST_INVALID");
  });
});

const NAMES = [
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

/** Each operator has a power of two of its own, so that the price says what was added how often. */
function tables(change: Partial<Record<keyof CostTables, number[][]>> = {}): CostTables {
  const operators = Object.fromEntries(NAMES.map((name, i) => [name, [[24, 2 ** i]]]));
  return {
    ...(operators as unknown as CostTables),
    attn_kv_cache_save: [[17, 2 ** 10]],
    attn_prefill: [[64, 15 ** 2, 2 ** 11]],
    attn_decode: [[2, 128, 2 ** 12]],
    ...change,
  };
}

function tableCost(change: Partial<Record<keyof CostTables, number[][]>> = {}): TableCost {
  return new TableCost({
    tables: tables(change),
    layers: 1_000,
    launchMs: 0,
    prefillBatchingShare: 0.5,
    decodeBatchingShare: 0.5,
  });
}

/** One chunk of 15 tokens after 40, and decodes with 100 and 129 tokens: mean 114.5. */
function mixedBatch(): ReferenceBatch {
  const batch = new ReferenceBatch();
  const add = (tokens: number, processed: number, isReady: boolean): void => {
    const one = { id: 0, arrivedS: 0, promptTokens: 500, outputTokens: 500 };
    batch.add(Object.assign(new ReferenceRequest(one), { processed, isReady }), tokens);
  };
  add(15, 40, false);
  add(1, 100, true);
  add(1, 129, true);
  return batch;
}

describe("the table cost", () => {
  it("adds each operator once, the all-reduce twice, and the share for several decodes", () => {
    const once = 2 ** 10 - 1 + 2 ** 3;
    const attention = 2 ** 10 + 2 ** 11 + 1.5 * 2 ** 12;
    expect(tableCost().priceS(mixedBatch())).toBeCloseTo(once + attention, 9);
  });

  it("refuses a step without an entry and names table and key", () => {
    const error = errorOf(() => tableCost({ attn_decode: [[2, 64, 1]] }).priceS(mixedBatch()));
    expect([error.code, error.where, error.got]).toEqual([
      "MANX_CONFIG_IMPOSSIBLE",
      "attn_decode",
      "2, 128",
    ]);
  });

  it.each([
    ["a row too short", { add: [[24]] }],
    ["a row too long", { add: [[24, 1, 2]] }],
    ["a price that is no number", { attn_decode: [[2, 128, Number.NaN]] }],
    [
      "two prices for one key",
      {
        add: [
          [24, 1],
          [24, 2],
        ],
      },
    ],
    ["no table", { add: undefined as unknown as number[][] }],
  ])("refuses %s", (_, change) => {
    expect(errorOf(() => tableCost(change)).code).toBe("MANX_CONFIG_IMPOSSIBLE");
  });
});
