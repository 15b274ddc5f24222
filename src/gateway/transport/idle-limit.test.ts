import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { US_PER_S } from "../../core/index.ts";
import { IdleLimit } from "./idle-limit.ts";

const S = US_PER_S;
const CONFIGURED_US = 120 * S;

describe("IdleLimit", () => {
  it("is what is configured until something else is known", () => {
    const limit = new IdleLimit();
    expect(limit.state(CONFIGURED_US, 0)).toEqual({ limitUs: CONFIGURED_US, source: "configured" });
    expect(limit.state(0, 0)).toEqual({ limitUs: Number.POSITIVE_INFINITY, source: "unlimited" });
  });

  it.each([
    ["timeout=5", 4],
    ["timeout=5, max=100", 4],
    ["max=100, Timeout=75", 74],
    ["timeout=1", 0],
    ["timeout=0", 0],
    ["timeout=600", 120],
    ["max=100", 120],
    ["timeout=soon", 120],
    ["xtimeout=5", 120],
  ])("takes the hint %j as %d s", (header, limitS) => {
    const limit = new IdleLimit();
    limit.hint(header);
    expect(limit.state(CONFIGURED_US, 0).limitUs).toBe(limitS * S);
  });

  it("learns from closes at one age, and stays below it", () => {
    const limit = new IdleLimit();
    limit.closedIdle(60 * S, 100 * S);
    expect(limit.state(CONFIGURED_US, 100 * S).source).toBe("configured");
    limit.closedIdle(60.2 * S, 200 * S);
    expect(limit.state(CONFIGURED_US, 200 * S)).toEqual({ limitUs: 55 * S, source: "learnt" });
  });

  it("takes a restart, which closes all at a time at any age, for no limit", () => {
    const limit = new IdleLimit();
    for (const ageS of [3, 3.1, 8, 8.4, 8.5, 40]) limit.closedIdle(ageS * S, 100 * S);
    expect(limit.state(CONFIGURED_US, 100 * S).source).toBe("configured");
  });

  it("learns from one lost request at once, and for ten minutes", () => {
    const limit = new IdleLimit();
    limit.raced(30 * S, 0);
    expect(limit.state(CONFIGURED_US, 1)).toEqual({ limitUs: 27 * S, source: "learnt" });
    expect(limit.state(CONFIGURED_US, 599 * S).source).toBe("learnt");
    expect(limit.state(CONFIGURED_US, 600 * S).source).toBe("configured");
  });

  it("learns no age under a second, and goes no lower", () => {
    const limit = new IdleLimit();
    limit.raced(0.2 * S, 0);
    expect(limit.state(CONFIGURED_US, 1).source).toBe("configured");
    limit.raced(1.1 * S, 0);
    expect(limit.state(CONFIGURED_US, 1).limitUs).toBe(S);
  });

  it("forgets after an hour, so that an upstream which allows more is found out", () => {
    const limit = new IdleLimit();
    limit.closedIdle(60 * S, 0);
    limit.closedIdle(60 * S, 100 * S);
    expect(limit.state(CONFIGURED_US, 3_500 * S).source).toBe("learnt");
    expect(limit.state(CONFIGURED_US, 3_700 * S).source).toBe("configured");
  });

  it("is never above what is configured or told, and never negative, whatever is seen", () => {
    const seen = fc.record({
      kind: fc.constantFrom("closed", "raced", "hint"),
      ageS: fc.integer({ min: 0, max: 5_000 }),
      waitS: fc.integer({ min: 0, max: 2_000 }),
    });
    fc.assert(
      fc.property(fc.array(seen, { maxLength: 40 }), fc.nat(500), (all, configuredS) => {
        const limit = new IdleLimit();
        let nowUs = 0;
        let hintS = Number.POSITIVE_INFINITY;
        for (const { kind, ageS, waitS } of all) {
          nowUs += waitS * S;
          if (kind === "closed") limit.closedIdle(ageS * S, nowUs);
          else if (kind === "raced") limit.raced(ageS * S, nowUs);
          else {
            hintS = ageS;
            limit.hint(`timeout=${ageS}`);
          }
          const { limitUs } = limit.state(configuredS * S, nowUs);
          const mostS = Math.min(configuredS || Number.POSITIVE_INFINITY, Math.max(0, hintS - 1));
          expect(limitUs).toBeLessThanOrEqual(mostS * S);
          expect(limitUs).toBeGreaterThanOrEqual(Math.min(mostS, 1) * S);
        }
      }),
    );
  });
});
