import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "./batch.ts";
import { rooflineOf } from "./cost-choice.ts";
import { ENGINE_DEFAULTS } from "./engine-config.ts";
import {
  COEFFICIENT_NAMES,
  type FittedCoefficients,
  FittedCost,
  fittedTerms,
  LINEAR_COEFFICIENTS,
} from "./fitted-cost.ts";
import { type FittedCostText, readFittedCost } from "./fitted-cost-text.ts";

const COEFFICIENTS: FittedCoefficients = {
  stepUs: 5_000,
  freeTokens: 100,
  tokenUs: 30,
  prefillSequenceUs: 7,
  prefillPairUs: 0.001,
  prefillContextTokenUs: 0.03,
  decodeSequenceUs: 11,
  decodeContextTokenUs: 0.05,
};

/** Prompts of [tokens, context under them], and contexts of answers. */
function batchOf(prompts: readonly (readonly [number, number])[], answers: readonly number[]) {
  const batch = new Batch();
  for (const [tokens, context] of prompts) batch.countPrefill(tokens, context);
  for (const context of answers) batch.countDecode(context);
  return batch;
}

const anyBatch = fc
  .record({
    prompts: fc.array(fc.tuple(fc.integer({ min: 1, max: 4_096 }), fc.nat(8_192)), {
      maxLength: 4,
    }),
    answers: fc.array(fc.integer({ min: 1, max: 16_384 }), { minLength: 1, maxLength: 64 }),
    drafts: fc.nat(40),
  })
  .map(({ prompts, answers, drafts }) => {
    const batch = batchOf(prompts, answers);
    batch.draftTokens = drafts;
    return batch;
  });

describe("FittedCost", () => {
  it("adds up what each coefficient is for", () => {
    const cost = new FittedCost(COEFFICIENTS);
    expect(cost.stepUs(batchOf([], [1_000]))).toBe(5_000 + 11 + 50);
    // 200 tokens on 1,000: 201 in the step, 101 beyond the free ones; 200 · 1,000 + 20,100 pairs.
    const mixed = 5_000 + 101 * 30 + 7 + 220.1 + 30 + 11 + 50;
    expect(cost.stepUs(batchOf([[200, 1_000]], [1_000]))).toBe(Math.round(mixed));
  });

  it("is the product of its terms and its coefficients, so that a fit prices what it fitted", () => {
    fc.assert(
      fc.property(anyBatch, (batch) => {
        const terms = fittedTerms(batch, COEFFICIENTS.freeTokens);
        const sum = LINEAR_COEFFICIENTS.reduce(
          (us, name, i) => us + COEFFICIENTS[name] * terms[i]!,
          0,
        );
        expect(Math.abs(new FittedCost(COEFFICIENTS).stepUs(batch) - sum)).toBeLessThan(0.51);
      }),
    );
  });

  it("never gets cheaper by one more answer or one more token of a prompt", () => {
    fc.assert(
      fc.property(anyBatch, (batch) => {
        const cost = new FittedCost(COEFFICIENTS);
        const before = cost.stepUs(batch);
        batch.countDecode(1);
        const more = cost.stepUs(batch);
        expect(more).toBeGreaterThanOrEqual(before);
        batch.countPrefill(1, 0);
        expect(cost.stepUs(batch)).toBeGreaterThanOrEqual(more);
      }),
    );
  });

  it("starts from a data sheet within 15 % of the roofline, for prompts, answers and both", () => {
    for (const [gpu, model, ranks] of [
      ["h100-sxm", "llama-3.1-8b", 1],
      ["a100-80gb-sxm", "llama-3.1-70b", 4],
      ["l40s", "qwen2.5-7b", 1],
    ] as const) {
      const roofline = rooflineOf({ ...ENGINE_DEFAULTS, gpu, model, ranks });
      const fitted = new FittedCost(roofline.coefficients());
      for (const batch of [
        batchOf([], [500]),
        batchOf([], Array(32).fill(2_000)),
        batchOf([[2_048, 0]], []),
        batchOf([[8_192, 4_096]], []),
        batchOf([[480, 1_024]], Array(32).fill(2_000)),
      ]) {
        const ratio = fitted.stepUs(batch) / roofline.stepUs(batch);
        expect(Math.abs(ratio - 1)).toBeLessThan(0.15);
      }
    }
  });

  it("needs its bend: without free tokens either small steps or large ones are far off", () => {
    const roofline = rooflineOf(ENGINE_DEFAULTS);
    const straight = { ...roofline.coefficients(), freeTokens: 0 };
    const one = batchOf([[128, 0]], []);
    const ratio = new FittedCost(straight).stepUs(one) / roofline.stepUs(one);
    expect(ratio).toBeGreaterThan(1.4);
  });
});

describe("a fitted cost as a document", () => {
  const text: FittedCostText = {
    schemaVersion: 1,
    coefficients: COEFFICIENTS,
    fittedOn: { source: "run.jsonl", requests: 800, undetermined: ["prefillPairUs"] },
    error: [{ figure: "ttft", n: 200, medianPercent: 3, p90Percent: 9 }],
  };

  it("comes back from JSON as it was", () => {
    expect(readFittedCost(JSON.parse(JSON.stringify(text)), "fit.json")).toEqual(text);
  });

  it("is refused with the place if any of it cannot be", () => {
    const { stepUs: _, ...missing } = COEFFICIENTS;
    const cases: readonly [unknown, string][] = [
      [undefined, "fit.json"],
      [[], "fit.json"],
      [{ ...text, schemaVersion: 2 }, "fit.json"],
      [{ ...text, coefficients: null }, "fit.json: coefficients"],
      [{ ...text, coefficients: missing }, "fit.json: coefficients.stepUs"],
      [
        { ...text, coefficients: { ...COEFFICIENTS, tokenUs: -1 } },
        "fit.json: coefficients.tokenUs",
      ],
      [
        { ...text, coefficients: { ...COEFFICIENTS, tokenUs: "3" } },
        "fit.json: coefficients.tokenUs",
      ],
      [{ ...text, coefficients: { ...COEFFICIENTS, tokensUs: 3 } }, "fit.json: coefficients"],
      [{ ...text, requestUs: 1e300 }, "fit.json: requestUs"],
      [{ ...text, engine: [] }, "fit.json: engine"],
      [{ ...text, engine: { ranks: "two" } }, "fit.json: engine.ranks"],
      [{ ...text, fittedOn: {} }, "fit.json: fittedOn"],
      [{ ...text, error: {} }, "fit.json: error"],
    ];
    for (const [document, where] of cases) {
      expect(() => readFittedCost(document, "fit.json")).toThrow(
        expect.objectContaining({ code: "MANX_TABLE_FORMAT", where }),
      );
    }
    for (const name of COEFFICIENT_NAMES) {
      const broken = { ...text, coefficients: { ...COEFFICIENTS, [name]: Number.NaN } };
      expect(() => readFittedCost(broken, "fit.json")).toThrow(
        expect.objectContaining({ where: `fit.json: coefficients.${name}` }),
      );
    }
  });
});
