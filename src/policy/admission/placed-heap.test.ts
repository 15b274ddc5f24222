import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Placed, PlacedHeap } from "./placed-heap.ts";

interface Item extends Placed {
  key: number;
}

describe("a heap whose items know their place", () => {
  it("gives the smallest first, whatever was moved or taken out", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("push", "remove", "update"), fc.nat(50)));
    fc.assert(
      fc.property(steps, (all) => {
        const heap = new PlacedHeap<Item>((a, b) => a.key < b.key);
        const items: Item[] = [];
        for (const [step, number] of all) {
          const chosen = items[number % Math.max(1, items.length)];
          if (step === "push") {
            const item = { key: number, place: -1 };
            items.push(item);
            heap.push(item);
          } else if (chosen === undefined) continue;
          else if (step === "remove") {
            expect(heap.remove(chosen)).toBe(true);
            expect(heap.remove(chosen)).toBe(false);
            items.splice(items.indexOf(chosen), 1);
          } else {
            chosen.key = number;
            heap.update(chosen);
          }
          expect(heap.size).toBe(items.length);
          const least = items.length === 0 ? undefined : Math.min(...items.map((one) => one.key));
          expect(heap.peek()?.key).toBe(least);
        }
        const keys: number[] = [];
        for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
          keys.push(top.key);
          heap.remove(top);
        }
        expect(keys).toEqual(items.map((one) => one.key).sort((a, b) => a - b));
      }),
    );
  });
});
