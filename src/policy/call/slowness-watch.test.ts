import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random, SimClock } from "../../clock/index.ts";
import { SlownessWatch } from "./slowness-watch.ts";
import { Target } from "./target.ts";

const MS = 1_000;
const TOKENS = 500;
const MEDIAN_US = 400 * MS;
const PROMPT = { tokens: TOKENS, delayUs: 750 * MS };

/** Targets whose times to first content are log-normal about 400 ms, and that are known to be. */
class Upstreams {
  readonly clock = new SimClock(0);
  readonly targets: Target[];
  readonly watch = new SlownessWatch(95);
  readonly #random: Random;

  constructor(seed: number, count = 2) {
    this.#random = new Random(seed, "upstreams");
    this.targets = Array.from({ length: count }, (_, at) => {
      return new Target({
        name: `target ${at}`,
        order: 0,
        weight: 1,
        sharesLimits: true,
        breaker: null,
      });
    });
    for (const { ttft } of this.targets) {
      for (let i = 0; i < 1_000; i += 1) ttft.record(TOKENS, this.#ttftUs());
    }
  }

  /** One attempt a gap and target, until then. @param slowness by target; infinite: mute. */
  run(untilUs: number, gapUs: number, slowness: (target: number) => number): void {
    for (let atUs = this.clock.nowUs() + gapUs; atUs < untilUs; atUs += gapUs) {
      this.targets.forEach((target, at) => {
        this.clock.at(atUs, () => this.#begin(target, this.#ttftUs() * slowness(at)));
      });
    }
    this.clock.runSync(untilUs);
  }

  isSlow(at: number): boolean {
    return this.watch.isSlow(this.targets[at]!, this.clock.nowUs());
  }

  #begin(target: Target, ttftUs: number): void {
    const watched = this.watch.begin(target, PROMPT, this.clock.nowUs())!;
    if (!Number.isFinite(ttftUs)) return;
    this.clock.at(this.clock.nowUs() + Math.round(ttftUs), () => {
      watched.contentUs = this.clock.nowUs();
      watched.endedUs = this.clock.nowUs();
    });
  }

  #ttftUs(): number {
    return MEDIAN_US * Math.exp(0.35 * this.#random.normal());
  }
}

const seed = fc.integer({ min: 1, max: 1_000_000 });

describe("a watch for slowness", () => {
  it("sees a threefold slowdown in the open attempts, before one of them has answered", () => {
    fc.assert(
      fc.property(seed, (seed) => {
        const upstreams = new Upstreams(seed);
        upstreams.run(10_000 * MS, 50 * MS, () => 1);
        const onsetUs = upstreams.clock.nowUs();
        // Nothing of what begins now answers before 1.2 s, three times the median, but for one in two hundred.
        upstreams.run(onsetUs + 750 * MS, 50 * MS, () => 3);
        expect([upstreams.isSlow(0), upstreams.isSlow(1)]).toEqual([true, true]);
      }),
      { numRuns: 100 },
    );
  });

  it("says so of few times in a hundred while all is well, and of none for long", () => {
    let slow = 0;
    const looks = 20_000;
    const upstreams = new Upstreams(1);
    for (let i = 0; i < looks; i += 1) {
      upstreams.run(upstreams.clock.nowUs() + 50 * MS, 25 * MS, () => 1);
      if (upstreams.isSlow(0)) slow += 1;
    }
    expect(slow / looks).toBeLessThan(0.03);
  });

  it("holds nothing that one mute target does against one that is well", () => {
    const upstreams = new Upstreams(3);
    let slow = 0;
    const mute = (at: number): number => (at === 0 ? Number.POSITIVE_INFINITY : 1);
    for (let i = 0; i < 2_000; i += 1) {
      upstreams.run(upstreams.clock.nowUs() + 50 * MS, 25 * MS, mute);
      if (upstreams.isSlow(1)) slow += 1;
    }
    expect(upstreams.isSlow(0)).toBe(true);
    expect(slow / 2_000).toBeLessThan(0.15);
  });

  it("is over soon after the slowness is", () => {
    fc.assert(
      fc.property(seed, fc.constantFrom(1, 2, 5), (seed, count) => {
        const upstreams = new Upstreams(seed, count);
        upstreams.run(20_000 * MS, 50 * MS, () => 3);
        expect(upstreams.isSlow(0)).toBe(true);
        // What began in it has to end first.
        let endedUs = Number.POSITIVE_INFINITY;
        for (let i = 0; i < 100 && !Number.isFinite(endedUs); i += 1) {
          upstreams.run(upstreams.clock.nowUs() + 100 * MS, 50 * MS, () => 1);
          if (!upstreams.isSlow(0)) endedUs = upstreams.clock.nowUs();
        }
        expect(endedUs).toBeLessThan(25_000 * MS);
      }),
      { numRuns: 30 },
    );
  });

  it("learns nothing from what was cut off, nor from a target of which it knows too little", () => {
    const { watch, targets } = new Upstreams(1, 1);
    for (let i = 0; i < 1_000; i += 1) {
      watch.begin(targets[0]!, PROMPT, i * MS)!.endedUs = (i + 1) * MS;
    }
    expect(watch.isSlow(targets[0]!, 10_000 * MS)).toBe(false);
    expect(watch.begin(targets[0]!, { ...PROMPT, tokens: 5_000 }, 0)).toBeUndefined();
  });

  it("calls all slow that is all past a delay with a floor, however usual it is", () => {
    const { watch } = new Upstreams(1, 1);
    const target = new Target({
      name: "usual",
      order: 0,
      weight: 1,
      sharesLimits: true,
      breaker: null,
    });
    for (let i = 0; i < 200; i += 1) target.ttft.record(TOKENS, 300 * MS);
    for (let i = 0; i < 3; i += 1) {
      watch.begin(target, { tokens: TOKENS, delayUs: 290 * MS }, i * 500 * MS)!.contentUs =
        (i * 500 + 300) * MS;
    }
    expect(watch.isSlow(target, 2_000 * MS)).toBe(true);
  });

  it("takes times that are all alike for what they are", () => {
    const { watch } = new Upstreams(1, 1);
    const target = new Target({
      name: "constant",
      order: 0,
      weight: 1,
      sharesLimits: true,
      breaker: null,
    });
    for (let i = 0; i < 200; i += 1) target.ttft.record(TOKENS, 300 * MS);
    for (let nowUs = 0; nowUs < 60_000 * MS; nowUs += 100 * MS) {
      watch.begin(target, PROMPT, nowUs)!.contentUs = nowUs + 300 * MS;
      expect(watch.isSlow(target, nowUs)).toBe(false);
    }
    for (let i = 0; i < 5; i += 1) watch.begin(target, PROMPT, 60_000 * MS);
    expect(watch.isSlow(target, 61_000 * MS)).toBe(true);
  });
});
