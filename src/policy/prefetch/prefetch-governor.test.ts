import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import { breakEvenRate, prefetchedTurnUs, startValueUs } from "./expected-saving.ts";
import { HitRate, wilson } from "./hit-rate.ts";
import type { PrefetchBudget } from "./prefetch-budget.ts";
import { type PrefetchCandidate, PrefetchGovernor } from "./prefetch-governor.ts";

const MS = 1_000;

function candidate(more: Partial<PrefetchCandidate> = {}): PrefetchCandidate {
  const prior = { tries: 4, hits: 3 };
  return { key: "k", tool: "t", args: {}, prior, resource: "t", cost: 1, pressure: 0, ...more };
}

/** A governor that knows the times and has a full purse. */
function warm(budget: PrefetchBudget = {}): PrefetchGovernor {
  const governor = new PrefetchGovernor(budget);
  for (let i = 0; i < 200; i += 1) {
    governor.thought(500 * MS);
    governor.took("t", "t", 300 * MS);
    governor.purse.earn(1);
  }
  return governor;
}

const IDLE = { running: 0, turn: 0 };

function why(governor: PrefetchGovernor, one: PrefetchCandidate, out = IDLE): string {
  const [verdict] = governor.decide([one], out);
  if (verdict!.start) governor.purse.close(one.cost, false);
  return verdict!.start ? "start" : verdict!.why;
}

describe("the value of a start", () => {
  it("is the difference that the formula of 2512.15834 makes, when a miss costs nothing", () => {
    for (const [thinkUs, toolUs] of [
      [500, 300],
      [300, 500],
      [400, 400],
    ] as const) {
      for (const hitRate of [0, 0.3, 1]) {
        const times = { calls: 1, thinkUs, toolUs };
        const saved =
          prefetchedTurnUs({ ...times, hitRate: 0 }) - prefetchedTurnUs({ ...times, hitRate });
        expect(startValueUs(hitRate, Math.min(thinkUs, toolUs), 0)).toBeCloseTo(saved, 9);
      }
    }
  });

  it("is zero at the break-even rate", () => {
    expect(breakEvenRate(300, 100)).toBe(0.25);
    expect(startValueUs(0.25, 300, 100)).toBe(0);
    expect(breakEvenRate(0, 100)).toBe(1);
  });
});

describe("the governor", () => {
  it("starts what pays, and says why it does not start the rest", () => {
    expect(why(warm(), candidate())).toBe("start");
    expect(why(warm(), candidate({ prior: { tries: 4, hits: 0.5 } }))).toBe("does-not-pay");
    expect(why(warm(), candidate({ pressure: 0.8 }))).toBe("slots");
    expect(why(warm(), candidate(), { running: 2, turn: 2 })).toBe("concurrency");
    expect(why(warm(), candidate(), { running: 0, turn: 8 })).toBe("turn");
    expect(why(new PrefetchGovernor(), candidate())).toBe("waste");
  });

  it.each([{ concurrency: 0 }, { callsPerTurn: 0 }, { wasteShare: 0 }])(
    "never starts anything with %j",
    (budget) => expect(why(warm(budget), candidate())).toBe("budget-zero"),
  );

  it.each([
    { concurrency: -1 },
    { concurrency: 1.5 },
    { callsPerTurn: Number.NaN },
    { wasteShare: -0.1 },
    { pressureMax: 2 },
    { missUs: Number.POSITIVE_INFINITY },
  ])("refuses %j", (budget) => {
    const code = "MANX_TOOL_INVALID";
    expect(() => new PrefetchGovernor(budget)).toThrow(expect.objectContaining({ code }));
  });

  it("takes the dearest value per cost first", () => {
    const verdicts = warm({ concurrency: 1 }).decide(
      [
        candidate({ key: "dear", cost: 3 }),
        candidate({ key: "likely", prior: { tries: 4, hits: 3.9 } }),
        candidate({ key: "unlikely" }),
      ],
      IDLE,
    );
    expect(verdicts.filter(({ start }) => start).map((one) => one.candidate.key)).toEqual([
      "likely",
    ]);
  });

  it("never wastes more than its share, at no instant", () => {
    const random = new Random(1, "hits");
    const governor = new PrefetchGovernor({ wasteShare: 0.1, missUs: 0 });
    const one = candidate();
    let starts = 0;
    for (let i = 0; i < 20_000; i += 1) {
      const [verdict] = governor.decide([one], IDLE);
      const { purse } = governor;
      expect(purse.wasted + purse.held).toBeLessThanOrEqual(0.1 * purse.asked + 1e-6);
      if (verdict!.start) {
        starts += 1;
        purse.close(1, random.next() < 0.6);
      }
      purse.earn(1);
    }
    expect(governor.purse.wasted / governor.purse.asked).toBeGreaterThan(0.095);
    expect(starts).toBeGreaterThan(3_000);
  });

  it("backs off when guesses come true too seldom, and comes back without a start", () => {
    const governor = warm();
    const one = candidate();
    const feed = (rate: number, n: number, seed: number): void => {
      const random = new Random(seed, "hits");
      for (let i = 0; i < n; i += 1) governor.scored(one, random.next() < rate);
    };
    feed(0.8, 100, 1);
    expect(why(governor, one)).toBe("start");
    // 100 ms in vain against 300 ms saved: below one in four it does not pay.
    feed(0.05, 150, 2);
    expect(why(governor, one)).toBe("does-not-pay");
    expect(governor.report[0]!.isOn).toBe(false);
    feed(0.25, 60, 3);
    expect(governor.report[0]!.isOn).toBe(false);
    feed(0.8, 150, 4);
    expect(why(governor, one)).toBe("start");
  });

  it("does not begin while a back end is slow, and does again when it is well", () => {
    const governor = warm();
    for (let i = 0; i < 40; i += 1) governor.took("t", "t", 900 * MS);
    expect(why(governor, candidate())).toBe("loaded");
    expect(why(governor, candidate({ resource: "other" }))).toBe("start");
    for (let i = 0; i < 80; i += 1) governor.took("t", "t", 300 * MS);
    expect(why(governor, candidate())).toBe("start");
  });

  it("seldom takes chance for load", () => {
    const random = new Random(5, "times");
    const governor = warm();
    let loaded = 0;
    for (let i = 0; i < 5_000; i += 1) {
      governor.took("x", "x", 300 * MS * Math.exp(0.5 * random.normal()));
      if (governor.isLoaded("x")) loaded += 1;
    }
    expect(loaded / 5_000).toBeLessThan(0.02);
  });
});

describe("the interval of a hit rate", () => {
  it("is Wilson's: at its ends the rate found lies 1.645 standard errors away", () => {
    for (const [hits, n] of [
      [15, 20],
      [1, 3],
      [990, 1_000],
    ] as const) {
      const { low, high, value } = wilson(hits, n);
      for (const end of [low, high]) {
        expect(Math.abs(value - end) / Math.sqrt((end * (1 - end)) / n)).toBeCloseTo(1.645, 9);
      }
    }
    expect(wilson(0, 0)).toMatchObject({ low: 0, high: 1, n: 0 });
  });

  it("forgets", () => {
    const rate = new HitRate(10);
    for (let i = 0; i < 100; i += 1) rate.note(true);
    for (let i = 0; i < 40; i += 1) rate.note(false);
    expect(rate.interval.value).toBeLessThan(0.1);
    expect(rate.interval.n).toBeLessThan(16);
  });
});
