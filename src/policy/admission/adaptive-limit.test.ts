import { describe, expect, it } from "vitest";
import { Random, SimClock } from "../../clock/index.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import { AdaptiveLimit, DEFAULT_ADAPTIVE } from "./adaptive-limit.ts";

/**
 * An upstream that is always pressed: whoever leaves is replaced at once. Up to `knee` in flight the first content takes
 * what the prompt needs; beyond it, in proportion to how many share the engine. Two prompts in five come out of the prefix
 * cache and need a tenth.
 */
class Upstream {
  knee: number;
  /** What a slow reader adds to the time that its place is taken, µs. */
  readerUs = 0;
  /** Everything takes this many times as long, whatever the load. */
  slowness = 1;
  /** Whether it fails those beyond the knee instead of slowing down. */
  refuses = false;
  readonly limit: AdaptiveLimit;
  readonly clock = new SimClock();
  readonly #random: Random;
  #inFlight = 0;

  constructor(knee: number, seed: number, options = {}) {
    this.knee = knee;
    this.limit = new AdaptiveLimit({ ...DEFAULT_ADAPTIVE, ...options });
    this.#random = new Random(seed, "upstream");
  }

  run(seconds: number): void {
    this.#fill();
    this.clock.runSync(this.clock.nowUs() + seconds * US_PER_S);
  }

  #fill(): void {
    while (this.#inFlight < this.limit.places) {
      this.#inFlight += 1;
      this.#begin(this.#inFlight);
    }
  }

  #begin(inFlight: number): void {
    const inputTokens = 100 + this.#random.int(8_000);
    const isCached = this.#random.next() < 0.4;
    const aloneUs = (20_000 + inputTokens * 50) * (isCached ? 0.1 : 1);
    const noise = 0.8 + 0.4 * this.#random.next();
    const ttftUs = Math.round(aloneUs * Math.max(1, inFlight / this.knee) * noise * this.slowness);
    const decodeUs = Math.round(this.#random.exponential(800 * US_PER_MS));
    const nowUs = this.clock.nowUs();
    const isFailed = this.refuses && inFlight > this.knee;
    this.clock.at(nowUs + ttftUs, () => {
      const isPressed = true;
      if (isFailed) this.limit.failed(this.clock.nowUs());
      else this.limit.sample({ inputTokens, ttftUs, inFlight, isPressed }, this.clock.nowUs());
      this.#fill();
    });
    this.clock.at(nowUs + ttftUs + decodeUs + this.readerUs, () => {
      this.#inFlight -= 1;
      this.#fill();
    });
  }
}

/** Mean number of places over the next seconds. */
function meanPlaces(upstream: Upstream, seconds: number): number {
  let sum = 0;
  for (let i = 0; i < seconds; i += 1) {
    upstream.run(1);
    sum += upstream.limit.places;
  }
  return sum / seconds;
}

describe("the adaptive limit", () => {
  it.each([
    [20, 64],
    [64, 64],
    [200, 64],
    [200, 1_000],
  ])("finds a knee at %i from %i, in spite of the prefix cache", (knee, start) => {
    for (const seed of [1, 2, 3]) {
      const upstream = new Upstream(knee, seed, { start });
      upstream.run(240);
      const places = meanPlaces(upstream, 60);
      expect(places).toBeGreaterThan(knee * 0.6);
      expect(places).toBeLessThan(knee * 2.5);
    }
  });

  it("follows a knee that moves", () => {
    const upstream = new Upstream(200, 1);
    upstream.run(240);
    const before = meanPlaces(upstream, 30);
    upstream.knee = 50;
    upstream.run(180);
    const small = meanPlaces(upstream, 30);
    expect(small).toBeLessThan(before * 0.6);
    upstream.knee = 200;
    upstream.run(240);
    expect(meanPlaces(upstream, 30)).toBeGreaterThan(small * 1.8);
  });

  it("does not fall because readers are slow", () => {
    const upstream = new Upstream(100, 1);
    upstream.run(240);
    const before = meanPlaces(upstream, 30);
    upstream.readerUs = 20 * US_PER_S;
    upstream.run(120);
    expect(meanPlaces(upstream, 30)).toBeGreaterThan(before * 0.7);
  });

  it("is back within half a minute when everything has become slower, or quicker again", () => {
    const [slow, quick]: [number[], number[]] = [[], []];
    for (let seed = 1; seed <= 40; seed += 1) {
      const upstream = new Upstream(100, seed);
      upstream.run(120);
      upstream.slowness = 4;
      upstream.run(15);
      slow.push(meanPlaces(upstream, 15));
      upstream.slowness = 1;
      upstream.run(30);
      quick.push(meanPlaces(upstream, 30));
    }
    for (const places of [slow, quick]) {
      expect(Math.min(...places)).toBeGreaterThan(50);
      expect(places.filter((one) => one > 80).length).toBeGreaterThan(32);
    }
  });

  it("doubles back from a fall that was no load, sooner than by steps", () => {
    const places: number[] = [];
    for (let seed = 1; seed <= 9; seed += 1) {
      const upstream = new Upstream(800, seed);
      upstream.run(120);
      upstream.slowness = 4;
      upstream.run(15);
      places.push(meanPlaces(upstream, 15));
    }
    expect(places.sort((a, b) => a - b)[4]).toBeGreaterThan(850);
  });

  it("doubles until the first sign of load: a wide upstream is found in seconds", () => {
    // The prefix cache spreads times tenfold: now and then chance looks like load, and it goes on in steps.
    let found = 0;
    for (let seed = 1; seed <= 40; seed += 1) {
      const upstream = new Upstream(5_000, seed);
      upstream.run(5);
      if (upstream.limit.places === DEFAULT_ADAPTIVE.ceiling) found += 1;
    }
    expect(found).toBeGreaterThan(32);
  });

  it("lets a thousand streams in that come at once and last for minutes", () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const [random, clock] = [new Random(seed, "streams"), new SimClock()];
      const limit = new AdaptiveLimit(DEFAULT_ADAPTIVE);
      let inFlight = 0;
      const fill = (): void => {
        while (inFlight < Math.min(1_000, limit.places)) {
          inFlight += 1;
          const begun = inFlight;
          const ttftUs = Math.round(400 * US_PER_MS * Math.exp(0.3 * random.normal()));
          clock.at(clock.nowUs() + ttftUs, () => {
            const isPressed = inFlight < 1_000;
            const sample = { inputTokens: 2_000, ttftUs, inFlight: begun, isPressed };
            limit.sample(sample, clock.nowUs());
            fill();
          });
        }
      };
      fill();
      clock.runSync(20 * US_PER_S);
      expect(inFlight).toBe(1_000);
    }
  });

  it("takes back a doubling that was too much, at once", () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const upstream = new Upstream(64, seed);
      upstream.run(20);
      expect(meanPlaces(upstream, 10)).toBeLessThan(64 * 2);
    }
  });

  it("falls with failures for load, and not below its floor", () => {
    const upstream = new Upstream(30, 1, { start: 200 });
    upstream.refuses = true;
    upstream.run(60);
    expect(meanPlaces(upstream, 30)).toBeLessThan(60);
    upstream.knee = 1;
    upstream.run(60);
    expect(upstream.limit.places).toBe(DEFAULT_ADAPTIVE.floor);
  });

  it("is not raised by traffic that never runs into it, and stays within its bounds", () => {
    const limit = new AdaptiveLimit(DEFAULT_ADAPTIVE);
    for (let i = 0; i < 1_000; i += 1) {
      const inFlight = i % 50;
      limit.sample({ inputTokens: 500, ttftUs: 50_000, inFlight, isPressed: false }, i * US_PER_S);
    }
    expect(limit.places).toBe(DEFAULT_ADAPTIVE.start);
    const wide = new Upstream(100_000, 1, { ceiling: 90 });
    wide.run(120);
    expect(wide.limit.places).toBeLessThanOrEqual(90);
    expect(wide.limit.places).toBeGreaterThan(40);
  });

  it("refuses bounds that are none", () => {
    expect(() => new AdaptiveLimit({ ...DEFAULT_ADAPTIVE, floor: 65 })).toThrow(
      expect.objectContaining({ code: "MANX_CONFIG_IMPOSSIBLE" }),
    );
  });
});
