import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { approximateTokens, PromptDigest } from "./prompt-digest.ts";

const spaced = fc
  .array(fc.constantFrom("a", "bc", "é", "猫", "🐈", " ", "\n", "\t", "\u00a0", "\u2003", "\ufeff"))
  .map((parts) => parts.join(""));
const words = fc.array(fc.stringMatching(/^[a-e]{1,3}$/), { maxLength: 40 });

describe("PromptDigest", () => {
  it("counts what white space separates", () => {
    fc.assert(
      fc.property(spaced, (text) => {
        expect(approximateTokens(text)).toBe(
          text.split(/\s+/).filter((word) => word !== "").length,
        );
      }),
    );
    expect(approximateTokens(" one  two\nthree ")).toBe(3);
  });

  it("names a whole piece by all words up to its end, whatever follows", () => {
    fc.assert(
      fc.property(words, words, fc.integer({ min: 1, max: 6 }), (shared, rest, piece) => {
        const short = new PromptDigest(piece).add(shared.join(" "));
        const long = new PromptDigest(piece).add([...shared, ...rest].join(" "));
        expect(short.pieceNames).toHaveLength(Math.floor(shared.length / piece));
        expect(long.pieceNames.slice(0, short.pieceNames.length)).toEqual(short.pieceNames);
      }),
    );
  });

  it("gives other words other names and another hash", () => {
    const seen = new Set<number>();
    const hashes = new Set<number>();
    for (let i = 0; i < 20_000; i += 1) {
      const digest = new PromptDigest(2).add(`word ${i}`);
      for (const name of digest.pieceNames) {
        expect(Number.isSafeInteger(name) && name > 0).toBe(true);
        seen.add(name);
      }
      hashes.add(digest.hash);
    }
    expect(seen.size).toBe(20_000);
    expect(hashes.size).toBeGreaterThan(19_990);
  });

  it("tells parts apart, and knows token ids as tokens", () => {
    const split = new PromptDigest().add("ab").add("c");
    expect(split.hash).not.toBe(new PromptDigest().add("a").add("bc").hash);
    expect(split.words).toBe(2);
    const ids = new PromptDigest(2);
    for (const id of [5, 6, 7]) ids.addTokenId(id);
    expect([ids.tokens, ids.pieceNames.length]).toEqual([3, 1]);
    expect(new PromptDigest().add("").tokens).toBe(1);
  });
});
