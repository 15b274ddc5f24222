import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ManxError, renderError, US_PER_S } from "../../core/index.ts";
import { CALL_POLICY, HEDGE_POLICY } from "../../policy/index.ts";
import { GATEWAY_LIMITS } from "../limits.ts";
import {
  type CheckedGateway,
  checkGatewayConfig,
  configFromUpstream,
  diffConfig,
  readGatewayConfig,
} from "./index.ts";

let folder = "";
let path = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-gateway-config-"));
  path = join(folder, "manx.config.jsonc");
});
afterAll(() => rm(folder, { recursive: true }));

const LOCAL = { name: "local", url: "http://127.0.0.1:8000" };

async function check(gateway: object, env = {}): Promise<CheckedGateway> {
  await writeFile(path, JSON.stringify({ gateway }, null, 2));
  return checkGatewayConfig(path, { env });
}

/** Where the caret of an error points: the text from there to the end of its line. */
async function pointed(error: ManxError): Promise<string> {
  const [, line, column] = /:(\d+):(\d+)$/.exec(error.where ?? "")!;
  const { readFile } = await import("node:fs/promises");
  return (await readFile(path, "utf8")).split("\n")[Number(line) - 1]!.slice(Number(column) - 1);
}

describe("a gateway's configuration", () => {
  it("of one upstream is complete, and has the defaults of what it configures", async () => {
    const { config, notices } = configFromUpstream("http://127.0.0.1:8000");
    expect(notices).toEqual([]);
    expect(config.listen).toEqual({ host: "127.0.0.1", port: 4000, workers: 1, rehearsal: 3000 });
    expect(config.upstreams).toHaveLength(1);
    expect(config.upstreams[0]).toMatchObject({
      urls: ["http://127.0.0.1:8000"],
      key: null,
      preconnect: 4,
    });
    const target = { upstream: "upstream", model: null, weight: 1, order: 0 };
    expect(config.models).toEqual([
      { name: "*", targets: [target], policy: "default", cacheMarks: null },
    ]);
    const { gateUs, ...policy } = config.policies.default!;
    expect(policy).toEqual(CALL_POLICY);
    expect(gateUs).toEqual(10 * US_PER_S);
    expect(config.limits).toEqual(GATEWAY_LIMITS);
    expect([config.admin, config.admission, config.state, config.otlp]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it("reads units, fills groups that are only named, and takes flags over variables", async () => {
    const checked = await check(
      {
        upstreams: [
          LOCAL,
          { name: "claude", url: "https://api.anthropic.com", format: "anthropic", key: "env:KEY" },
        ],
        models: [
          { name: "fast", targets: ["local", { upstream: "claude", model: "haiku", order: 1 }] },
        ],
        policies: { default: { deadline: "600s", hedge: true, breaker: { slow: "4s" } } },
        admission: {
          lanes: [{ name: "short", tokens: 100 }, { name: "long" }],
          tenants: { a: { weight: 2 } },
        },
        limits: { body: "1MiB" },
        keys: { source: "file", path: "keys.json" },
      },
      { KEY: "sk-planted-key" },
    );
    const { config } = checked as Extract<CheckedGateway, { errors: readonly [] }>;
    expect(config?.policies.default).toMatchObject({
      deadlineUs: 600 * US_PER_S,
      hedge: HEDGE_POLICY,
      breaker: { ...CALL_POLICY.breaker, slowUs: 4 * US_PER_S },
    });
    expect(config?.upstreams[1]).toMatchObject({ authHeader: "x-api-key" });
    expect(config?.upstreams[1]?.key?.reveal()).toBe("sk-planted-key");
    expect(config?.models[0]?.targets[1]).toEqual({
      upstream: "claude",
      model: "haiku",
      weight: 1,
      order: 1,
    });
    expect(config?.admission?.lanes?.[1]?.tokensMax).toBe(Number.POSITIVE_INFINITY);
    expect(config?.admission?.tenants).toEqual({ a: { weight: 2 } });
    expect(config?.limits.bodyBytes).toBe(2 ** 20);
    expect(config?.keys).toEqual({ source: "file", path: join(folder, "keys.json") });
    for (const text of [JSON.stringify(config), inspect(config, { depth: 9 })]) {
      expect(text).not.toContain("planted");
    }
    const flags = [{ path: ["listen", "port"], value: 1, name: "--port" }];
    const env = { MANX_GATEWAY_LISTEN__PORT: "2", MANX_GATEWAY_LISTEN__HOST: "::1" };
    const given = (await readGatewayConfig(path, { env, flags })).config;
    expect(given.listen).toEqual({ host: "::1", port: 1, workers: 1, rehearsal: 3000 });
  });

  const GUARD = { name: "g", stage: "output", kind: "pattern" };
  const KEYED = { name: "far", url: "http://10.0.0.9:80", key: "env:KEY" };
  it.each<[object, string, string]>([
    [{ upstreams: [{ name: "a" }] }, "{", "url or urls, got neither"],
    [{ upstreams: [{ ...LOCAL, urls: ["http://x"] }] }, "{", "url or urls, got both"],
    [{ upstreams: [{ name: "a", url: "localhost:8000" }] }, '"localhost:8000"', "http: or https:"],
    [{ upstreams: [{ name: "a", url: "http://u:p@x" }] }, '"**', "no user or password"],
    [{ upstreams: [LOCAL, LOCAL] }, '"local"', "gateway.upstreams[0] has it too"],
    [
      { upstreams: [{ name: "a", url: "http://localhost:4000/v1" }] },
      '"http://localhost:4000',
      "is this gateway itself",
    ],
    [{ upstreams: [KEYED] }, '"http://10.0.0.9:80"', "allowPlainHttp"],
    [{ upstreams: [LOCAL, { ...LOCAL, name: "b" }] }, "{", "gateway.models is missing"],
    [{ upstreams: [LOCAL], models: [{ name: "m", targets: ["locl"] }] }, '"locl"', 'mean "local"'],
    [
      { upstreams: [LOCAL], models: [{ name: "m", targets: [{ upstream: "x" }] }] },
      '"x"',
      "one of local",
    ],
    [{ upstreams: [LOCAL], models: [{ name: "m", targets: [] }] }, "[]", "at least 1 in the list"],
    [
      { upstreams: [LOCAL], models: [{ name: "m", targets: [{ upstrem: "x" }] }] },
      '"upstrem"',
      'mean "upstream"',
    ],
    [
      { upstreams: [LOCAL], models: [{ name: "*", targets: ["local"], policy: "fast" }] },
      '"fast"',
      "names none of policies",
    ],
    [
      {
        upstreams: [LOCAL],
        policies: { default: { deadline: "10s", timeouts: { headers: "11s" } } },
      },
      '"11s"',
      "at most the deadline, 10.0 s",
    ],
    [
      { upstreams: [LOCAL], policies: { default: { retry: { backoff: "9s" } } } },
      "{",
      "at least backoff",
    ],
    [
      { upstreams: [LOCAL], policies: { default: { deadline: "99999999999999h" } } },
      '"9',
      "a duration",
    ],
    [{ upstreams: [LOCAL], limits: { body: "2GiB" } }, '"2GiB"', "up to 1 GiB"],
    [
      { upstreams: [LOCAL], admin: { port: 4000, key: "env:A" } },
      "4000",
      "another port than listen.port",
    ],
    [
      { upstreams: [{ ...LOCAL, key: "env:K" }], listen: { host: "0.0.0.0" } },
      '"0.0.0.0"',
      "spend the upstreams' keys",
    ],
    [
      {
        upstreams: [LOCAL],
        guardrails: [{ name: "g", stage: "output", kind: "pattern", patterns: ["("] }],
      },
      '"("',
      "a regular expression",
    ],
    [
      { upstreams: [LOCAL], guardrails: [{ ...GUARD, patterns: ["x"], when: "unsure" }] },
      '"unsure"',
      "a guardrail of stage output above it",
    ],
    [
      { upstreams: [LOCAL], guardrails: [{ ...GUARD, patterns: ["x"], models: ["nobody"] }] },
      '"nobody"',
      "names none of models",
    ],
    [
      {
        upstreams: [LOCAL],
        guardrails: [
          { name: "g", stage: "request", kind: "http", url: "http://10.0.0.9/x", key: "env:KEY" },
        ],
      },
      '"http://10.0.0.9/x"',
      "https:// for a classifier with a key",
    ],
    [
      { upstreams: [LOCAL], otlp: { url: "localhost:4318" } },
      '"localhost:4318"',
      "an http or https URL",
    ],
    [{ upstreams: [LOCAL], state: "localhost:6379" }, '"localhost:6379"', "redis://host:port"],
    [{ upstreams: [{ ...LOCAL, preconnect: 9, connections: 8 }] }, "9", "at most connections, 8"],
    [{ upstreams: [LOCAL], keys: { source: "files" } }, '"files"', 'mean "file"'],
  ])("is refused where it contradicts itself: %j", async (gateway, at, words) => {
    const { errors } = await check(gateway);
    const rendered = errors.map(renderError);
    const hit = rendered.findIndex((one) => one.includes(words));
    expect(rendered.join("\n")).toContain(words);
    const found = await pointed(errors[hit]!);
    expect(at.startsWith('"**') ? '"**' : found.slice(0, at.length)).toBe(at);
    // No masked value in clear.
    expect(rendered.join("\n")).not.toContain("u:p@x");
  });

  it("may send a key in clear where that is asked for, and to this machine", async () => {
    const far = await check({ upstreams: [{ ...KEYED, allowPlainHttp: true }] });
    const near = await check({ upstreams: [{ ...LOCAL, key: "env:KEY" }] });
    const open = await check({
      upstreams: [{ ...LOCAL, key: "env:K" }],
      listen: { host: "::" },
      keys: { source: "none" },
    });
    expect([far.errors, near.errors, open.errors]).toEqual([[], [], []]);
  });
});

describe("a configuration that works, but not as it seems to,", () => {
  async function notices(gateway: object, env = {}): Promise<string[]> {
    const checked = await check(gateway, env);
    expect(checked.errors).toEqual([]);
    const { notices } = checked as Extract<CheckedGateway, { errors: readonly [] }>;
    for (const { error } of notices) expect(error.code).toBe("MANX_CONFIG_DOUBTFUL");
    return notices.map(({ level, error }) => `${level}: ${error.what}`);
  }
  const ALL = [{ name: "*", targets: ["local"] }];

  it.each<[object, string[]]>([
    [
      { policies: { default: { deadline: "60s" } } },
      ["warning: the deadline leaves no time for all attempts"],
    ],
    [{ policies: { default: { deadline: "60s", timeouts: { firstContent: "20s" } } } }, []],
    [{ policies: { default: { deadline: "60s", retry: { attempts: 1 } } } }, []],
    [
      { policies: { default: { hedge: true } } },
      ["note: hedges of * go to the upstream that is slow"],
    ],
    [{ policies: { spare: {} } }, ["warning: the policy spare is used by no model"]],
    [
      { upstreams: [LOCAL, { ...LOCAL, name: "spare" }], models: ALL },
      ["warning: the upstream spare is used by no model"],
    ],
    [
      { policies: { default: { stall: { continueByPrefill: true } } } },
      ["warning: no target of * can go on with a stalled answer"],
    ],
    [
      { upstreams: [{ ...LOCAL, kind: "vllm", idle: "60s" }] },
      ["note: the upstream closes idle connections sooner than this"],
    ],
    [{ upstreams: [{ ...LOCAL, kind: "vllm" }] }, []],
    [
      { upstreams: [{ ...LOCAL, key: "planted" }] },
      ["warning: the secret of gateway.upstreams[0].key stands in the file in clear"],
    ],
  ])("says so: %j", async (gateway, expected) => {
    expect(await notices({ upstreams: [LOCAL], ...gateway })).toEqual(expected);
  });

  it("may take a secret from a variable without a word", async () => {
    const env = { MANX_GATEWAY_UPSTREAMS__0__KEY: "planted" };
    expect(await notices({ upstreams: [LOCAL] }, env)).toEqual([]);
  });
});

describe("manx gateway --upstream", () => {
  it("names the flag in what is wrong with it", () => {
    const wrong = { code: "MANX_CONFIG_VALUE", where: "--upstream" };
    expect(() => configFromUpstream("localhost:8000")).toThrow(expect.objectContaining(wrong));
    const port = [{ path: ["listen", "port"], value: 70_000, name: "--port" }];
    expect(() => configFromUpstream("http://127.0.0.1:1", port)).toThrow(
      expect.objectContaining({ where: "--port", expected: "at most 65535" }),
    );
  });
});

describe("two configurations", () => {
  const diff = (flags: [string, unknown][], env = {}): unknown => {
    const given = flags.map(([path, value]) => ({ path: path.split("."), value, name: "x" }));
    const before = configFromUpstream("http://127.0.0.1:8000");
    return diffConfig(
      before.config,
      configFromUpstream("http://127.0.0.1:8000", given, env).config,
    );
  };

  it("that are alike differ in nothing, and a restart is needed for what is listened on alone", () => {
    expect(diff([])).toEqual({ live: [], restart: [] });
    expect(
      diff([
        ["listen.port", 4002],
        ["listen.workers", 2],
        ["limits.drain", "1s"],
        ["limits.head", "1KiB"],
        ["policies.default", { deadline: "60s", timeouts: { firstContent: "20s" } }],
      ]),
    ).toEqual({
      live: [
        "limits.drainUs",
        "policies.default.deadlineUs",
        "policies.default.timeouts.firstContentUs",
      ],
      restart: ["limits.headBytes", "listen.port", "listen.workers"],
    });
    const admin = diff([["admin", { key: "env:KEY" }]], { KEY: "x" }) as { restart: string[] };
    expect(admin.restart).toContain("admin.port");
  });

  it("name what changed by name, whatever the order, and see that a secret was changed", async () => {
    const b = { name: "b", url: "http://127.0.0.1:8001", key: "env:B" };
    const models = [{ name: "*", targets: ["local", "b"] }];
    const read = async (upstreams: object[], B: string) => {
      const checked = await check({ upstreams, models }, { B });
      return (checked as Extract<CheckedGateway, { errors: readonly [] }>).config;
    };
    const first = await read([LOCAL, b], "one");
    const turned = await read([b, LOCAL], "one");
    const rotated = await read([LOCAL, b], "two");
    expect(diffConfig(first, turned)).toEqual({ live: [], restart: [] });
    expect(diffConfig(first, rotated)).toEqual({ live: ["upstreams.b.key"], restart: [] });
    const gone = await read([LOCAL, { ...b, url: "http://127.0.0.1:8002" }], "one");
    expect(diffConfig(first, gone).live).toEqual(["upstreams.b.urls.0"]);
  });
});
