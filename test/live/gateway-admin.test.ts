/** The operators' port: what it shows, what it changes, and whom it refuses. */
import { describe, expect, it, onTestFinished } from "vitest";
import { secretBytes } from "../../src/clock/index.ts";
import { newKey } from "../../src/gateway/keys/index.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer } from "../support/http-call.ts";
import { json, startReplayServer } from "../support/replay-server.ts";

const KEY = "operators-only";
const BODY = '{"model":"m","max_tokens":10,"messages":[]}';
const usage = { prompt_tokens: 30, completion_tokens: 12 };

async function upstream(status = 200) {
  const server = await startReplayServer(() => [{ bytes: json(status, { choices: [], usage }) }]);
  onTestFinished(() => server.close());
  return server;
}

async function withAdmin(section: object, reload?: () => Promise<never>) {
  const made = await configuredGateway(
    { admin: { port: 0, key: KEY }, ...section },
    {},
    reload === undefined ? {} : { reload },
  );
  const { gateway } = made;
  const ask = async (what: string, headers: Record<string, string> = {}) => {
    const [method = "", path = ""] = what.split(" ");
    const url = `${gateway.adminUrl}${path}`;
    const got = await answer(url, {
      method,
      headers: { authorization: `Bearer ${KEY}`, ...headers },
    });
    return { status: got.status, headers: got.headers, body: JSON.parse(got.text), text: got.text };
  };
  return { ...made, ask, url: `${gateway.url}/v1/chat/completions` };
}

describe("the operators' port", () => {
  it("is there only if it is configured, and is no path of the callers' port", async () => {
    const up = await upstream();
    const upstreams = [{ name: "u", url: up.url }];
    const off = await configuredGateway({ upstreams });
    expect(off.gateway.adminUrl).toBeNull();
    const { gateway } = await withAdmin({ upstreams });
    const headers = { authorization: `Bearer ${KEY}` };
    for (const path of ["/admin/state", "/admin/config", "//admin/state", "/v1/../admin/state"]) {
      const { status } = await answer(`${gateway.url}${path}`, { method: "GET", headers });
      expect([path, status]).toEqual([path, 404]);
    }
    expect(up.hits).toHaveLength(0);
    const own = await answer(`${gateway.adminUrl}/v1/chat/completions`, { headers, body: BODY });
    expect(own.status).toBe(404);
  });

  it("lets nobody in without the key, and for a while nobody at all from where ten wrong ones came", async () => {
    const { ask, gateway } = await withAdmin({
      upstreams: [{ name: "u", url: "http://127.0.0.1:9" }],
    });
    const wrong = ["", "Bearer", "Bearer ", `Basic ${KEY}`, `Bearer ${KEY}x`, KEY, "Bearer x"];
    for (const authorization of wrong) {
      const { status, body } = await ask("GET /admin/state", { authorization });
      expect([status, body.error.code]).toEqual([401, "MANX_UNAUTHENTICATED"]);
    }
    expect((await ask("GET /admin/state")).status).toBe(200);
    for (let i = wrong.length; i < 10; i += 1)
      await ask("GET /admin/state", { authorization: "x" });
    const late = await ask("GET /admin/state");
    expect([late.status, late.body.error.code]).toEqual([429, "MANX_RATE_LIMITED"]);
    expect(Number(late.headers["retry-after"])).toBeGreaterThan(0);
    expect(gateway.inFlight()).toBe(0);
  });

  it("answers every error in JSON, with a status that says whose it is", async () => {
    const { ask } = await withAdmin({ upstreams: [{ name: "main", url: "http://127.0.0.1:9" }] });
    const cases: [string, number, string][] = [
      ["GET /", 404, "MANX_ROUTE_UNKNOWN"],
      ["GET /admin/drain", 404, "MANX_ROUTE_UNKNOWN"],
      ["POST /admin/drain", 400, "MANX_REQUEST_INVALID"],
      ["POST /admin/drain?upstream=mian", 400, "MANX_NAME_UNKNOWN"],
      ["POST /admin/drain?upstream=main&url=http://127.0.0.1:8", 400, "MANX_NAME_UNKNOWN"],
      ["POST /admin/drain?upstream=main&url=nonsense", 400, "MANX_URL"],
      ["POST /admin/drain?upstream=main&adress=x", 400, "MANX_REQUEST_INVALID"],
      ["POST /admin/reload", 400, "MANX_REQUEST_INVALID"],
    ];
    for (const [what, status, code] of cases) {
      const got = await ask(what);
      expect([what, got.status, got.body.error.code]).toEqual([what, status, code]);
    }
  });

  it("shows the configuration in effect, and no secret of it", async () => {
    const { key, id, hash } = newKey(secretBytes);
    const { ask } = await withAdmin({
      upstreams: [{ name: "u", url: "http://127.0.0.1:9", key: "sk-upstream" }],
      keys: { source: "inline", keys: [{ id, hash, tenant: "a" }] },
      admission: {},
    });
    const { body, text } = await ask("GET /admin/config");
    for (const secret of ["sk-upstream", KEY, hash, key]) expect(text).not.toContain(secret);
    expect(body.upstreams[0]).toMatchObject({ name: "u", key: "***", connections: 2_048 });
    expect(body.keys.keys[0]).toMatchObject({ id, hash: "***" });
  });

  it("shows what goes on: breakers, lanes, tenants, budgets", async () => {
    const up = await upstream();
    const { key, id, hash } = newKey(secretBytes);
    const { ask, url } = await withAdmin({
      upstreams: [{ name: "u", url: up.url, format: "any" }],
      keys: {
        source: "inline",
        keys: [{ id, hash, tenant: "a", budget: { tokensPerDay: 1_000 } }],
      },
      admission: { tenants: { a: { concurrency: 2 } } },
    });
    await answer(url, { body: BODY, headers: { authorization: `Bearer ${key}` } });
    const { body } = await ask("GET /admin/state");
    expect(body).toMatchObject({
      unanswered: [],
      workers: [
        {
          worker: 0,
          drained: [],
          models: [
            { name: "*", targets: [{ upstream: "u", breaker: "closed", isDrained: false }] },
          ],
          admission: { admitted: 1, lanes: [{ name: "short" }, { name: "long" }] },
          budgets: [{ key: `mk_${id}`, tenant: "a", spent: { day: { tokens: 42 } } }],
          shared: null,
        },
      ],
    });
  });

  it("takes an upstream out and puts it back: its calls go to the next target at no cost, over a reload too", async () => {
    const [one, two] = [await upstream(), await upstream()];
    const section = {
      admin: { port: 0, key: KEY },
      upstreams: [
        { name: "one", url: one.url, format: "any" },
        { name: "two", url: two.url, format: "any" },
      ],
      models: [
        {
          name: "m",
          targets: [
            { upstream: "one", order: 0 },
            { upstream: "two", order: 1 },
          ],
        },
      ],
      // No retry would be paid for.
      policies: { default: { retry: { attempts: 1 } } },
    };
    const { ask, url, reload } = await withAdmin(section);
    const hits = async (): Promise<number[]> => {
      expect((await answer(url, { body: BODY })).status).toBe(200);
      return [one.hits.length, two.hits.length];
    };
    expect(await hits()).toEqual([1, 0]);
    const drained = await ask(`POST /admin/drain?upstream=one&url=${one.url}/v1`);
    expect([drained.status, drained.body.drained.upstream]).toEqual([200, "one"]);
    expect(await hits()).toEqual([1, 1]);
    await reload({
      ...section,
      upstreams: [{ ...section.upstreams[0], preconnect: 1 }, section.upstreams[1]],
    });
    expect(await hits()).toEqual([1, 2]);
    const state = await ask("GET /admin/state");
    expect(state.body.workers[0].models[0].targets[0]).toMatchObject({ isDrained: true });
    await ask("POST /admin/drain?upstream=two");
    const none = await answer(url, { body: BODY });
    expect([none.status, none.text]).toEqual([503, expect.stringContaining("MANX_NO_TARGET")]);
    expect((await ask("POST /admin/resume?upstream=one")).status).toBe(200);
    expect(await hits()).toEqual([2, 2]);
  });
});
