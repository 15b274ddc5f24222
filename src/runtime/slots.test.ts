import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Slots } from "./slots.ts";

describe("slots", () => {
  it("never go over a limit, serve in order per resource, and lose nobody", () => {
    const moves = fc.array(
      fc.oneof(
        fc.record({ take: fc.constantFrom("a", "b", "c") }),
        fc.record({ give: fc.nat() }),
        fc.record({ leave: fc.nat() }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(moves, (all) => {
        const slots = new Slots({ concurrency: 3, perResource: { a: 1, b: 2 } });
        const held: { id: number; resource: string }[] = [];
        const waiting: { id: number; resource: string; leave: () => void }[] = [];
        let ids = 0;
        const inUse = (resource: string): number =>
          held.filter((one) => one.resource === resource).length;
        for (const move of all) {
          if ("take" in move) {
            const id = ids;
            ids += 1;
            let started = false;
            const resource = move.take;
            const leave = slots.take(resource, () => {
              started = true;
              const first = waiting.findIndex((one) => one.resource === resource);
              if (first >= 0) expect(waiting[first]!.id).toBe(id);
              const at = waiting.findIndex((one) => one.id === id);
              if (at >= 0) waiting.splice(at, 1);
              held.push({ id, resource });
            });
            if (!started) waiting.push({ id, resource, leave });
          } else if ("give" in move && held.length > 0) {
            const [one] = held.splice(move.give % held.length, 1);
            slots.give(one!.resource);
          } else if ("leave" in move && waiting.length > 0) {
            const [one] = waiting.splice(move.leave % waiting.length, 1);
            one!.leave();
          }
          expect(held.length).toBeLessThanOrEqual(3);
          expect(inUse("a")).toBeLessThanOrEqual(1);
          expect(inUse("b")).toBeLessThanOrEqual(2);
          expect([slots.used, slots.waiting]).toEqual([held.length, waiting.length]);
          // Whoever waits could not run now.
          for (const { resource } of waiting) {
            const limit = { a: 1, b: 2, c: 3 }[resource]!;
            expect(held.length === 3 || inUse(resource) >= limit).toBe(true);
          }
        }
      }),
    );
  });

  it.each([0, -1, 1.5, Number.NaN])("of %s are refused", (limit) => {
    const refused = expect.objectContaining({ code: "MANX_TOOL_INVALID" });
    expect(() => new Slots({ concurrency: limit })).toThrow(refused);
    expect(() => new Slots({ perResource: { db: limit } })).toThrow(refused);
  });
});
