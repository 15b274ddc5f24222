/** Routers in front of a fleet of twins: a hot prefix makes no hot spot, and a growing conversation finds its cache. */
import { describe, expect, it } from "vitest";
import { Random } from "../clock/index.ts";
import { ENGINE_DEFAULTS } from "../engine/index.ts";
import { BalancedAffinity, LeastLoad, type Router } from "../policy/index.ts";
import { replay } from "./engine-replay.ts";
import type { Replay } from "./replay-collector.ts";
import type { WorkRequest } from "./work-request.ts";

const REPLICAS = 4;
const config = { ...ENGINE_DEFAULTS, memory: "prefix", scheduling: "chunked" } as const;

function request(atUs: number, blockHashes: readonly number[], outputTokens: number): WorkRequest {
  const promptTokens = blockHashes.length * 512;
  return { atUs: Math.round(atUs), promptTokens, outputTokens, blockHashes, row: 0 };
}

function run(requests: readonly WorkRequest[], router: Router): Replay {
  const origin = { name: router.name, workload: "generated", arrivals: "generated", seed: null };
  return replay({ ...origin, requests, config, replicas: REPLICAS, router });
}

function ttftUsP99({ histograms }: Replay): number {
  return histograms.ttftUs.atRank(Math.ceil(0.99 * histograms.ttftUs.n));
}

function maxOverMean({ busyUs }: Replay): number {
  return (Math.max(...busyUs) * REPLICAS) / busyUs.reduce((sum, us) => sum + us, 0);
}

describe("a fleet of twins", () => {
  it("has no hot spot when four requests in five share one prefix", () => {
    const random = new Random(1, "hot prefix");
    let name = 1_000;
    let atUs = 0;
    const requests = Array.from({ length: 1_500 }, () => {
      atUs += random.exponential(45_000);
      const isHot = random.next() < 0.8;
      const fresh = Array.from({ length: isHot ? 2 : 10 }, () => name++);
      return request(atUs, isHot ? [1, 2, 3, 4, 5, 6, 7, 8, ...fresh] : fresh, 200);
    });
    const balanced = run(requests, new BalancedAffinity());
    expect(maxOverMean(balanced)).toBeLessThan(1.05);
    expect(ttftUsP99(balanced)).toBeLessThan(ttftUsP99(run(requests, new LeastLoad())));
    // The same without its bound: what the test is there to catch.
    const unbound = run(requests, new BalancedAffinity({ slackTokens: 1e12, savedWorth: 1e6 }));
    expect(maxOverMean(unbound)).toBeGreaterThan(1.3);
  });

  it("finds the cache of a conversation that grows", () => {
    const random = new Random(2, "agents");
    let name = 1_000;
    const requests = Array.from({ length: 60 }, () => {
      const blocks: number[] = [];
      const startUs = random.next() * 60e6;
      return Array.from({ length: 10 }, (_, turn) => {
        for (let fresh = 1 + random.int(5); fresh > 0; fresh -= 1) blocks.push(name++);
        return request(startUs + turn * 5e6, [...blocks], 100);
      });
    }).flat();
    requests.sort((a, b) => a.atUs - b.atUs);
    const hits = (router: Router): number => {
      const { prefix } = run(requests, router);
      return prefix.hitTokens / prefix.queriedTokens;
    };
    expect(hits(new BalancedAffinity())).toBeGreaterThan(0.8);
    expect(hits(new LeastLoad())).toBeLessThan(0.6);
  });
});
