import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { US_PER_S } from "../../core/index.ts";
import { TokenBucket } from "./token-bucket.ts";

describe("a token bucket", () => {
  it("is ready exactly when it is in credit, and never holds more than its burst", () => {
    const use = fc.array(fc.tuple(fc.nat(3_000_000), fc.integer({ min: -400, max: 2_000 })));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000 }),
        fc.integer({ min: 1, max: 900 }),
        use,
        (perS, burst, steps) => {
          const bucket = new TokenBucket(perS, burst);
          let nowUs = 0;
          for (const [us, tokens] of steps) {
            nowUs += us;
            bucket.settle(tokens, nowUs);
            expect(bucket.level(nowUs)).toBeLessThanOrEqual(burst);
            const readyUs = bucket.readyUs(nowUs);
            expect(Number.isSafeInteger(readyUs)).toBe(true);
            expect(bucket.level(readyUs)).toBeGreaterThan(1 - 1e-3);
            if (readyUs > nowUs) expect(bucket.level(readyUs - 1)).toBeLessThan(1 + 1e-3);
          }
        },
      ),
    );
  });

  it("refills at its rate and pays a debt off first", () => {
    const bucket = new TokenBucket(100, 500);
    bucket.take(700, 0);
    expect(bucket.level(0)).toBe(-200);
    expect(bucket.readyUs(0)).toBe(2_010_000);
    expect(bucket.readyUs(0, 300)).toBe(5_010_000);
    expect(bucket.level(3 * US_PER_S)).toBeCloseTo(100);
    bucket.settle(-600, 3 * US_PER_S);
    expect(bucket.level(3 * US_PER_S)).toBe(500);
  });
});
