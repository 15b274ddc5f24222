import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Placement } from "./placement.ts";
import type { ReplicaOutcome } from "./replica-health.ts";
import {
  ReplicaRouter,
  type ReplicaRouterOptions,
  type ReplicaSnapshot,
} from "./replica-router.ts";

const S = 1_000_000;

function fleet(replicas: number, options: Partial<ReplicaRouterOptions> = {}): ReplicaRouter {
  const roles = new Array<"both">(replicas).fill("both");
  return new ReplicaRouter({ roles, indexBytesMax: 2 ** 16, ...options }, 0);
}

function states(router: ReplicaRouter, nowUs: number): string[] {
  return router.snapshot(nowUs).map(({ state }) => state);
}

const stranger = { prefixIds: [], tokens: 1_000 };
const conversation = { prefixIds: [1, 2, 3], tokens: 1_500 };

const SLACK = 5_000;

const step = fc.record({
  kind: fc.constantFrom("pick", "pick", "pick", "first", "end", "end", "probe", "drain", "resume"),
  at: fc.nat(1_000),
  waitUs: fc.constantFrom(0, 1_000, S, 8 * S),
  tokens: fc.integer({ min: 1, max: 9_000 }),
  outcome: fc.constantFrom<ReplicaOutcome>("ok", "ok", "down", "error", "overloaded", "cancelled"),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A fleet to which anything may happen, and what has to hold after each of it. */
class World {
  readonly #replicas: number;
  readonly #router: ReplicaRouter;
  readonly #open: Placement[] = [];
  #nowUs = 0;

  constructor(replicas: number) {
    this.#replicas = replicas;
    this.#router = fleet(replicas, { slackTokens: SLACK });
  }

  play({ kind, at, waitUs, tokens, outcome }: Step): void {
    this.#nowUs += waitUs;
    const router = this.#router;
    const replica = at % this.#replicas;
    const one = this.#open[at % Math.max(1, this.#open.length)];
    if (kind === "pick") this.#pick(at % 3, tokens);
    else if (kind === "first" && one !== undefined) router.firstOutput(one, this.#nowUs);
    else if (kind === "end" && one !== undefined) {
      router.end(one, outcome, this.#nowUs);
      router.end(one, "down", this.#nowUs);
      this.#open.splice(this.#open.indexOf(one), 1);
    } else if (kind === "probe" && router.isProbeDue(replica, this.#nowUs)) {
      router.probed(replica, at % 2 === 0 ? "ok" : "silent", this.#nowUs);
    } else if (kind === "drain") router.drain(replica);
    else if (kind === "resume") router.resume(replica);
    this.#checkCounts();
  }

  #pick(name: number, tokens: number): void {
    const before = this.#router.snapshot(this.#nowUs);
    const barred = before.map(({ state }) => state === "ejected" || state === "draining");
    const placement = this.#router.pick({ prefixIds: [name], tokens }, this.#nowUs);
    if (placement === undefined) {
      expect(barred).not.toContain(false);
      return;
    }
    this.#open.push(placement);
    expect(barred[placement.replica]).toBe(false);
    const carried = (replica: ReplicaSnapshot): number =>
      replica.loadTokens + 3 * replica.pendingTokens;
    for (const peer of before.filter(({ state }) => state === "healthy")) {
      // A healthy peer that said "overloaded" has a handicap of one slack.
      const bound = carried(peer) + 2 * SLACK;
      expect(carried(before[placement.replica]!)).toBeLessThanOrEqual(bound + 1);
    }
  }

  #checkCounts(): void {
    const own = this.#router.snapshot(this.#nowUs);
    for (const [replica, { requests, openTokens, pendingTokens }] of own.entries()) {
      const placed = this.#open.filter((each) => each.replica === replica);
      const sum = (of: (each: Placement) => number): number =>
        placed.reduce((total, each) => total + of(each), 0);
      expect(requests).toBe(placed.length);
      expect(openTokens).toBe(sum((each) => each.openTokens));
      expect(pendingTokens).toBe(sum((each) => each.pendingTokens));
    }
  }
}

describe("ReplicaRouter", () => {
  it("does not send a conversation to its dead replica again before a probe has found it alive", () => {
    const router = fleet(3);
    const home = router.pick(conversation, 0)!;
    router.end(home, "ok", 1 * S);
    const dead = router.pick(conversation, 2 * S)!;
    expect(dead.replica).toBe(home.replica);
    router.end(dead, "down", 2 * S);
    for (let i = 0; i < 50; i += 1) {
      const next = router.pick(conversation, 2 * S + i * S)!;
      expect(next.replica).not.toBe(home.replica);
      router.end(next, "ok", 2 * S + i * S);
    }
    expect(router.isProbeDue(home.replica, 2.9 * S)).toBe(false);
    expect(router.isProbeDue(home.replica, 3 * S)).toBe(true);
    router.probed(home.replica, "refused", 3 * S);
    expect(router.isProbeDue(home.replica, 4.9 * S)).toBe(false);
    expect(router.isProbeDue(home.replica, 5 * S)).toBe(true);
    router.probed(home.replica, "ok", 60 * S);
    expect(states(router, 60 * S)[home.replica]).toBe("cold");
    expect(states(router, 90 * S)[home.replica]).toBe("healthy");
  });

  it("forgets what a replica held when it dies, unless it shows that it was the same process all along", () => {
    const heldAfter = (...startedS: number[]): boolean => {
      const router = fleet(2);
      const home = router.pick(conversation, 0)!;
      const report = (at: number, nowUs: number): void => {
        const own = startedS[at];
        if (own === undefined) return;
        router.report(home.replica, { waiting: 0, running: 0, startedS: own }, nowUs);
      };
      report(0, 0);
      router.end(home, "down", 0);
      router.probed(home.replica, "ok", S);
      report(1, S);
      return router.pick(conversation, 60 * S)!.newTokens === 0;
    };
    expect(heldAfter()).toBe(false);
    expect(heldAfter(100, 200)).toBe(false);
    expect(heldAfter(100, 100)).toBe(true);
  });

  it("ejects after three errors in a row, but never more than half of the fleet for errors alone", () => {
    const router = fleet(4, { slackTokens: 1 });
    for (let i = 0; i < 200; i += 1) {
      const placement = router.pick(stranger, i)!;
      router.end(placement, "error", i);
    }
    expect(states(router, 200).filter((state) => state === "ejected")).toHaveLength(2);
    const all = fleet(2);
    for (const _ of [0, 1]) all.end(all.pick(stranger, 0)!, "down", 0);
    expect(all.pick(stranger, 10)).toBeUndefined();
    expect(all.nextReturnUs()).toBe(1 * S);
  });

  it("ejects one that comes back and fails again at its first error, for longer each time", () => {
    const router = fleet(3);
    const bad = router.pick(stranger, 0)!.replica;
    router.probed(bad, "refused", 0);
    let nowUs = 0;
    for (const waitS of [1, 2, 4, 8]) {
      expect(router.isProbeDue(bad, nowUs + waitS * S - 1)).toBe(false);
      nowUs += waitS * S;
      expect(router.isProbeDue(bad, nowUs)).toBe(true);
      router.probed(bad, "ok", nowUs);
      // Only the bad one is left to choose from: cold is last, and still better than none.
      const others = [0, 1, 2].filter((replica) => replica !== bad);
      const tried = router.pick({ ...stranger, excluded: others }, nowUs)!;
      expect(tried.replica).toBe(bad);
      router.end(tried, "error", nowUs);
      expect(states(router, nowUs)[bad]).toBe("ejected");
    }
  });

  it("gives a replica that just came back a growing part, and no herd", () => {
    const router = fleet(4);
    router.probed(3, "refused", 0);
    for (let i = 0; i < 300; i += 1) {
      router.firstOutput(router.pick(stranger, 0)!, 0);
    }
    router.probed(3, "ok", 1 * S);
    const share = (nowUs: number): number => {
      let taken = 0;
      for (let i = 0; i < 20; i += 1) {
        if (router.pick(stranger, nowUs)!.replica === 3) taken += 1;
      }
      return taken;
    };
    // The others carry 100 requests each and it has none: least load would send it all of the next hundred.
    expect(share(1 * S)).toBeLessThanOrEqual(1);
    const half = share(25 * S);
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThanOrEqual(20);
    expect(states(router, 25 * S)).toEqual(["healthy", "healthy", "healthy", "cold"]);
  });

  it("does not rush to a replica whose last report says that it is empty", () => {
    const router = fleet(2);
    for (const replica of [0, 1]) {
      router.report(replica, { waiting: 0, running: 20, kvUse: 0.5, cacheTokens: 400_000 }, 0);
    }
    router.report(1, { waiting: 0, running: 0, kvUse: 0, cacheTokens: 400_000 }, S);
    const picks = [0, 0];
    for (let i = 0; i < 100; i += 1) picks[router.pick(stranger, S)!.replica]! += 1;
    // 200,000 tokens of others decode at replica 0. A prompt still to be computed counts four times, so that about
    // 180,000 / (4 × 1,000 + 256) requests go to the empty one before it is as full, not two hundred.
    expect(picks[1]! - picks[0]!).toBeLessThanOrEqual(45);
    expect(picks[1]!).toBeGreaterThan(picks[0]!);
  });

  it("believes a report less the older it is, and never counts its own requests twice", () => {
    const router = fleet(2);
    const own = router.pick({ prefixIds: [], tokens: 1_000, outputTokens: 0 }, 0)!;
    const engine = { waiting: 0, running: 2, kvUse: 0.01, cacheTokens: 400_000 };
    router.report(own.replica, engine, 0);
    const load = (nowUs: number): number => router.snapshot(nowUs)[own.replica]!.loadTokens;
    expect([load(0), load(5 * S), load(10 * S)]).toEqual([4_000, 2_500, 1_000]);
    expect(router.snapshot(10 * S)[own.replica]!.isStale).toBe(true);
    router.end(own, "ok", 10 * S);
    expect(load(11 * S)).toBe(0);
  });

  it("gives a draining replica nothing more, and lets what it has go on", () => {
    const router = fleet(2);
    const open = router.pick(stranger, 0)!;
    router.drain(open.replica);
    for (let i = 0; i < 20; i += 1) {
      expect(router.pick(stranger, 1)!.replica).toBe(1 - open.replica);
    }
    expect(router.snapshot(1)[open.replica]).toMatchObject({ state: "draining", requests: 1 });
    router.end(open, "ok", 2);
    expect(router.snapshot(2)[open.replica]).toMatchObject({ requests: 0, openTokens: 0 });
    router.resume(open.replica);
    expect(router.pick(stranger, 3)!.replica).toBe(open.replica);
  });

  it("finds the slow one of equals, and gives it less until it has caught up", () => {
    const router = fleet(4);
    const serve = (rounds: number, fromUs: number, slowUs: number): number[] => {
      const picks = [0, 0, 0, 0];
      for (let i = 0; i < rounds; i += 1) {
        const nowUs = fromUs + i * 200_000;
        const one = router.pick(stranger, nowUs)!;
        picks[one.replica]! += 1;
        router.firstOutput(one, nowUs + (one.replica === 2 ? slowUs : 50_000));
        router.end(one, "ok", nowUs + 190_000);
      }
      return picks;
    };
    serve(80, 0, 500_000);
    expect(states(router, 16 * S)).toEqual(["healthy", "healthy", "slow", "healthy"]);
    const picks = serve(60, 16 * S, 500_000);
    expect(picks[2]!).toBeLessThan(5);
    // 30 s without a sample: it is given another chance, and is as fast as the others now.
    expect(serve(80, 70 * S, 50_000)[2]!).toBeGreaterThan(10);
    expect(states(router, 86 * S)[2]).toBe("healthy");
  });

  it("puts an overloaded replica last, and ejects none for it", () => {
    const router = fleet(3);
    for (let i = 0; i < 30; i += 1) router.end(router.pick(stranger, i)!, "overloaded", i);
    expect(states(router, 30)).toEqual(["healthy", "healthy", "healthy"]);
    const router2 = fleet(2);
    const first = router2.pick(stranger, 0)!;
    router2.end(first, "overloaded", 0);
    for (let i = 0; i < 10; i += 1) {
      expect(router2.pick(stranger, 1)!.replica).toBe(1 - first.replica);
    }
  });

  it("treats a new process behind an old address as cold", () => {
    const router = fleet(2);
    const home = router.pick(conversation, 0)!.replica;
    const engine = { waiting: 0, running: 0 };
    router.report(home, { ...engine, startedS: 100 }, S);
    expect(states(router, S)[home]).toBe("healthy");
    router.report(home, { ...engine, startedS: 160 }, 2 * S);
    expect(states(router, 2 * S)[home]).toBe("cold");
    // Two processes behind one address take turns: that is not a restart each time.
    router.report(home, { ...engine, startedS: 100 }, 40 * S);
    router.report(home, { ...engine, startedS: 160 }, 41 * S);
    expect(states(router, 41 * S)[home]).toBe("healthy");
  });

  it("picks a pair in a split upstream, and none to compute what is held already", () => {
    const roles = ["prefill", "prefill", "decode", "decode"] as const;
    const router = new ReplicaRouter({ roles, indexBytesMax: 2 ** 16 }, 0);
    expect(router.pick(conversation, 0)).toBeUndefined();
    const first = router.pickPair(conversation, 0)!;
    expect(first.prefill!.replica).toBeLessThan(2);
    expect(first.decode.replica).toBeGreaterThanOrEqual(2);
    const again = router.pickPair({ prefixIds: [1, 2, 3, 4], tokens: 1_600 }, 1)!;
    expect(again.prefill!.replica).toBe(first.prefill!.replica);
    const held = router.pickPair(conversation, 2)!;
    expect(held.decode.replica).toBe(first.decode.replica);
    expect(held.prefill).toBeUndefined();
    // The prompt is computed by one of the two, and counts as pending there only.
    expect(router.snapshot(2).map(({ pendingTokens }) => pendingTokens > 0)).toEqual(
      [0, 1, 2, 3].map((replica) => replica === first.prefill!.replica),
    );
    for (const replica of [0, 1]) router.probed(replica, "refused", 3);
    expect(router.pickPair({ prefixIds: [9], tokens: 9_000 }, 3)).toMatchObject({
      prefill: undefined,
    });
  });

  it("counts each request until its end and once, and never picks what it must not", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 150 }),
        fc.integer({ min: 1, max: 6 }),
        (steps, n) => {
          const world = new World(n);
          for (const one of steps) world.play(one);
        },
      ),
    );
  });
});
