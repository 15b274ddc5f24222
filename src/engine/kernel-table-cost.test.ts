import { describe, expect, it } from "vitest";
import { Batch } from "./batch.ts";
import { findGpu, findModel, type Model } from "./data-sheets.ts";
import { KernelTableCost, type KernelTableText } from "./kernel-table-cost.ts";
import { EngineRequest } from "./request.ts";

const GPU = findGpu("h100-sxm");
const MODEL: Model = {
  ...findModel("llama-3.1-8b"),
  layers: 2,
  hidden: 1_024,
  heads: 8,
  kvHeads: 2,
  intermediate: 2_048,
  vocabulary: 4_096,
};

const SIZES = [512, 1_024, 2_048, 4_096];
/** A product takes 1 µs, 0.001 for each row of n and k, and 0.1 a token. */
const productUs = (n: number, k: number, m: number): number => 1 + (n + k) / 1_000 + m / 10;

function tablesOf(): KernelTableText {
  const gemm = SIZES.flatMap((n) =>
    SIZES.flatMap((k) => [1, 100].map((m) => [n, k, m, productUs(n, k, m) / 1e3].join())),
  );
  const attention = (us: (batch: number, length: number) => number): string[] =>
    [4, 8].flatMap((heads) =>
      [1, 2].flatMap((kv) =>
        [1, 16].flatMap((batch) =>
          [1, 1_000].map((length) =>
            [heads, kv, batch, length, (heads * kv * us(batch, length)) / 1e3].join(),
          ),
        ),
      ),
    );
  const reduce = [2, 4].flatMap((gpus) =>
    [1_024, 1_048_576].map((bytes) => `vLLM_custom_graph,${gpus},${bytes},${gpus / 1e3}`),
  );
  const eager = "vLLM_custom_eager,2,1024,9";
  const csv = (name: string, header: string, rows: string[]) => ({
    name,
    text: [header, ...rows].join("\n"),
  });
  return {
    gemm: csv("gemm", "n,k,m,latency_ms", gemm),
    contextAttention: csv(
      "context",
      "heads,kv_heads,batch,isl,latency_ms",
      attention((_, length) => length),
    ),
    generationAttention: csv(
      "generation",
      "heads,kv_heads,batch,kv_len,latency_ms",
      attention((batch, length) => batch + length),
    ),
    allReduce: csv("reduce", "kernel,gpus,bytes,latency_ms", [eager, ...reduce]),
  };
}

/** [computed, new tokens, generated] of each member. */
function batchOf(...members: readonly (readonly [number, number, number])[]): Batch {
  const batch = new Batch();
  for (const [computed, tokens, generated] of members) {
    const shape = { promptTokens: computed + tokens, outputTokens: 99 };
    const request = new EngineRequest(shape, 0, undefined) as EngineRequest;
    request.computed = computed;
    request.generated = generated;
    if (generated > 0) batch.addDecode(request);
    else batch.addPrefill(request, tokens);
  }
  return batch;
}

const costOf = (ranks: number, model = MODEL, stepOverheadUs = 0): KernelTableCost =>
  new KernelTableCost(tablesOf(), { gpu: GPU, model, ranks, stepOverheadUs });

describe("a price from kernel tables", () => {
  it("adds products, what lies between them, the output head and attention", () => {
    const tokens = 11;
    // Projections of 8 + 2 · 2 heads, of the output, of the gated MLP and back.
    const products =
      productUs(1_536, 1_024, tokens) +
      productUs(1_024, 1_024, tokens) +
      productUs(4_096, 1_024, tokens) +
      productUs(1_024, 2_048, tokens);
    const bytes = 2 * (8 * 1_024 + 3 * 1_536 + 3 * 2_048);
    const between = 15 + (tokens * bytes) / ((GPU.memoryBytesPerS * 0.8) / 1e6);
    const head = productUs(4_096, 1_024, 2);
    const batch = batchOf([0, 10, 0], [99, 1, 1]);
    // Eight heads, two KV heads: the chunk of 10, and one decode that reads 100.
    const attention = 16 * 10 + 16 * (1 + 100);
    expect(costOf(1).attentionUs(batch)).toBeCloseTo(attention, 6);
    const us = 2 * (products + between + attention) + head;
    expect(costOf(1).stepUs(batch)).toBe(Math.round(us));
    expect(costOf(1, MODEL, 500).stepUs(batch)).toBe(Math.round(us + 500));
  });

  it("prices a chunk on a context by the pairs that it adds to the whole", () => {
    // 50 on 50: three quarters of a prompt of 100.
    expect(costOf(1).attentionUs(batchOf([50, 50, 0]))).toBeCloseTo(0.75 * 16 * 100, 6);
    // A prompt's last token alone is a chunk too.
    expect(costOf(1).attentionUs(batchOf([99, 1, 0]))).toBeCloseTo(16 * 100 * (1 - 0.99 ** 2), 6);
  });

  it("adds two all-reduces a layer between ranks and shares heads and widths", () => {
    const batch = batchOf([0, 10, 0]);
    const alike = { ...MODEL, heads: 4, kvHeads: 1, intermediate: 1_024, vocabulary: 2_048 };
    const shard = costOf(1, alike).stepUs(batch);
    expect(costOf(2).stepUs(batch) - shard).toBe(2 * 2 * 2);
  });

  it("prices heads between the measured numbers, and takes more KV heads where fewer are missing", () => {
    const six = costOf(1, { ...MODEL, heads: 6 }).attentionUs(batchOf([0, 10, 0]));
    expect(six).toBeCloseTo(12 * 10, 6);
  });

  it("refuses what no table reaches, with what they reach", () => {
    const refusal = (got: string) =>
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE", got });
    expect(() => costOf(1, { ...MODEL, heads: 16 })).toThrow(refusal("16 and 2"));
    expect(() => costOf(1, { ...MODEL, kvHeads: 4 })).toThrow(refusal("8 and 4"));
    expect(() => costOf(8, { ...MODEL, heads: 32, kvHeads: 8 })).toThrow(
      expect.objectContaining({ expected: "2, 4", got: "8" }),
    );
  });
});
