import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AttemptBudget } from "./attempt-budget.ts";

const MINUTE_US = 60_000_000;

describe("a budget of attempts", () => {
  it("never allows more than reserve plus share, in calls and in tokens", () => {
    const calls = fc.array(
      fc.record({ tokens: fc.integer({ min: 1, max: 200_000 }), wants: fc.nat({ max: 3 }) }),
      { minLength: 1, maxLength: 300 },
    );
    fc.assert(
      fc.property(
        calls,
        fc.constantFrom(0, 0.05, 0.1, 1),
        fc.constantFrom(0, 1),
        (all, share, fill) => {
          const callsMax = 20;
          const budget = new AttemptBudget({ share, callsMax, fill });
          let offeredTokens = 0;
          let largest = 0;
          for (const { tokens, wants } of all) {
            offeredTokens += tokens;
            largest = Math.max(largest, tokens);
            budget.earn(tokens, 0);
            for (let i = 0; i < wants; i += 1) budget.trySpend(tokens);
          }
          expect(budget.spent).toBeLessThanOrEqual(callsMax * fill + share * all.length + 1e-6);
          const reserveTokens = callsMax * fill * all[0]!.tokens;
          expect(budget.spentTokens).toBeLessThanOrEqual(
            reserveTokens + share * offeredTokens + largest + 1e-6,
          );
        },
      ),
    );
  });

  it("pays for a prompt of any size out of a purse that is half full, and then waits for it", () => {
    const budget = new AttemptBudget({ share: 0.1, callsMax: 20, fill: 1 });
    for (let i = 0; i < 100; i += 1) budget.earn(1_000, 0);
    budget.earn(100_000, 0);
    expect(budget.trySpend(100_000)).toBe(true);
    expect(budget.trySpend(1_000)).toBe(false);
    for (let i = 0; i < 600; i += 1) budget.earn(1_000, 0);
    expect(budget.trySpend(1_000)).toBe(false);
    for (let i = 0; i < 400; i += 1) budget.earn(1_000, 0);
    expect(budget.trySpend(1_000)).toBe(true);
  });

  it("earns at least its floor where calls are few, and no more than its share where they are many", () => {
    const allowed = (gapUs: number): number => {
      const budget = new AttemptBudget({ share: 0.1, callsMax: 20, fill: 0, floorPerMinute: 6 });
      for (let i = 0; i < 1_000; i += 1) {
        budget.earn(500, i * gapUs);
        budget.trySpend(500);
      }
      return budget.spent;
    };
    expect(allowed(MINUTE_US)).toBe(999);
    expect(allowed(MINUTE_US / 60)).toBe(100);
    expect(allowed(MINUTE_US / 6_000)).toBe(100);
  });
});
