import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { approximateTokens, PromptText } from "./prompt-text.ts";

const prompts = new PromptText("run1", 42);

describe("prompt", () => {
  it("has exactly as many words as tokens were asked for", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30_000 }), fc.nat(100_000), (promptTokens, index) => {
        expect(approximateTokens(prompts.prompt({ promptTokens }, index))).toBe(promptTokens);
      }),
      { numRuns: 40 },
    );
  });

  it("needs no escape in JSON", () => {
    const text = prompts.prompt({ promptTokens: 20_000 }, 7);
    expect(text).toMatch(/^[A-Za-z0-9 -]+$/);
    expect(text).not.toContain("  ");
  });

  it("begins with a word of its own in each request and each run, so that no cache knows it", () => {
    const first = new Set<string>();
    for (const nonce of ["run1", "run2"]) {
      const one = new PromptText(nonce, 42);
      for (let index = 0; index < 500; index += 1) {
        first.add(one.prompt({ promptTokens: 20 }, index).split(" ")[0]!);
      }
    }
    expect(first.size).toBe(1_000);
  });

  it("repeats with nonce and seed", () => {
    const again = new PromptText("run1", 42);
    expect(again.prompt({ promptTokens: 100 }, 3)).toBe(prompts.prompt({ promptTokens: 100 }, 3));
  });
});

describe("blocks that a trace says are shared", () => {
  const words = (text: string): string[] => text.split(" ");

  it("are equal where the ids are, and nowhere else", () => {
    const one = words(prompts.prompt({ promptTokens: 1_300, blockHashes: [0, 7, 9] }, 1));
    const two = words(prompts.prompt({ promptTokens: 1_300, blockHashes: [0, 7, 11] }, 2));
    expect(one).toHaveLength(1_300);
    expect(one.slice(0, 1_024)).toEqual(two.slice(0, 1_024));
    expect(one[1_024]).not.toBe(two[1_024]);
  });

  it("that are missing at the end become the request's own", () => {
    const one = words(prompts.prompt({ promptTokens: 600, blockHashes: [0] }, 1));
    const two = words(prompts.prompt({ promptTokens: 600, blockHashes: [0] }, 2));
    expect([one.length, two.length]).toEqual([600, 600]);
    expect(one.slice(0, 512)).toEqual(two.slice(0, 512));
    expect(one[512]).not.toBe(two[512]);
  });

  it("are not those of another run", () => {
    const other = new PromptText("run2", 42);
    const request = { promptTokens: 512, blockHashes: [3] };
    expect(words(other.prompt(request, 1))[0]).not.toBe(words(prompts.prompt(request, 1))[0]);
  });
});
