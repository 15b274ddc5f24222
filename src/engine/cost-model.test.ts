import { describe, expect, it } from "vitest";
import { Batch } from "./batch.ts";
import { RooflineCost } from "./cost-model.ts";
import { findGpu, findModel } from "./data-sheets.ts";

function costOf(gpu: string, model: string, ranks = 1): (fill: (batch: Batch) => void) => number {
  const cost = new RooflineCost(findGpu(gpu), findModel(model), ranks);
  return (fill) => {
    const batch = new Batch();
    fill(batch);
    return cost.stepUs(batch) / 1_000;
  };
}

/** `sequences` answers under way, each on `context` tokens. */
const decodes = (sequences: number, context: number) => (batch: Batch) => {
  for (let i = 0; i < sequences; i += 1) batch.countDecode(context);
};

describe("RooflineCost against measured engines", () => {
  // Public measurements with another software stack each: a model from data sheets is to be near, not equal.
  it.each([
    [
      "Llama-3.1-8B, H100, vLLM 0.15 codegen run",
      "h100-sxm",
      "llama-3.1-8b",
      1,
      decodes(16, 640),
      7.92,
    ],
    [
      "Llama-3.1-8B, A100, vLLM 0.15 general-lite",
      "a100-80gb-sxm",
      "llama-3.1-8b",
      1,
      decodes(15, 670),
      14.41,
    ],
    [
      "Llama-2-70B, 4 × A100, vLLM 0.15 general-lite",
      "a100-80gb-sxm",
      "llama-2-70b",
      4,
      decodes(38, 670),
      36.41,
    ],
  ] as const)("decode step: %s within 30 %%", (_, gpu, model, ranks, fill, measuredMs) => {
    const ratio = costOf(gpu, model, ranks)(fill) / measuredMs;
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.3);
  });

  it.each([
    ["4 × H100, 2,048 tokens", "h100-sxm", 4, 2_048, 200.7],
    ["4 × A100, 2,048 tokens", "a100-80gb-sxm", 4, 2_048, 403.3],
    ["8 × A100, 8,192 tokens", "a100-80gb-sxm", 8, 8_192, 1_549.8],
  ] as const)(
    "prefill: Llama-2-70B on %s within a factor of 1.7",
    (_, gpu, ranks, tokens, measuredMs) => {
      const ms = costOf(gpu, "llama-2-70b", ranks)((batch) => batch.countPrefill(tokens, 0));
      expect(ms / measuredMs).toBeGreaterThan(1 / 1.7);
      expect(ms / measuredMs).toBeLessThan(1.7);
    },
  );
});

describe("RooflineCost", () => {
  const ms = costOf("h100-sxm", "llama-3.1-8b");

  it("reads the weights for one answer as for many, until computing takes over", () => {
    expect(ms(decodes(8, 100)) / ms(decodes(1, 100))).toBeLessThan(1.1);
    expect(ms(decodes(1_024, 100)) / ms(decodes(1, 100))).toBeGreaterThan(3);
  });

  it("charges a chunk for the context that it reads again and the pairs that it adds", () => {
    const whole = ms((batch) => batch.countPrefill(8_192, 0));
    let chunked = 0;
    for (let done = 0; done < 8_192; done += 512)
      chunked += ms((batch) => batch.countPrefill(512, done));
    expect(chunked).toBeGreaterThan(whole);
    const pairs = new Batch();
    const one = new Batch();
    for (let done = 0; done < 8_192; done += 512) pairs.countPrefill(512, done);
    one.countPrefill(8_192, 0);
    expect(pairs.prefillPairs).toBe(one.prefillPairs);
  });
});

describe("how answers read their KV", () => {
  const gpu = findGpu("h100-sxm");
  const model = findModel("llama-3.1-8b");
  const attentionUs = (
    attention: "split-kv" | "per-head",
    ranks: number,
    lengths: readonly number[],
  ): number => {
    const cost = new RooflineCost(gpu, model, ranks, { attention });
    const price = (contexts: readonly number[]): number => {
      const batch = new Batch();
      for (const context of contexts) batch.countDecode(context);
      return cost.stepUs(batch);
    };
    return price(lengths) - price(lengths.map(() => 0));
  };
  const slowdown = (lengths: readonly number[], ranks = 1): number =>
    attentionUs("per-head", ranks, lengths) / attentionUs("split-kv", ranks, lengths);

  it("leaves all but 8 of 132 multiprocessors idle for one long sequence and one block per head", () => {
    expect(slowdown([65_536])).toBeCloseTo(132 / 8, 1);
    expect(slowdown([65_536, 65_536, 65_536, 65_536])).toBeCloseTo(132 / 32, 1);
  });

  it("has fewer blocks on each of more ranks, since each holds fewer heads", () => {
    expect(slowdown([65_536], 4)).toBeCloseTo(132 / 2, 0);
  });

  it("makes no difference once the blocks fill the GPU", () => {
    const many = new Array<number>(17).fill(16_384);
    expect(slowdown(many)).toBe(1);
    expect(slowdown(many.slice(0, 16))).toBeGreaterThan(1);
  });

  it("waits for the longest of unequal ones, whose block nobody helps", () => {
    const mixed = [65_536, ...new Array<number>(64).fill(512)];
    const alone = attentionUs("per-head", 1, [65_536]);
    expect(attentionUs("per-head", 1, mixed)).toBeCloseTo(alone, -1);
    expect(slowdown(mixed)).toBeGreaterThan(8);
  });
});

describe("what a prompt pays for being cut into pieces", () => {
  it("is one read of its KV per later chunk and the weights and overhead of each step, and nothing else", () => {
    const cost = new RooflineCost(findGpu("h100-sxm"), findModel("llama-3.1-8b"));
    const price = (chunks: readonly number[]): number => {
      let done = 0;
      let us = 0;
      for (const tokens of chunks) {
        const batch = new Batch();
        batch.countPrefill(tokens, done);
        us += cost.stepUs(batch);
        done += tokens;
      }
      return us;
    };
    const again = (chunk: number): number => {
      const n = 32_768 / chunk;
      const tokens = (chunk * n * (n - 1)) / 2;
      const batch = new Batch();
      batch.countDecode(tokens);
      const none = new Batch();
      none.countDecode(0);
      return cost.stepUs(batch) - cost.stepUs(none);
    };
    const whole = price([32_768]);
    for (const chunk of [512, 1_024, 2_048]) {
      const chunks = new Array<number>(32_768 / chunk).fill(chunk);
      const extra = price(chunks) - whole;
      expect(extra).toBeGreaterThan(again(chunk));
      expect(extra - again(chunk)).toBeLessThan(chunks.length * price([1]));
    }
    expect(again(512) / again(1_024)).toBeCloseTo(63 / 31, 1);
  });
});
