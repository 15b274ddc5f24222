import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { Deadline } from "./deadline.ts";

const MS = 1_000;

describe("a deadline", () => {
  it("aborts at its instant, with a reason that says so", async () => {
    const clock = new SimClock();
    const deadline = Deadline.within(clock, "2s");
    expect(deadline.leftUs).toBe(2_000 * MS);
    await clock.run(1_999 * MS);
    expect(deadline.signal.aborted).toBe(false);
    await clock.run();
    expect(deadline.signal.reason).toMatchObject({ code: "MANX_DEADLINE" });
    expect(deadline).toMatchObject({ isOver: true, isPast: true, leftUs: 0 });
  });

  it("is split by limit, by reserve and by share, and never beyond what there is", () => {
    const clock = new SimClock(500);
    const turn = Deadline.within(clock, "10s");
    const at = (child: Deadline): number => (child.atUs - 500) / MS;
    expect(at(turn.child({ within: "2s" }))).toBe(2_000);
    expect(at(turn.child({ within: "20s" }))).toBe(10_000);
    expect(at(turn.child({ reserve: "500ms" }))).toBe(9_500);
    expect(at(turn.child({ share: 0.25 }))).toBe(2_500);
    expect(at(turn.child({ within: "3s", reserve: "8s" }))).toBe(2_000);
    expect(turn.child({ reserve: "11s" }).isOver).toBe(true);
    for (const share of [0, -1, 1.1, Number.NaN]) {
      expect(() => turn.child({ share })).toThrow(
        expect.objectContaining({ code: "MANX_TOOL_INVALID" }),
      );
    }
    expect(() => turn.child({ within: "2" })).toThrow(
      expect.objectContaining({ code: "MANX_DURATION" }),
    );
  });

  it("takes all below it along, in the same instant, and leaves its parent alone", async () => {
    const clock = new SimClock();
    const turn = Deadline.within(clock, "10s");
    const step = turn.child({ within: "1s" });
    const call = step.child();
    const other = turn.child();
    const ends: [string, number][] = [];
    for (const [name, one] of [
      ["call", call],
      ["step", step],
      ["other", other],
    ] as const) {
      one.signal.addEventListener("abort", () => ends.push([name, clock.nowUs() / MS]));
    }
    await clock.run(2_000 * MS);
    expect(ends).toEqual([
      ["step", 1_000],
      ["call", 1_000],
    ]);
    expect(turn.isOver).toBe(false);
    turn.cancel();
    expect(ends.at(-1)).toEqual(["other", 2_000]);
    expect(other.signal.reason).toBe(turn.signal.reason);
  });

  it("that has ended holds no timer, and a child of it has ended too", async () => {
    const clock = new SimClock();
    const turn = Deadline.within(clock, "10s");
    const running = turn.child({ within: "5s" });
    turn.close();
    expect(turn.signal.aborted).toBe(false);
    expect(running.signal.aborted).toBe(true);
    expect(turn.child().isOver).toBe(true);
    await clock.run();
    expect(turn.signal.aborted).toBe(false);
    expect(clock.nowUs()).toBe(0);
  });

  it("ends with the signal of whoever wants the turn, before or while it runs", () => {
    const clock = new SimClock();
    const caller = new AbortController();
    const turn = Deadline.within(clock, Number.POSITIVE_INFINITY, caller.signal);
    expect(turn.leftUs).toBe(Number.POSITIVE_INFINITY);
    caller.abort(new Error("left"));
    expect(turn.signal.reason).toEqual(new Error("left"));
    expect(turn.isPast).toBe(false);
    expect(Deadline.within(clock, "1s", caller.signal).isOver).toBe(true);
  });

  it("travels as a header of whole milliseconds, rounded down, as the gateway reads it", async () => {
    const clock = new SimClock();
    const turn = Deadline.within(clock, "2s");
    await clock.run(400);
    expect(turn.headers()).toEqual({ "x-manx-deadline-ms": "1999" });
    expect(Deadline.within(clock, Number.POSITIVE_INFINITY).headers()).toEqual({});
    expect(Deadline.within(clock, "1000h").headers()).toEqual({
      "x-manx-deadline-ms": "86400000",
    });
  });

  it("begins no try that cannot finish", async () => {
    const clock = new SimClock();
    const turn = Deadline.within(clock, "2s");
    await clock.run(1_500 * MS);
    expect(turn.allows(500 * MS)).toBe(true);
    expect(turn.allows(501 * MS)).toBe(false);
    expect(() => turn.headers("600ms")).toThrow(
      expect.objectContaining({ code: "MANX_DEADLINE", got: "500 ms left" }),
    );
    await clock.run(1_999.5 * MS);
    expect(() => turn.headers()).toThrow(expect.objectContaining({ code: "MANX_DEADLINE" }));
  });

  it("of any tree is never outlived by what is below it", async () => {
    const splits = fc.array(
      fc.record({
        parent: fc.nat(),
        at: fc.nat(3_000),
        within: fc.option(fc.nat(3_000)),
        reserve: fc.option(fc.nat(1_000)),
        cancelAt: fc.option(fc.nat(4_000), { freq: 2 }),
      }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(splits, async (rows) => {
        const clock = new SimClock();
        const all = [Deadline.within(clock, 2_000 * MS)];
        const parents: Deadline[] = [];
        for (const { parent, at, within, reserve, cancelAt } of rows) {
          clock.at(at * MS, () => {
            const above = all[parent % all.length]!;
            const child = above.child({
              ...(within !== null && { within: within * MS }),
              ...(reserve !== null && { reserve: reserve * MS }),
            });
            expect(child.atUs).toBeLessThanOrEqual(above.atUs);
            all.push(child);
            parents.push(above);
            if (cancelAt !== null) clock.at(cancelAt * MS, () => child.cancel());
          });
          clock.at(at * MS + 500, () => {
            for (const [i, child] of all.slice(1).entries()) {
              if (parents[i]!.isOver) expect(child.signal.aborted).toBe(true);
            }
          });
        }
        await clock.run();
        expect(all.every((one) => one.isOver)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
