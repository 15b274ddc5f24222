import fc from "fast-check";
import { expect, it } from "vitest";
import { type Alarm, AlarmHeap, NOWHERE } from "./alarm-heap.ts";

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant("push" as const), n: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("remove" as const), n: fc.nat(200) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("next" as const), n: fc.constant(0) }) },
);

it("always has the soonest first, whatever was taken out", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const heap = new AlarmHeap();
      const all: Alarm[] = [];
      let inside: Alarm[] = [];
      for (const { does, n } of steps) {
        if (does === "push") {
          const alarm = { atUs: n, sequence: all.length, run: () => undefined, place: NOWHERE };
          all.push(alarm);
          inside.push(alarm);
          heap.push(alarm);
        } else {
          // One that is not in it any more is asked for as well.
          const gone = does === "next" ? heap.peek() : all[n % Math.max(1, all.length)];
          if (gone === undefined) continue;
          heap.remove(gone);
          inside = inside.filter((alarm) => alarm !== gone);
        }
        inside.sort((a, b) => a.atUs - b.atUs || a.sequence - b.sequence);
        expect(heap.peek()).toBe(inside[0]);
        expect(heap.size).toBe(inside.length);
      }
      while (inside.length > 0) {
        const next = heap.peek()!;
        expect(next).toBe(inside.shift());
        heap.remove(next);
        expect(next.place).toBe(NOWHERE);
      }
    }),
    { numRuns: 300 },
  );
});
