/** Two gateways in front of one upstream, with limits and breakers that they share over a Redis: there, away, and gone. */
import { describe, expect, it, onTestFinished } from "vitest";
import { realClock } from "../../src/clock/index.ts";
import { type ManxError, US_PER_S } from "../../src/core/index.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { FakeRedis } from "../support/fake-redis.ts";
import { answer, call } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import { type Hit, json, type Step, startReplayServer } from "../support/replay-server.ts";

const BODY = '{"model":"m","max_tokens":10,"messages":[]}';
const ok = json(200, { choices: [], usage: { prompt_tokens: 5, completion_tokens: 5 } });

async function fakeRedis(): Promise<FakeRedis> {
  const redis = new FakeRedis({ nowUs: () => realClock.nowUs() });
  await redis.start();
  onTestFinished(() => redis.stop());
  return redis;
}

async function upstream(script: (hit: Hit) => readonly Step[]) {
  const server = await startReplayServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** @param more of the section, beside upstreams and state. */
async function gatewayFor(url: string, redis: FakeRedis, more: object, isPatient = false) {
  const notices: ManxError[] = [];
  const section = { upstreams: [{ name: "up", url, format: "any" }], state: redis.url, ...more };
  const { gateway } = await configuredGateway(
    section,
    {},
    {
      onNotice: (notice) => notices.push(notice),
      // The store must not seem gone only because the machine is busy.
      ...(isPatient && { stateDeadlineUs: 5 * US_PER_S }),
    },
  );
  return { gateway, notices, url: `${gateway.url}/v1/chat/completions` };
}

function mostAtOnce(hits: readonly Hit[]): number {
  const marks = hits.flatMap(({ atMs, writtenMs }) => [
    [atMs, 1] as const,
    [writtenMs[0] ?? Number.POSITIVE_INFINITY, -1] as const,
  ]);
  let [open, most] = [0, 0];
  for (const [, change] of marks.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    open += change;
    most = Math.max(most, open);
  }
  return most;
}

describe("a tenant's limit on requests in flight", () => {
  const admission = { tenant: { concurrency: 2 } };

  it("holds over both gateways, and all of it is used", async () => {
    const redis = await fakeRedis();
    const up = await upstream(() => [{ afterMs: 40, bytes: ok }]);
    const gateways = [
      await gatewayFor(up.url, redis, { admission }, true),
      await gatewayFor(up.url, redis, { admission }, true),
    ];
    for (const { gateway } of gateways) {
      await until(() => gateway.shared()!.store.isConnected);
    }
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => answer(gateways[i % 2]!.url, { body: BODY })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
    expect(mostAtOnce(up.hits)).toBe(2);
    await until(() => redis.leases("anonymous") === 0);
    const local = gateways.map(({ gateway }) => gateway.shared()!.limits.granted.local);
    expect(local).toEqual([0, 0]);
  });

  it("is given back by a caller that leaves, whether it ran, waited or was being asked for", async () => {
    const redis = await fakeRedis();
    const up = await upstream(() => []);
    const one = await gatewayFor(up.url, redis, { admission }, true);
    await until(() => one.gateway.shared()!.store.isConnected);
    const calls = Array.from({ length: 4 }, () => call(one.url, { body: BODY }));
    await up.hit(2);
    await until(() => redis.leases("anonymous") === 2);
    redis.isMute = true;
    calls[0]!.abort();
    // Its place is asked for by one that waits; nobody answers, and then its caller leaves as well.
    await until(() => one.gateway.inFlight() === 3);
    for (const each of calls) each.abort();
    await until(() => one.gateway.inFlight() === 0);
    redis.isMute = false;
    redis.flush();
    await until(() => redis.leases("anonymous") === 0);
    expect(one.gateway.shared()!.limits.held).toBe(0);
  });
});

describe("a Redis that is away", () => {
  const admission = { tenant: { concurrency: 4, tokensPerMinute: 1_000_000 } };

  it("at the start: calls go by the gateway's own share, and its operator is told once", async () => {
    const redis = await fakeRedis();
    await redis.stop();
    const up = await upstream(() => [{ bytes: ok }]);
    const one = await gatewayFor(up.url, redis, { admission });
    expect((await answer(one.url, { body: BODY })).status).toBe(200);
    await until(() => one.notices.length > 0);
    expect(one.notices.map(({ code, where }) => [code, where])).toEqual([
      ["MANX_STATE_AWAY", redis.url.slice("redis://".length)],
    ]);
    expect(one.gateway.shared()).toMatchObject({
      limits: { granted: { shared: 0, local: 1 } },
      watch: { isAway: true, outages: 1 },
    });
    expect(await metric(one.gateway, "manx_gateway_shared_connected")).toBe(0);
    const own = 'manx_gateway_shared_grants_total{verdict="granted",by="own"}';
    expect(await metric(one.gateway, own)).toBe(1);
    await redis.start();
    await until(
      () => one.gateway.shared()!.store.isConnected && !one.gateway.shared()!.watch.isAway,
    );
    expect((await answer(one.url, { body: BODY })).status).toBe(200);
    expect(one.gateway.shared()!.limits.granted.shared).toBe(1);
    expect(one.notices).toHaveLength(1);
  });

  it("in mid-run, or mute: calls go on", async () => {
    const redis = await fakeRedis();
    const up = await upstream(() => [{ bytes: ok }]);
    const one = await gatewayFor(up.url, redis, { admission });
    await until(() => one.gateway.shared()!.store.isConnected);
    redis.isMute = true;
    expect((await answer(one.url, { body: BODY })).status).toBe(200);
    await redis.stop(true);
    expect((await answer(one.url, { body: BODY })).status).toBe(200);
    expect(one.gateway.shared()!.limits.granted).toEqual({ shared: 0, local: 2 });
  });
});

describe("a breaker", () => {
  it("that opens at one gateway sends the calls of the other to the next target, which has seen nothing", async () => {
    const redis = await fakeRedis();
    const bad = await upstream(() => [{ bytes: json(500, { error: {} }) }]);
    const good = await upstream(() => [{ bytes: ok }]);
    const section = {
      upstreams: [
        { name: "bad", url: bad.url, format: "any" },
        { name: "good", url: good.url, format: "any" },
      ],
      models: [
        {
          name: "m",
          targets: [
            { upstream: "bad", order: 0 },
            { upstream: "good", order: 1 },
          ],
        },
      ],
      policies: {
        default: {
          retry: { attempts: 2, backoff: "1ms" },
          breaker: { callsMin: 3, failShare: 0.5, open: "30s" },
        },
      },
    };
    const a = await gatewayFor("", redis, section, true);
    const b = await gatewayFor("", redis, section, true);
    for (let i = 0; i < 4; i += 1) expect((await answer(a.url, { body: BODY })).status).toBe(200);
    expect(bad.hits).toHaveLength(3);
    await until(() => b.gateway.shared()!.watch.heard === 1);
    expect((await answer(b.url, { body: BODY })).status).toBe(200);
    expect(bad.hits).toHaveLength(3);
    expect(good.hits).toHaveLength(5);
    expect(a.gateway.shared()!.watch).toMatchObject({ told: 1, heard: 0 });
  });
});
