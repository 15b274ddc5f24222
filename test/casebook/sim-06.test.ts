/** SIM-06 — Whole prompt cached; block edges. */
import { describe, expect, it } from "vitest";
import { ContinuousBatcher, type KvMemory, PrefixKv, RadixKv } from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

/** New tokens that the second of two equal prompts computes, after the first has ended. */
function secondPrompt(promptTokens: number, blockTokens: number, blocks: number): number {
  return freshTokens(new PrefixKv(blocks * blockTokens, blockTokens), promptTokens, blockTokens);
}

function freshTokens(kv: KvMemory, promptTokens: number, pieceTokens: number): number {
  const options = { sequencesMax: 4, tokensMax: 100_000, prompts: "chunked" } as const;
  const log = new StepLog(new ContinuousBatcher(kv, options));
  const pieces = Math.ceil(promptTokens / pieceTokens);
  const prefixIds = Array.from({ length: pieces }, (_, i) => i + 1);
  for (const name of ["first", "second"]) {
    log.add(name, { promptTokens, outputTokens: 1, prefixIds });
    log.runToEnd();
  }
  return log.rows.at(-1)!.work.second!;
}

describe("SIM-06: the second of two equal prompts", () => {
  it.each([
    [1_000, 16, 8],
    [1_024, 16, 16],
    [32, 16, 16],
    [33, 16, 1],
    [16, 16, 16],
    [15, 16, 15],
    [465, 256, 209],
    [7_820, 16, 12],
  ])("of %i tokens in blocks of %i computes %i, never none", (prompt, block, fresh) => {
    expect(secondPrompt(prompt, block, 10_000)).toBe(fresh);
  });

  it.each([1_024, 1_000, 32, 33, 16, 15])(
    "of %i tokens computes one where the memory tells tokens apart",
    (prompt) => {
      for (const pieceTokens of [1, 16]) {
        expect(freshTokens(new RadixKv(200_000, pieceTokens), prompt, pieceTokens)).toBe(1);
        // The exact pool is enough: the second run needs no token beyond the first's.
        expect(freshTokens(new RadixKv(prompt, pieceTokens), prompt, pieceTokens)).toBe(1);
      }
    },
  );

  it("needs no block beyond its last one", () => {
    expect(secondPrompt(32, 16, 2)).toBe(16);
    expect(secondPrompt(33, 16, 3)).toBe(1);
  });
});
