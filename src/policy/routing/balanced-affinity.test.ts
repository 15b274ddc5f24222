import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BalancedAffinity, type Standing } from "./balanced-affinity.ts";

const SMALL = { indexBytesMax: 2 ** 16 };
const healthy: Standing = { isOpen: true, weight: 1, handicapTokens: 0 };

const request = fc.record({
  // Few names, so that prompts share beginnings: [k, 10k + a, 100k + ab, …] is a chain.
  path: fc.array(fc.nat(2), { minLength: 1, maxLength: 5 }),
  tokens: fc.integer({ min: 1, max: 4_000 }),
  hold: fc.nat(30),
});

function chain(path: readonly number[]): number[] {
  let name = 1;
  return path.map((step) => {
    name = name * 3 + step;
    return name;
  });
}

describe("BalancedAffinity", () => {
  it("sends a conversation back to where it was, and strangers elsewhere", () => {
    const router = new BalancedAffinity(SMALL);
    const idle = [0, 0, 0, 0];
    const first = router.pick({ prefixIds: [1, 2], tokens: 1_000 }, idle);
    expect(router.newTokens).toBe(1_000);
    const stranger = router.pick({ prefixIds: [8, 9], tokens: 1_000 }, idle);
    expect(stranger).not.toBe(first);
    expect(router.pick({ prefixIds: [1, 2, 3, 4], tokens: 2_000 }, idle)).toBe(first);
    expect(router.newTokens).toBe(1_000);
    expect(router.pick({ prefixIds: [8, 9, 10], tokens: 1_500 }, idle)).toBe(stranger);
  });

  it("gives up what is held when it is worth less than the wait, by size and not by share", () => {
    const router = new BalancedAffinity({ ...SMALL, savedWorth: 8 });
    const home = router.pick({ prefixIds: [1], tokens: 500 }, [0, 0]);
    const busy = (tokens: number): number[] => (home === 0 ? [tokens, 0] : [0, tokens]);
    expect(router.pick({ prefixIds: [1], tokens: 500 }, busy(3_999))).toBe(home);
    expect(router.pick({ prefixIds: [1], tokens: 500 }, busy(4_001))).toBe(1 - home);
  });

  it("counts a prompt that is still to be computed four times", () => {
    const router = new BalancedAffinity(SMALL);
    expect(router.pick({ prefixIds: [] }, [400, 101], [0, 100])).toBe(0);
    expect(router.pick({ prefixIds: [] }, [402, 101], [0, 100])).toBe(1);
  });

  it("never picks above the lightest plus the slack, however hot a prefix is and whatever was seen", () => {
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 150 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 20_000 }),
        (requests, replicas, slackTokens) => {
          const router = new BalancedAffinity({ slackTokens, indexBytesMax: 4_096 });
          const open = new Array<number>(replicas).fill(0);
          const pending = new Array<number>(replicas).fill(0);
          const carried = (replica: number): number => open[replica]! + 3 * pending[replica]!;
          const ends: { at: number; replica: number; tokens: number; fresh: number }[] = [];
          for (const [at, { path, tokens, hold }] of requests.entries()) {
            for (const end of ends.filter((one) => one.at === at)) {
              open[end.replica]! -= end.tokens;
              pending[end.replica]! -= end.fresh;
            }
            const picked = router.pick({ prefixIds: chain(path), tokens }, open, pending);
            const least = Math.min(...[...open.keys()].map(carried));
            expect(carried(picked)).toBeLessThanOrEqual(least + slackTokens + 1e-6);
            open[picked]! += tokens;
            pending[picked]! += router.newTokens;
            ends.push({ at: at + 1 + hold, replica: picked, tokens, fresh: router.newTokens });
          }
        },
      ),
    );
  });

  it("keeps the bound against every healthy replica when others are slow, cold or closed", () => {
    const standing = fc.record({
      isOpen: fc.boolean(),
      weight: fc.constantFrom(0.1, 0.5, 1),
      handicapTokens: fc.constantFrom(0, 500, 5_000),
    });
    const state = fc.record({ open: fc.nat(20_000), standing });
    fc.assert(
      fc.property(
        fc.array(fc.array(state, { minLength: 5, maxLength: 5 }), { minLength: 1, maxLength: 30 }),
        fc.array(request, { minLength: 30, maxLength: 30 }),
        (states, requests) => {
          const router = new BalancedAffinity({ slackTokens: 5_000, indexBytesMax: 4_096 });
          for (const [at, fleet] of states.entries()) {
            const { path, tokens } = requests[at]!;
            const openTokens = fleet.map(({ open }) => open);
            const standings = fleet.map((one) => one.standing);
            const picked = router.choose(
              { prefixIds: chain(path), tokens },
              { openTokens, standings },
            );
            if (picked === undefined) {
              expect(standings.some(({ isOpen }) => isOpen)).toBe(false);
              continue;
            }
            expect(standings[picked]!.isOpen).toBe(true);
            const peers = fleet.filter(
              ({ standing: { isOpen, weight, handicapTokens } }) =>
                isOpen && weight === 1 && handicapTokens === 0,
            );
            for (const peer of peers) {
              expect(openTokens[picked]!).toBeLessThanOrEqual(peer.open + 5_000);
            }
          }
        },
      ),
    );
  });

  it("lets ties go round, and knows 256 replicas", () => {
    const router = new BalancedAffinity({ indexBytesMax: 2 ** 20 });
    const idle = new Array<number>(256).fill(0);
    const picks = Array.from({ length: 512 }, () => router.pick({ prefixIds: [] }, idle));
    expect(new Set(picks).size).toBe(256);
    expect(picks.slice(0, 3)).toEqual([0, 1, 2]);
    const home = router.pick({ prefixIds: [7], tokens: 9 }, idle);
    expect(router.pick({ prefixIds: [7], tokens: 9 }, idle)).toBe(home);
  });

  it("takes a slow replica when the others have that much more to do, a cold one last", () => {
    const router = new BalancedAffinity({ ...SMALL, slackTokens: 1_000 });
    const standings = [healthy, { ...healthy, weight: 0.5 }, { ...healthy, handicapTokens: 1_000 }];
    const at = (...openTokens: number[]): number | undefined =>
      router.choose({ prefixIds: [], tokens: 100 }, { openTokens, standings });
    expect(at(99, 0, 0)).toBe(0);
    expect(at(101, 0, 0)).toBe(1);
    expect(at(1_001, 401, 0)).toBe(1);
    expect(at(1_001, 451, 0)).toBe(2);
  });
});
