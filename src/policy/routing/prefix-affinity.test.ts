import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LeastLoad, PrefixAffinity, ROUTERS, RoundRobin } from "./index.ts";

const names = (...prefixIds: number[]): { prefixIds: number[] } => ({ prefixIds });

describe("routers", () => {
  it("go round, or to the least load, and never out of range", () => {
    const roundRobin = new RoundRobin();
    expect([0, 0, 0, 0].map(() => roundRobin.pick(names(), [9, 0, 0]))).toEqual([0, 1, 2, 0]);
    const leastLoad = new LeastLoad();
    expect(leastLoad.pick(names(), [5, 1, 3])).toBe(1);
    const equal = new LeastLoad();
    expect([0, 0, 0, 0].map(() => equal.pick(names(), [7, 7, 7]))).toEqual([0, 1, 2, 0]);
    for (const make of Object.values(ROUTERS)) expect(make().pick(names(1), [3])).toBe(0);
  });
});

describe("PrefixAffinity", () => {
  it("sends a conversation back to where it was, and strangers elsewhere", () => {
    const router = new PrefixAffinity();
    const first = router.pick(names(1, 2), [0, 0, 0, 0]);
    const stranger = router.pick(names(8, 9), [0, 0, 0, 0]);
    expect(stranger).not.toBe(first);
    expect(router.pick(names(1, 2, 3), [0, 0, 0, 0])).toBe(first);
    expect(router.pick(names(8, 9, 10), [0, 0, 0, 0])).toBe(stranger);
  });

  it("follows the prefix only without gaps from the start", () => {
    const router = new PrefixAffinity();
    const home = router.pick(names(1, 2, 3), [0, 0]);
    const other = 1 - home;
    const loads = [0, 0];
    loads[home] = 1;
    // Names 2 and 3 are known, but not what they now follow.
    expect(router.pick(names(7, 2, 3), loads)).toBe(other);
  });

  it("never picks a replica more than the slack above the lightest, whatever it has seen", () => {
    const request = fc.record({
      prefixIds: fc.array(fc.nat(6), { maxLength: 4 }),
      tokens: fc.integer({ min: 1, max: 400 }),
    });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 200 }),
        fc.integer({ min: 1, max: 8 }),
        (requests, n) => {
          const router = new PrefixAffinity({ slackTokens: 1_000, namesMax: 5 });
          const open = new Array<number>(n).fill(0);
          for (const { prefixIds, tokens } of requests) {
            const picked = router.pick({ prefixIds }, open);
            expect(open[picked]! - Math.min(...open)).toBeLessThanOrEqual(1_000);
            open[picked]! += tokens;
          }
        },
      ),
    );
  });
});
