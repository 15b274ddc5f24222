/** Prompt layout, the cheapest lever: a time at the top and tools in no order, and the same agent compiled. */
import { describe, expect, it } from "vitest";
import { promptWorld } from "../../test/support/prompt-world.ts";

describe("a support agent of 8,000 tokens", () => {
  const options = { conversations: 30, turns: 6, seed: 7 };
  const { "as written": before, compiled: after } = promptWorld(options);

  it("as written hits next to nothing, and the linter says why", () => {
    expect(before.n).toBe(180);
    expect(before.hitShare).toBeLessThan(0.05);
    expect(before.providerShare).toBe(0);
    expect(before.breaks).toBe(179);
    expect(before.topCause).toBe("tools_reordered");
  });

  it("compiled hits 80 % and more, at the twin and at a provider's cache, and has no break left", () => {
    expect(after.n).toBe(180);
    expect(after.hitShare).toBeGreaterThan(0.8);
    expect(after.providerShare).toBeGreaterThan(0.8);
    expect([after.breaks, after.topCause]).toEqual([0, undefined]);
  });

  it("answers sooner, in the middle and in the tail", () => {
    expect(after.ttftMsP50).toBeLessThan(before.ttftMsP50 / 4);
    expect(after.ttftMsP99).toBeLessThan(before.ttftMsP99 / 2);
  });

  it("does so every time", () => {
    expect(promptWorld(options).compiled).toEqual(after);
  });
});
