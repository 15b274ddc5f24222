/** Laws of a playout over random streams, and the shapes that it is for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { cutPlace, PLAYOUT, Playout, type PlayoutPolicy } from "./index.ts";

const MS = 1_000;

const TEXT = {
  sizeOf: (text: string) => text.length,
  split: (text: string, size: number) => {
    const at = cutPlace(text, Math.floor(size));
    return at >= text.length ? undefined : ([text.slice(0, at), text.slice(at)] as const);
  },
};

type Arrival = readonly [atMs: number, text: string];

interface Shown {
  readonly text: string;
  readonly atUs: number;
  readonly receivedUs: number;
}

/** Plays arrivals through the machine on a simulated clock. */
function play(arrivals: readonly Arrival[], policy: Partial<PlayoutPolicy> = {}) {
  const clock = new SimClock();
  const machine = new Playout({ ...PLAYOUT, ...policy }, TEXT);
  const shown: Shown[] = [];
  let takes = 0;
  const take = (): void => {
    takes += 1;
    for (const { item, receivedUs } of machine.take(clock.nowUs())) {
      shown.push({ text: item, atUs: clock.nowUs(), receivedUs });
    }
    const { dueUs } = machine;
    if (Number.isFinite(dueUs)) clock.at(dueUs, take);
  };
  for (const [atMs, text] of arrivals) {
    clock.at(atMs * MS, () => {
      machine.push(text, clock.nowUs());
      take();
    });
  }
  clock.runSync();
  return { shown, machine, takes };
}

const pieces = fc.oneof(
  fc.string({ maxLength: 30, unit: "grapheme" }),
  fc.string({ maxLength: 400, unit: "grapheme-ascii" }),
);
const streams = fc.array(fc.tuple(fc.nat(900), pieces), { maxLength: 60 }).map((gaps) => {
  let atMs = 0;
  return gaps.map(([gapMs, text]): Arrival => {
    atMs += gapMs % 3 === 0 ? 0 : gapMs;
    return [atMs, text];
  });
});
const policies = fc.record({
  delayMaxUs: fc.integer({ min: 0, max: 2_000 * MS }),
  firstDelayUs: fc.integer({ min: 0, max: 500 * MS }),
  tickUs: fc.integer({ min: 0, max: 100 * MS }),
});

describe("a playout", () => {
  it("shows all of it, in order, not before it came, nor later than the bound", () => {
    fc.assert(
      fc.property(streams, policies, (arrivals, policy) => {
        const { shown, machine } = play(arrivals, policy);
        expect(shown.map(({ text }) => text).join("")).toBe(arrivals.map(([, t]) => t).join(""));
        expect([machine.isEmpty, machine.heldSize]).toEqual([true, 0]);
        let received = 0;
        let out = 0;
        let next = 0;
        for (const { text, atUs, receivedUs } of shown) {
          while (next < arrivals.length && arrivals[next]![0] * MS <= atUs) {
            received += arrivals[next]![1].length;
            next += 1;
          }
          out += text.length;
          expect(out).toBeLessThanOrEqual(received);
          expect(atUs - receivedUs).toBeGreaterThanOrEqual(0);
          expect(atUs - receivedUs).toBeLessThanOrEqual(policy.delayMaxUs);
        }
      }),
      { numRuns: 400 },
    );
  });

  it("shows the first at once, or after the delay that was asked for", () => {
    fc.assert(
      fc.property(streams, policies, (arrivals, policy) => {
        const first = arrivals.find(([, text]) => text !== "");
        const shown = play(arrivals, policy).shown.find(({ text }) => text !== "");
        const delayUs = Math.min(policy.firstDelayUs, policy.delayMaxUs);
        if (first !== undefined) expect(shown!.atUs).toBe(first[0] * MS + delayUs);
      }),
    );
  });

  it("never cuts what a person sees as one character", () => {
    const marked = fc.array(
      fc.constantFrom("a", "é", "e\u0301", "👍🏽", "👩‍👩‍👧", "🇩🇪", "한", "नि", "\r\n", " "),
      { minLength: 1, maxLength: 60 },
    );
    const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
    fc.assert(
      fc.property(marked, fc.integer({ min: 1, max: 200 }), (parts, most) => {
        const text = parts.join("");
        const places = [...segmenter.segment(text)].map(({ index }) => index);
        const at = cutPlace(text, most);
        expect([...places, text.length]).toContain(at);
        expect(at).toBeGreaterThan(0);
        // As much as fits, or one character.
        const fitting = places.filter((place) => place > 0 && place <= most).at(-1);
        if (most < text.length && fitting !== undefined) expect(at).toBe(fitting);
      }),
      { numRuns: 500 },
    );
  });

  it("is the same each time", () => {
    const arrivals = Array.from({ length: 40 }, (_, i): Arrival => [(i * i * 37) % 5_000, "abc "]);
    arrivals.sort((a, b) => a[0] - b[0]);
    expect(play(arrivals)).toEqual(play(arrivals));
  });
});

/** Gaps between what is shown, in ms, from `fromMs` on. */
function gapsMs(shown: readonly Shown[], fromMs: number): number[] {
  const times = [...new Set(shown.map(({ atUs }) => atUs / MS))].filter((ms) => ms >= fromMs);
  return times.slice(1).map((ms, i) => ms - times[i]!);
}

describe("bursts of eight tokens each 400 ms", () => {
  const arrivals = Array.from(
    { length: 20 },
    (_, i): Arrival => [i * 400, "words of five letters each ...... and on "],
  );

  it("become an even flow where the bound allows it", () => {
    const { shown } = play(arrivals, { delayMaxUs: 450 * MS });
    const gaps = gapsMs(shown, 800);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(50);
    expect(gaps.length).toBeGreaterThan(19 * 15);
  });

  it("and a shorter gap where it does not", () => {
    const { shown } = play(arrivals, { delayMaxUs: 300 * MS });
    // 400 ms without a playout; what came at 0 is out at 300.
    expect(Math.max(...gapsMs(shown, 800))).toBeLessThanOrEqual(120);
  });
});

describe("other streams", () => {
  it("an even one is not touched", () => {
    const { shown } = play(Array.from({ length: 50 }, (_, i): Arrival => [i * 20, "word "]));
    for (const { atUs, receivedUs } of shown)
      expect(atUs - receivedUs).toBeLessThanOrEqual(16 * MS);
  });

  it("a stall stays a stall, and does not make what follows slower than the bound", () => {
    const arrivals = Array.from(
      { length: 60 },
      (_, i): Arrival => [i * 40 + (i > 30 ? 2_500 : 0), "word "],
    );
    const { shown } = play(arrivals);
    const worst = Math.max(...gapsMs(shown, 0));
    expect(worst).toBeGreaterThanOrEqual(2_500 - 300);
    const after = shown.filter(({ receivedUs }) => receivedUs > 4_200 * MS);
    for (const { atUs, receivedUs } of after) expect(atUs - receivedUs).toBeLessThan(100 * MS);
  });

  it("a megabyte at once is out within the bound, in few releases", () => {
    const { shown, takes } = play([
      [0, "x"],
      [100, "y"],
      [200, "z".repeat(1024 * 1024)],
    ]);
    expect(shown.at(-1)!.atUs).toBeLessThanOrEqual(500 * MS);
    expect(takes).toBeLessThan(100);
  });

  it("ten thousand pieces at once cost no more than their number", () => {
    const arrivals: Arrival[] = [
      [0, "x"],
      [100, "y"],
    ];
    for (let i = 0; i < 10_000; i += 1) arrivals.push([200, "word "]);
    const { shown } = play(arrivals);
    expect(shown.map(({ text }) => text).join("")).toHaveLength(50_002);
  });
});
