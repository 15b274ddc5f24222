import { describe, expect, it } from "vitest";
import { Secret } from "../../config/index.ts";
import { Admission } from "../../policy/index.ts";
import { configFromUpstream, type GatewayConfig } from "../config/index.ts";
import { shareNotices, tenantShare, workerShare } from "./worker-share.ts";

const LIMITS = {
  lanes: [
    { name: "short", tokens: 100, share: 0.5, tokensInFlight: 1_000 },
    { name: "long", tokensInFlight: 90_000 },
  ],
  concurrency: 40,
  queue: 101,
  tenant: { concurrency: 3 },
  tenants: { a: { concurrency: 100, tokensPerMinute: 60_000, burstTokens: 500, weight: 2 } },
};

function config(admission: object | null, more: Partial<GatewayConfig> = {}): GatewayConfig {
  const flags = [{ path: ["admission"], value: admission, name: "--x" }];
  return { ...configFromUpstream("http://127.0.0.1:9", flags).config, ...more };
}

describe("a worker's share", () => {
  it("of one worker is everything, without a copy", () => {
    const whole = config(LIMITS);
    expect(workerShare(whole, 1)).toBe(whole);
  });

  it("adds up to the configuration over all workers, rounded up at most by one each", () => {
    const whole = config(LIMITS);
    const { admission, limits, upstreams } = workerShare(whole, 4);
    expect(admission).toMatchObject({
      concurrency: { kind: "fixed", limit: 10 },
      queueMax: 26,
      tenant: { concurrencyMax: 1 },
      tenants: {
        a: { concurrencyMax: 25, tokensPerMinute: 15_000, burstTokens: 125, weight: 2 },
      },
    });
    expect(admission!.lanes!.map((lane) => lane.tokensInFlightMax)).toEqual([250, 22_500]);
    expect(limits).toMatchObject({
      connections: whole.limits.connections / 4,
      clients: whole.limits.clients / 4,
      bodiesBytes: whole.limits.bodiesBytes / 4,
      bodyBytes: whole.limits.bodyBytes,
      drainUs: whole.limits.drainUs,
    });
    expect(upstreams[0]).toMatchObject({ connections: 512, preconnect: 1 });
  });

  it("leaves tenants' limits whole where a shared state counts them, and divides the rest all the same", () => {
    const state = new Secret("redis://127.0.0.1", "state", { env: {}, folder: "/" });
    const { admission } = workerShare(config(LIMITS, { state }), 4);
    expect(admission).toMatchObject({
      concurrency: { limit: 10 },
      tenants: { a: { concurrencyMax: 100, tokensPerMinute: 60_000 } },
    });
  });

  it("of a tenant is everything if there is one worker, and at least one place if there are many", () => {
    const limit = { concurrencyMax: 3, tokensPerMinute: 600 };
    expect(tenantShare(limit, 1)).toEqual(limit);
    expect(tenantShare(limit, 4)).toEqual({ concurrencyMax: 1, tokensPerMinute: 150 });
  });

  it("is possible whatever is divided by whatever number", () => {
    for (const workers of [2, 3, 7, 64, 256]) {
      for (const admission of [{}, LIMITS, { concurrency: 2 }, { queue: 1, concurrency: 3 }]) {
        const share = workerShare(config(admission), workers);
        expect(() => new Admission(share.admission!)).not.toThrow();
        expect(share.limits.connections).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it("opens no port of its own for operators", () => {
    const key = new Secret("k", "admin.key", { env: {}, folder: "/" });
    const admin = { host: "127.0.0.1", port: 1, key };
    expect(workerShare(config(null, { admin }), 2).admin).toBeNull();
  });

  it("is told of where it is not what it seems, and only there", () => {
    const of = (admission: object | null, workers: number, more: Partial<GatewayConfig> = {}) => {
      const whole = config(admission, more);
      return shareNotices({ ...whole, listen: { ...whole.listen, workers } });
    };
    expect(of(LIMITS, 4).join("\n")).toMatch(
      /4th of every tenant's.*every other tenant gets a place/s,
    );
    expect(of(LIMITS, 2)).toHaveLength(1);
    const state = new Secret("redis://127.0.0.1", "state", { env: {}, folder: "/" });
    expect([of(LIMITS, 1), of({}, 4), of(null, 4), of(LIMITS, 4, { state })]).toEqual([
      [],
      [],
      [],
      [],
    ]);
  });
});
