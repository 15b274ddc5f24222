import { describe, expect, it } from "vitest";
import { Batch } from "./batch.ts";
import { type LayerProfileText, ProfileCost } from "./profile-cost.ts";
import { EngineRequest } from "./request.ts";

const OPERATORS = [
  "layernorm",
  "qkv_proj",
  "rotary_emb",
  "o_proj",
  "gate_up_proj",
  "act_fn",
  "down_proj",
  "embedding",
  "final_layernorm",
];

function profile(skew?: string): LayerProfileText {
  // Every dense operator takes 1 µs and 0.1 µs a token, head and sampler 10 µs each.
  const dense = OPERATORS.flatMap((name) => [`${name},0,1`, `${name},10,2`]);
  // Attention: 1 µs a chunk token, 0.01 a token of its context, 2 a decode, 0.5 a token of KV length.
  const attention: string[] = [];
  for (const pc of [0, 100])
    for (const kp of pc === 0 ? [0] : [0, 1_000])
      for (const nd of [0, 1, 8])
        for (const kd of nd === 0 ? [0] : [0, 100]) {
          if (pc + nd > 0) attention.push([pc, kp, nd, kd, pc + kp / 100 + 2 * nd + kd / 2].join());
        }
  return {
    dense: { name: "dense", text: ["layer,tokens,time_us", ...dense].join("\n") },
    perSequence: {
      name: "perSequence",
      text: "layer,sequences,time_us\nlm_head,1,10\nsampler,1,10",
    },
    attention: {
      name: "attention",
      text: ["prefill_chunk,kv_prefill,n_decode,kv_decode,time_us", ...attention].join("\n"),
    },
    ...(skew !== undefined && { skew: { name: "skew", text: skew } }),
  };
}

/** [computed, new tokens] of each member. */
function batchOf(...members: readonly (readonly [number, number])[]): Batch {
  const batch = new Batch();
  for (const [computed, tokens] of members) {
    const shape = { promptTokens: computed + tokens, outputTokens: 9 };
    const request = new EngineRequest(shape, 0, undefined) as EngineRequest;
    request.computed = computed;
    if (tokens === 1) batch.addDecode(request);
    else batch.addPrefill(request, tokens);
  }
  return batch;
}

describe("a price from a layer profile", () => {
  const cost = new ProfileCost(profile(), { layers: 2, chunks: "summed" });

  it("adds the layers' operators, those of the step and those of its sequences", () => {
    // 30 tokens: each operator 4 µs; a layer has 8 of them; attention 1 · 30; two operators outside the layers.
    expect(cost.stepUs(batchOf([0, 30]))).toBe(2 * (8 * 4 + 30) + 2 * 4 + 20);
    const slower = new ProfileCost(profile(), { layers: 2, chunks: "summed", stepOverheadUs: 500 });
    expect(slower.stepUs(batchOf([0, 30])) - cost.stepUs(batchOf([0, 30]))).toBe(500);
  });

  it("prices decodes by number and mean length, and one new token as a decode", () => {
    expect(cost.attentionUs(batchOf([40, 1], [60, 1], [80, 1]))).toBeCloseTo(6 + 30, 9);
  });

  it("prices chunks of one step together or each by itself", () => {
    const batch = batchOf([0, 20], [500, 30], [40, 1]);
    // The grid has no context without a chunk, so half a chunk counts half of the context of 250.
    expect(cost.attentionUs(batch)).toBeCloseTo(50 + 1.25 + 2 + 20, 9);
    const each = new ProfileCost(profile(), { layers: 2, chunks: "each" });
    expect(each.attentionUs(batch)).toBeCloseTo(20 + 0 + 30 + 1.5 + 2 + 20, 9);
  });

  it("adds the measured share of what unequal lengths cost", () => {
    const header = "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha";
    const table = `${header}\n0,n<=2,sr<=70%,kvB<=1k,kp=0,0.5\n100,n<=2,sr<=70%,kvB<=1k,kp=0,-0.1`;
    const skewed = new ProfileCost(profile(table), {
      layers: 2,
      chunks: "summed",
      skewDefault: 0.25,
    });
    const even = 4 + 25;
    const atLongest = 4 + 40;
    expect(skewed.attentionUs(batchOf([20, 1], [80, 1]))).toBeCloseTo(
      even + 0.5 * (atLongest - even),
      9,
    );
    expect(skewed.attentionUs(batchOf([50, 1], [50, 1]))).toBeCloseTo(even, 9);
    // Three decodes: no such bin, so the default.
    const three = skewed.attentionUs(batchOf([20, 1], [50, 1], [80, 1]));
    expect(three).toBeCloseTo(6 + 25 + 0.25 * 15, 9);
  });

  it("refuses a profile without one of the operators, naming it and the table", () => {
    const whole = profile();
    const text = whole.dense.text.replaceAll("o_proj", "other");
    expect(
      () =>
        new ProfileCost(
          { ...whole, dense: { name: "dense.csv", text } },
          { layers: 2, chunks: "each" },
        ),
    ).toThrow(
      expect.objectContaining({
        code: "MANX_TABLE_FORMAT",
        where: "dense.csv",
        what: 'the profile lacks the operator "o_proj"',
      }),
    );
  });
});
