import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IdMap } from "./id-map.ts";

/** Ids that share their lower bits crowd the same places. */
const id = fc.oneof(
  fc.nat(40),
  fc.nat(40).map((n) => n * 64),
  fc.nat(40).map((n) => n * 2 ** 32 + 5),
);
const step = fc.record({ does: fc.constantFrom("set", "delete"), id });

describe("a table of what is open", () => {
  it("says what a Map says, whatever comes and goes", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const table = new IdMap<number>();
        const map = new Map<number, number>();
        for (const [at, { does, id: key }] of steps.entries()) {
          if (does === "set") {
            table.set(key, at);
            map.set(key, at);
          } else {
            expect(table.delete(key)).toBe(map.delete(key));
          }
          expect(table.size).toBe(map.size);
          expect(table.get(key)).toBe(map.get(key));
          expect(table.has(key)).toBe(map.has(key));
        }
        for (const [key, value] of map) expect(table.get(key)).toBe(value);
        const ascending = (a: number, b: number): number => a - b;
        expect([...table.values()].sort(ascending)).toEqual([...map.values()].sort(ascending));
      }),
      { numRuns: 300 },
    );
  });

  it("holds a window of ids that moves on and on, with one that stays", () => {
    const table = new IdMap<number>();
    table.set(0, -1);
    for (let i = 1; i < 20_000; i += 1) {
      table.set(i, i);
      if (i > 32) expect(table.delete(i - 32)).toBe(true);
    }
    expect(table.size).toBe(33);
    expect(table.get(0)).toBe(-1);
    expect(table.get(19_990)).toBe(19_990);
    expect(table.get(19_900)).toBeUndefined();
  });

  it("refuses an id that is none, and a value that says nothing", () => {
    const table = new IdMap<number | undefined>();
    expect(() => table.set(-1, 1)).toThrow();
    expect(() => table.set(0.5, 1)).toThrow();
    expect(() => table.set(1, undefined)).toThrow();
    expect(table.size).toBe(0);
  });
});
