import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { fileJsonSchema } from "./config-sections.ts";
import { makeProgram, runProgram } from "./program.ts";

let folder = "";
let file = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-config-command-"));
  file = join(folder, "manx.config.jsonc");
});
afterAll(() => rm(folder, { recursive: true }));

async function run(
  text: string,
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  await writeFile(file, text);
  const io = new FakeIo({ env });
  const code = await runProgram(makeProgram(io), ["config", ...argv], io);
  return { code, out: io.out.replaceAll(folder, "."), err: io.err.replaceAll(folder, ".") };
}

const GOOD = `{
  // one upstream
  "engine": { "speed": 2 },
  "gateway": { "upstreams": [{ "name": "a", "url": "https://api.openai.com", "key": "env:KEY" }] },
}`;

describe("manx config check", () => {
  it("tells of a good file in a line for each section", async () => {
    expect(await run(GOOD, ["check", file])).toEqual({
      code: 0,
      out: "engine: ok\\ngateway: ok\\n".replaceAll("\\n", "\n"),
      err: "",
    });
  });

  it("tells everything that is wrong, each with its line, and ends with 2", async () => {
    const text = '{"engine": {"sped": 2}, "gateway": {"upstreams": [], "lisen": {}}}';
    const { code, out, err } = await run(text, ["check", file]);
    expect(code).toBe(2);
    expect(out.match(/^error MANX_CONFIG_(KEY|VALUE)/gm)).toHaveLength(3);
    expect(out).toContain("manx.config.jsonc:1:13");
    expect(out).toContain('did you mean "listen"?');
    expect(err).toContain("there are 3 errors");
  });

  it("shows warnings without failing, and all of it as JSON on request", async () => {
    const text = GOOD.replace("env:KEY", "sk-planted-1234");
    const { code, out } = await run(text, ["check", file]);
    expect([code, out]).toEqual([0, expect.stringContaining("warning MANX_CONFIG_DOUBTFUL")]);
    expect(out).toContain("gateway: ok, with 1 to look at");
    const json = await run(text, ["check", file, "--json"]);
    expect(JSON.parse(json.out).sections.gateway.notices[0].error.code).toBe(
      "MANX_CONFIG_DOUBTFUL",
    );
    expect(out + json.out).not.toContain("planted");
  });

  it("reads secrets when it is asked to, and never shows them", async () => {
    const without = await run(GOOD, ["check", file, "--secrets"]);
    expect([without.code, without.out]).toEqual([
      2,
      expect.stringContaining("MANX_SECRET_MISSING"),
    ]);
    const secret = { KEY: "planted" };
    const { code, out, err } = await run(GOOD, ["check", file, "--secrets"], secret);
    expect([code, (out + err).includes("planted")]).toEqual([0, false]);
  });

  it("holds policies against the calls of an access log (golden scenario G3)", async () => {
    const log = join(folder, "access.jsonl");
    // Each has waited 20 s for a place before it was sent, which no limit of an attempt counts.
    const line = (attempt: object): string =>
      JSON.stringify({ model: "m", stream: true, attempts: [{ sent_ms: 20_000, ...attempt }, {}] });
    const write = (...slow: object[]): Promise<void> => {
      const fast = Array.from({ length: 67 }, () => line({ content_ms: 26_000 }));
      const lines = slow.flatMap((attempt) => Array.from({ length: 33 }, () => line(attempt)));
      return writeFile(log, [...fast, ...lines, "no json", '{"model":"m"}'].join("\n"));
    };
    await write({ content_ms: 34_000 });
    const config = (firstContent: string): string =>
      `{"gateway": {
        "upstreams": [{ "name": "a", "url": "https://a.example" }, { "name": "b", "url": "https://b.example" }],
        "models": [{ "name": "m", "policy": "p", "targets": [{ "upstream": "a" }, { "upstream": "b" }] }],
        "policies": { "p": { "deadline": "120s", "timeouts": { "firstContent": "${firstContent}" } } }
      }}`;
    const bad = await run(config("10s"), ["check", file, "--observed", log]);
    expect(bad.code).toBe(2);
    expect(bad.out).toContain("33.0 % of calls take longer than 10.0 s (n 100)");
    expect(bad.out).toContain("p99 14.0 s → 20.0 s, cost 1.33×");
    expect(bad.out).toContain("manx.config.jsonc:4:");
    const good = await run(config("30s"), ["check", file, "--observed", log]);
    const n = "held against 100 streams of 1 model";
    expect([good.code, good.out]).toEqual([0, `gateway: ok; ${n}\n`]);
    // Under a time-out of 10 s nothing is seen to take longer: what it gave up has to count.
    await write({ ended_ms: 30_001, end: "timeout_first_content" });
    const censored = await run(config("10s"), ["check", file, "--observed", log]);
    expect(censored.out).toContain("33.0 % of calls take longer than 10.0 s (n 100)");
    await writeFile(log, line({ content_ms: 26_000 }).replace('"m"', '"other"'));
    const other = await run(config("10s"), ["check", file, "--observed", log]);
    expect(other.out).toBe("gateway: ok; the log has no stream of its models\n");
    await writeFile(log, "nothing");
    const none = await run(config("30s"), ["check", file, "--observed", log]);
    expect(none.err).toContain("MANX_TABLE_FORMAT");
  });

  it("notes an upstream that retries by itself", async () => {
    const text = `{"gateway": { "upstreams": [{ "name": "r", "url": "https://openrouter.ai/api" }] }}`;
    const { code, out } = await run(text, ["check", file]);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining("the upstream r makes retries of its own"),
    ]);
  });

  it("says what is missing in a file that is empty, or no configuration, or not there", async () => {
    expect((await run("{}", ["check", file])).out).toContain('expected a section "gateway": {…}');
    expect((await run("upstreams: []", ["check", file])).err).toContain("MANX_CONFIG_SYNTAX");
    const gone = await run("{}", ["check", join(folder, "gone.jsonc")]);
    expect([gone.code, gone.err]).toEqual([2, expect.stringContaining("ENOENT")]);
  });
});

describe("manx config print", () => {
  it("shows each value with its source, and no secret", async () => {
    const env = { MANX_GATEWAY_LISTEN__PORT: "4321", MANX_GATEWAY_UPSTREAMS__0__KEY: "planted" };
    const { out, code } = await run(GOOD, ["print", file, "--section", "gateway"], env);
    expect(code).toBe(0);
    expect(out).toMatch(/^gateway\.listen\.port = 4321 +# MANX_GATEWAY_LISTEN__PORT$/m);
    expect(out).toMatch(/^gateway\.listen\.host = "127\.0\.0\.1" +# default$/m);
    expect(out).toMatch(/^gateway\.upstreams\[0\]\.name = "a" +# \.\/manx\.config\.jsonc:4:40$/m);
    expect(out).toMatch(/^gateway\.upstreams\[0\]\.key = "\*\*\*" /m);
    expect(out).not.toContain("planted");
    const both = await run(GOOD, ["print", file, "--json"]);
    const { settings } = JSON.parse(both.out) as { settings: { path: string }[] };
    expect(settings.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["engine.speed", "gateway.limits.drain"]),
    );
  });

  it("of a section that is not there says so", async () => {
    const { code, err } = await run(GOOD, ["print", file, "--section", "gatway"]);
    expect([code, err]).toEqual([2, expect.stringContaining('did you mean "gateway"?')]);
  });
});

describe("the published schema", () => {
  it("is what the code makes (else: npm run schema), and what the command prints", async () => {
    const published = JSON.parse(await readFile("schema/config.schema.json", "utf8"));
    expect(published).toEqual(JSON.parse(JSON.stringify(await fileJsonSchema())));
    expect(JSON.parse((await run("{}", ["schema"])).out)).toEqual(published);
  });

  it("accepts what the command accepts, and finds a misspelt key without it", async () => {
    const ajv = new Ajv2020({ strict: false });
    const validate = ajv.compile(await fileJsonSchema());
    const gateway = { upstreams: [{ name: "a", url: "http://x" }] };
    expect(validate({ $schema: "x", gateway, engine: {} })).toBe(true);
    expect(validate({ gateway: { ...gateway, lisen: {} } })).toBe(false);
  });
});

describe("manx config import", () => {
  it("writes a file that the check accepts, with its notes at the top", async () => {
    const other = join(folder, "config.yaml");
    await writeFile(
      other,
      "model_list: [{model_name: a, litellm_params: {model: openai/gpt-4o, rpm: 5}}]",
    );
    const { code, err } = await run("{}", ["import", "--from", "litellm", other, "--output", file]);
    expect([code, err]).toEqual([0, expect.stringContaining("1 notes at its top")]);
    const text = await readFile(file, "utf8");
    expect(text).toContain("//   model_list.0.litellm_params.rpm: has no equal; left out");
    expect((await run(text, ["check", file])).out).toBe("gateway: ok\n");
  });
});
