/** The turn of whatever runs now: through awaits and timers, nested, and beside others. */
import { describe, expect, it } from "vitest";
import { Turn } from "../../runtime/index.ts";
import { currentTurn, withTurn } from "./index.ts";

describe("currentTurn", () => {
  it("is found across awaits and timers, by those within alone", async () => {
    const [one, other] = [new Turn({ tools: [] }), new Turn({ tools: [] })];
    const later = async (): Promise<Turn | undefined> => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return currentTurn();
    };
    const found = await Promise.all([withTurn(one, later), withTurn(other, later), later()]);
    expect(found).toEqual([one, other, undefined]);
    expect(found[0]).toBe(one);
  });

  it("nests", () => {
    const [one, other] = [new Turn({ tools: [] }), new Turn({ tools: [] })];
    withTurn(one, () => {
      expect(withTurn(other, currentTurn)).toBe(other);
      expect(currentTurn()).toBe(one);
    });
    expect(currentTurn()).toBeUndefined();
  });
});
