import { afterEach, describe, expect, it } from "vitest";
import { FakeRedis } from "../../../test/support/fake-redis.ts";
import { hammer, openState, until } from "../../../test/support/shared-limit-contract.ts";
import { realClock, SimClock } from "../../clock/index.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import { type Claim, type Grant, SharedState } from "./index.ts";

const NEVER = Number.POSITIVE_INFINITY;
const places = (concurrencyMax: number): Claim => ({
  tenant: "t",
  limit: { concurrencyMax, tokensPerMinute: NEVER, burstTokens: 0 },
  tokens: 100,
});
/** 100 tokens a second. */
const rate = (tokens: number, burstTokens: number): Claim => ({
  tenant: "t",
  limit: { concurrencyMax: NEVER, tokensPerMinute: 6_000, burstTokens },
  tokens,
});

const open: { close(): Promise<void> }[] = [];
let skewUs = 0;

async function fakeRedis(): Promise<FakeRedis> {
  skewUs = 0;
  const redis = new FakeRedis({ nowUs: () => realClock.nowUs() + skewUs });
  await redis.start();
  open.push({ close: () => redis.stop() });
  return redis;
}

async function gateway(redis: FakeRedis, id: string, deadlineUs?: number): Promise<SharedState> {
  const state = await openState(redis.url, id, deadlineUs);
  open.unshift(state);
  return state;
}

async function granted(state: SharedState, claim: Claim) {
  const grant = await state.limits.acquire(claim);
  if (grant.kind !== "granted") throw new Error(`denied for ${grant.reason}`);
  return grant.lease;
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

describe("two gateways over one store", () => {
  it("never have more in flight than the limit, and use all of it", async () => {
    const redis = await fakeRedis();
    for (const seed of [1, 2, 3]) {
      const tenant = `c${seed}`;
      const done = await hammer({ url: redis.url, tenant, seed, concurrencyMax: 3, requests: 80 });
      expect(done.inFlightMax).toBe(3);
      expect(done.local).toBe(0);
      expect(done.denied).toBeGreaterThan(0);
      expect(redis.leases(tenant)).toBe(0);
    }
  });

  it("take no more tokens than burst, rate and one request allow", async () => {
    const redis = await fakeRedis();
    const limit = { tokensPerMinute: 60_000, burstTokens: 1_000 };
    const done = await hammer({ url: redis.url, tenant: "r", seed: 1, requests: 80, ...limit });
    expect(done.local).toBe(0);
    expect(done.tokens).toBeGreaterThanOrEqual(1_000);
    expect(done.tokens).toBeLessThanOrEqual(1_000 + (done.spanUs / US_PER_S) * 1_000 + 150);
  });

  it("need one round trip for each request", async () => {
    const redis = await fakeRedis();
    const one = await gateway(redis, "a");
    for (let i = 0; i < 10; i += 1) await granted(one, places(20));
    expect(redis.ran.manxAcquire).toBe(10);
    expect(await granted(one, { ...places(NEVER) })).toMatchObject({ id: "" });
    expect(redis.ran.manxAcquire).toBe(10);
  });

  it("are told when a rate lets them go, and get back what was not used", async () => {
    const redis = await fakeRedis();
    const [a, b] = [await gateway(redis, "a"), await gateway(redis, "b")];
    const lease = await granted(a, rate(900, 500));
    const denied = (await b.limits.acquire(rate(100, 500))) as Grant & { kind: "denied" };
    expect(denied).toMatchObject({ kind: "denied", reason: "rate", isShared: true });
    expect(denied.retryAfterUs).toBeGreaterThan(3 * US_PER_S);
    expect(denied.retryAfterUs).toBeLessThanOrEqual(4.01 * US_PER_S);
    a.limits.release(lease, 100);
    await until(() => (redis.ran.manxRelease ?? 0) > 0);
    expect((await b.limits.acquire(rate(100, 500))).kind).toBe("granted");
  });

  it("share breakers until they close by themselves", async () => {
    const redis = await fakeRedis();
    const [a, b] = [await gateway(redis, "a"), await gateway(redis, "b")];
    a.breakers.opened("up-1", 10 * US_PER_S);
    await until(() => (redis.ran.manxSetBreakers ?? 0) > 0);
    const left = (await b.breakers.read(["up-0", "up-1"]))!;
    expect([...left.keys()]).toEqual(["up-1"]);
    expect(left.get("up-1")).toBeGreaterThan(9 * US_PER_S);
    skewUs = 11 * US_PER_S;
    expect((await b.breakers.read(["up-1"]))!.size).toBe(0);
  });
});

describe("a gateway that dies", () => {
  it("gives its places back when its leases lapse, and not before", async () => {
    const redis = await fakeRedis();
    const [a, b] = [await gateway(redis, "a"), await gateway(redis, "b")];
    await granted(a, places(1));
    skewUs = 29 * US_PER_S;
    expect((await b.limits.acquire(places(1))).kind).toBe("denied");
    // The skew is no renewal: nothing of gateway a has run in between.
    skewUs = 31 * US_PER_S;
    expect((await b.limits.acquire(places(1))).kind).toBe("granted");
  });
});

describe("a store that is gone", () => {
  it("at the start: each gateway goes by its own share, and by the common limit when it comes", async () => {
    const redis = await fakeRedis();
    await redis.stop();
    const options = { url: redis.url, gatewayId: "a", gatewaysExpected: 2 };
    const state = await SharedState.open(options);
    open.unshift(state);
    const kinds = [];
    for (let i = 0; i < 4; i += 1) kinds.push((await state.limits.acquire(places(4))).kind);
    expect(kinds).toEqual(["granted", "granted", "denied", "denied"]);
    expect(state.facts.limits).toMatchObject({ granted: { shared: 0, local: 2 }, gateways: 2 });
    await redis.start();
    await until(() => state.facts.store.isConnected && redis.leases("t") === 2);
    expect(await granted(state, places(4))).toMatchObject({ isShared: true });
    expect(state.facts.limits.gateways).toBe(1);
  });

  it("in mid-run: nobody waits for longer than the deadline, and what it forgot is put back", async () => {
    const redis = await fakeRedis();
    const state = await gateway(redis, "a");
    const lease = await granted(state, places(4));
    await redis.stop(true);
    await until(() => !state.facts.store.isConnected);
    expect(await granted(state, places(4))).toMatchObject({ isShared: false });
    await redis.start();
    await until(() => redis.leases("t") === 2);
    state.limits.release(lease, 100);
    await until(() => redis.leases("t") === 1);
    expect(state.facts.store.skipped).toBeGreaterThan(0);
  });

  it("is told of its return what ran meanwhile, at once", async () => {
    const redis = await fakeRedis();
    await redis.stop();
    // A clock that stands still: nothing happens by a timer.
    const state = await SharedState.open({ url: redis.url, gatewayId: "a", clock: new SimClock() });
    open.unshift(state);
    const lease = await granted(state, rate(300, 1_000));
    expect(lease.isShared).toBe(false);
    await redis.start();
    await until(() => redis.ran.manxPresent === 1);
    state.limits.release(lease, 1_200);
    await until(() => redis.ran.manxRelease === 1);
    const other = await gateway(redis, "b");
    expect(await other.limits.acquire(rate(1, 1_000))).toMatchObject({ reason: "rate" });
  });

  it("though its connection looks well: is left alone after three silences, and connected anew", async () => {
    const redis = await fakeRedis();
    const state = await gateway(redis, "a", 100 * US_PER_MS);
    await until(() => redis.ran.manxPresent === 1);
    redis.isMute = true;
    for (let i = 0; i < 6; i += 1) await granted(state, places(10));
    expect(state.facts.store).toMatchObject({ failed: 3, skipped: 3 });
    expect(state.facts.store).toMatchObject({ lastError: "no answer in time" });
    // Its answers come at last: three leases, none of which anybody waits for any more.
    redis.isMute = false;
    redis.flush();
    await until(() => state.facts.limits.late === 3);
    await until(() => redis.ran.manxRelease === 3);
    expect([0, 6]).toContain(redis.leases("t"));
    // And if nothing ever comes, the connection is given up for a new one.
    redis.isMute = true;
    const before = redis.greetings;
    await until(() => {
      for (let i = 0; i < 3; i += 1) state.breakers.closed("x");
      return redis.greetings > before;
    });
  });

  it("or that answers nonsense: goes by its own share", async () => {
    const redis = await fakeRedis();
    const state = await gateway(redis, "a");
    redis.wrongReply = "so?";
    expect(await granted(state, places(4))).toMatchObject({ isShared: false });
    expect(await state.breakers.read(["x"])).toBeUndefined();
  });

  it("hands out no second burst", async () => {
    const redis = await fakeRedis();
    const state = await gateway(redis, "a");
    for (let i = 0; i < 5; i += 1) await granted(state, rate(200, 1_000));
    await redis.stop();
    await until(() => !state.facts.store.isConnected);
    // All of the burst is used up: one more request on credit, and no other.
    const kinds = [];
    for (let i = 0; i < 3; i += 1) kinds.push((await state.limits.acquire(rate(500, 1_000))).kind);
    expect(kinds).toEqual(["granted", "denied", "denied"]);
  });
});

describe("what is left", () => {
  it("after closing is no connection, no lease and no presence", async () => {
    const redis = await fakeRedis();
    const [a, b] = [await gateway(redis, "a"), await gateway(redis, "b")];
    await granted(a, places(4));
    await a.close();
    await until(() => redis.connections === 1);
    expect(redis.leases("t")).toBe(0);
    expect((await b.limits.acquire(places(4))).kind).toBe("granted");
    await b.close();
    await until(() => redis.connections === 0);
    expect((await b.limits.acquire(places(4))).kind).toBe("granted");
  });

  it("of a password is nothing that could be printed", async () => {
    const state = await SharedState.open({ url: "redis://me:s3cret@127.0.0.1:1/2" });
    await until(() => state.facts.store.lastError !== undefined);
    expect(JSON.stringify(state.facts)).not.toContain("s3cret");
    expect(state.facts.place).toBe("127.0.0.1:1");
    await state.close();
    for (const url of ["http://me:s3cret@h", "redis://me:s3cret@h/x", "s3cret"]) {
      const error = await SharedState.open({ url }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "MANX_URL", where: "gateway.state" });
      expect(JSON.stringify(error)).not.toContain("s3cret");
    }
  });
});
