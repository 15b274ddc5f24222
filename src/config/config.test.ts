import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type ManxError, renderError } from "../core/index.ts";
import { ConfigFile } from "./config-file.ts";
import { checkConfig, configJsonSchema, duration, readConfig, Secret, secret } from "./index.ts";

const schema = z.strictObject({
  gpu: z.enum(["h100-sxm", "a100-sxm"]).default("h100-sxm"),
  listen: z
    .strictObject({
      host: z.string().default("127.0.0.1"),
      port: z.int().min(0).max(65_535).default(8000),
    })
    .prefault({}),
  drain: duration.default("10s"),
  queue: z.union([z.literal("none"), z.int().min(1)]).default(1024),
  apiKey: secret.nullable().default(null),
  headers: z.record(z.string(), secret).default({}),
  faults: z
    .array(
      z.discriminatedUnion("kind", [
        z.strictObject({ kind: z.literal("stall"), after: z.int().default(1) }),
        z.strictObject({ kind: z.literal("cut") }),
      ]),
    )
    .default([]),
});
const options = { section: "engine", schema } as const;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-config-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(text: string | Uint8Array): Promise<string> {
  const path = join(folder, "manx.config.jsonc");
  await writeFile(path, text);
  return path;
}

async function errorsOf(text: string, env = {}): Promise<readonly ManxError[]> {
  return (await checkConfig(await fileOf(text), { ...options, env })).errors;
}

/** The one error, as a terminal shows it, with the folder cut off. */
async function shown(text: string, env = {}): Promise<string> {
  const errors = await errorsOf(text, env);
  expect(errors.map((one) => one.message)).toHaveLength(1);
  return renderError(errors[0]!).replaceAll(`${folder}/`, "");
}

describe("a configuration file", () => {
  it("may have comments, trailing commas and a byte-order mark, and gets its defaults", async () => {
    const text =
      '\uFEFF{ // why\n "engine": { "gpu": "a100-sxm", /* less */ "listen": {"port": 1,}, }, }';
    const config = await readConfig(await fileOf(text), options);
    expect(config.value).toEqual({
      gpu: "a100-sxm",
      listen: { host: "127.0.0.1", port: 1 },
      drain: "10s",
      queue: 1024,
      apiKey: null,
      headers: {},
      faults: [],
    });
  });

  it("shows a wrong value with path, line, column, caret and the nearest name", async () => {
    expect(await shown('{\n  "engine": {\n\t"gpu": "h100", // no\n  }\n}')).toBe(
      [
        "error MANX_CONFIG_VALUE: invalid engine.gpu",
        "  at manx.config.jsonc:3:9",
        '    3 | \t"gpu": "h100", // no',
        "      | \t       ^^^^^^",
        '  expected one of h100-sxm, a100-sxm, got "h100"',
        '  try: did you mean "h100-sxm"?',
      ].join("\n"),
    );
  });

  it.each([
    ['{"engine": {"listen": {"prot": 1}}}', "MANX_CONFIG_KEY", ":1:24", 'mean "port"'],
    ['{"engine": {"queue": 0.5}}', "MANX_CONFIG_VALUE", ":1:22", "none, or a whole number"],
    ['{"engine": {"drain": "10"}}', "MANX_CONFIG_VALUE", ":1:22", 'such as "800ms"'],
    ['{"engine": {"faults": [{"kind": "stal"}]}}', "MANX_CONFIG_VALUE", ":1:33", 'mean "stall"'],
    ['{"engine": {"faults": [{"kind": "cut", "after": 1}]}}', "MANX_CONFIG_KEY", ":1:40", "kind"],
    ['{"engine": {"faults": {}}}', "MANX_CONFIG_VALUE", ":1:23", "a list, got an object"],
    ['{"engine": []}', "MANX_CONFIG_VALUE", ":1:12", "an object, got a list"],
    ['{"engin": {}}', "MANX_CONFIG_KEY", ":1:2", 'mean "engine"'],
    ['{"gpu": "h100-sxm"}', "MANX_CONFIG_KEY", ":1:2", 'put it into "engine"'],
    ['{"gateway": {}}', "MANX_CONFIG_VALUE", "manx.config.jsonc", '"engine": {…}, got none'],
    ['{"engine": {"gpu": 1, "gpu": 2}}', "MANX_CONFIG_SYNTAX", ":1:23", 'key "gpu" stands twice'],
    ['{"__proto__": {}}', "MANX_CONFIG_SYNTAX", ":1:2", "cannot be a key"],
    ['{"engine": {"gpu": h100}}', "MANX_CONFIG_SYNTAX", ":1:20", "no value"],
    ['{"engine": {"gpu" 1}}', "MANX_CONFIG_SYNTAX", ":1:19", "colon is missing"],
    ['{"engine": {', "MANX_CONFIG_SYNTAX", ":1:13", "brace is missing"],
    ["[]", "MANX_CONFIG_SYNTAX", ":1:1", "an object, {…}, got array"],
    ["", "MANX_CONFIG_SYNTAX", ":1:1", ""],
    [`{"engine": ${"[".repeat(500_000)}`, "MANX_CONFIG_SYNTAX", ":1:75", "at most 64 levels"],
  ])("refuses %.60s", async (text, code, at, words) => {
    const [error] = await errorsOf(text);
    const rendered = renderError(error!);
    expect(error!.code).toBe(code);
    expect(rendered).toContain(at);
    expect(rendered).toContain(words);
  });

  it("is refused when it is too long, not UTF-8 or not there", async () => {
    const long = `{"engine": {}}${" ".repeat(2 ** 20)}`;
    for (const bytes of [long, Buffer.from([0x7b, 0xff, 0x7d])]) {
      const path = await fileOf(bytes);
      await expect(readConfig(path, options)).rejects.toMatchObject({
        code: "MANX_FILE_UNREADABLE",
      });
    }
    const gone = join(folder, "gone.jsonc");
    await expect(readConfig(gone, options)).rejects.toMatchObject({ got: "ENOENT", where: gone });
  });

  it("tells of everything that is wrong in one go", async () => {
    const text = '{"engine": {"gpu": 1, "x": 1, "y": 2, "listen": {"port": -1}}}';
    const errors = await errorsOf(text);
    expect(errors).toHaveLength(4);
    await expect(readConfig(await fileOf(text), options)).rejects.toMatchObject({
      details: { errors: 4 },
      hint: expect.stringContaining("manx config check shows 3 more"),
    });
  });

  it("shows no control character of the file to a terminal", async () => {
    for (const letter of ["\u001b", "\u202e"]) {
      const errors = await errorsOf(`{"engine": {"gpu": "${letter}[31m", "x": 1}}`);
      expect(errors.map(renderError).join("")).not.toContain(letter);
    }
  });

  it("never fails otherwise than with an error of the table, whatever the file holds", () => {
    const piece = fc.constantFrom(
      ..."{}[],:\"'\\/*\n\t\u2028 -1etrufalsn",
      "//",
      "/*",
      '"a"',
      "\u00e9",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        try {
          expect(new ConfigFile("x", pieces.join("")).value).toBeTypeOf("object");
        } catch (thrown) {
          expect(thrown).toMatchObject({
            code: "MANX_CONFIG_SYNTAX",
            where: expect.stringMatching(/^x:\d+:\d+$/),
          });
        }
      }),
    );
  });

  it("reads what JSON.parse reads, to the same values", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const text = JSON.stringify(value);
        if (text.includes('"__proto__"')) return;
        expect(new ConfigFile("x", text).value).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("variables and flags", () => {
  it("come over the file in that order, and each value knows where it is from", async () => {
    const path = await fileOf('{"engine": {"gpu": "a100-sxm", "drain": "1s", "queue": 7}}');
    const env = {
      MANX_ENGINE_LISTEN__PORT: "81",
      MANX_ENGINE_DRAIN: "2s",
      MANX_ENGINE_QUEUE: "none",
      MANX_ENGINE_FAULTS: '[{"kind": "cut"}]',
      MANX_ENGINE_GPU: "",
      MANX_GATEWAY_WHATEVER: "not ours",
      HOME: "/",
    };
    const flags = [{ path: ["drain"], value: "3s", name: "--drain" }];
    const config = await readConfig(path, { ...options, env, flags });
    expect(config.value).toMatchObject({
      gpu: "a100-sxm",
      listen: { port: 81 },
      drain: "3s",
      queue: "none",
      faults: [{ kind: "cut" }],
    });
    const sources = config.settings().map((one) => [one.path, one.shown, one.source.kind]);
    expect(sources).toEqual([
      ["engine.gpu", '"a100-sxm"', "file"],
      ["engine.listen.host", '"127.0.0.1"', "default"],
      ["engine.listen.port", "81", "env"],
      ["engine.drain", '"3s"', "flag"],
      ["engine.queue", '"none"', "env"],
      ["engine.apiKey", "null", "default"],
      ["engine.headers", "{}", "default"],
      ["engine.faults[0].kind", '"cut"', "env"],
    ]);
    expect(config.sourceOf(["gpu"]).name).toBe(`${path}:1:20`);
  });

  it("that give a whole object leave the rest of it to the defaults, but are named in what it lacks", async () => {
    const path = await fileOf('{"engine": {"listen": {"host": "::1", "port": 5}}}');
    const env = { MANX_ENGINE_LISTEN: '{"port": 6}', MANX_ENGINE_FAULTS: "[{}]" };
    const { errors } = await checkConfig(path, { ...options, env });
    expect(errors.map((one) => one.where)).toEqual(["MANX_ENGINE_FAULTS"]);
    const config = await readConfig(path, { ...options, env: { ...env, MANX_ENGINE_FAULTS: "" } });
    expect(config.value.listen).toEqual({ host: "127.0.0.1", port: 6 });
    const kinds = ["host", "port"].map((step) => config.sourceOf(["listen", step]).kind);
    expect(kinds).toEqual(["default", "env"]);
  });

  it("may change an element of a list that another one gives", async () => {
    const env = { MANX_ENGINE_FAULTS__0__AFTER: "9", MANX_ENGINE_FAULTS: '[{"kind": "stall"}]' };
    const config = await readConfig(undefined, { ...options, env });
    expect(config.value.faults).toEqual([{ kind: "stall", after: 9 }]);
    expect(config.sourceOf(["faults", 0, "after"]).name).toBe("MANX_ENGINE_FAULTS__0__AFTER");
    expect(config.sourceOf(["faults", 0, "kind"]).name).toBe("MANX_ENGINE_FAULTS");
  });

  it("reach into lists and maps of the file", async () => {
    const text = '{"engine": {"faults": [{"kind": "stall"}], "headers": {"x-a-b": "1"}}}';
    const env = { MANX_ENGINE_FAULTS__0__AFTER: "9", MANX_ENGINE_HEADERS__X_A_B: "2" };
    const { value } = await readConfig(await fileOf(text), { ...options, env });
    expect([value.faults, value.headers]).toEqual([
      [{ kind: "stall", after: 9 }],
      { "x-a-b": "2" },
    ]);
  });

  it.each([
    [{ MANX_ENGINE_LISTNE__PORT: "1" }, "MANX_CONFIG_KEY", "did you mean MANX_ENGINE_LISTEN?"],
    [{ MANX_ENGINE_LISTEN__PROT: "1" }, "MANX_CONFIG_KEY", "mean MANX_ENGINE_LISTEN__PORT?"],
    [{ MANX_ENGINE_GPU__X: "1" }, "MANX_CONFIG_KEY", "nothing below MANX_ENGINE_GPU"],
    [{ MANX_ENGINE_LISTEN__PORT: "http" }, "MANX_CONFIG_VALUE", "as in JSON"],
    [{ MANX_ENGINE_LISTEN__PORT: "70000" }, "MANX_CONFIG_VALUE", "at most 65535, got 70000"],
    [{ MANX_ENGINE_GPU: "h100" }, "MANX_CONFIG_VALUE", 'mean "h100-sxm"'],
  ])("that are wrong are named: %j", async (env, code, words) => {
    const text = await shown('{"engine": {}}', env);
    expect(text).toContain(`error ${code}`);
    expect(text).toContain(`at ${Object.keys(env)[0]}\n`);
    expect(text).toContain(words);
  });

  it("that Kubernetes sets for a service of that name are no mistake of the user", async () => {
    const env = {
      MANX_ENGINE_SERVICE_HOST: "10.0.0.1",
      MANX_ENGINE_SERVICE_PORT_HTTP: "80",
      MANX_ENGINE_PORT: "tcp://10.0.0.1:80",
      MANX_ENGINE_PORT_80_TCP_ADDR: "10.0.0.1",
    };
    expect((await readConfig(undefined, { ...options, env })).value.listen.port).toBe(8000);
  });
});

describe("secrets", () => {
  const places = { env: { KEY: "sk-planted-secret", EMPTY: "", TWO: "a\nb" }, folder: "." };

  it("are read when they are needed, from a variable, a file or the configuration itself", async () => {
    await writeFile(join(folder, "key"), "from-a-file\n");
    const of = (text: string): Secret => new Secret(text, "gateway.key", { ...places, folder });
    expect(of("env:KEY").reveal()).toBe("sk-planted-secret");
    expect(of("file:key").reveal()).toBe("from-a-file");
    expect(of("sk-planted-secret").equals(of("env:KEY"))).toBe(true);
    expect(of("env:GONE").equals(of("env:GONE"))).toBe(false);
  });

  it.each(["env:GONE", "env:EMPTY", "env:TWO", "file:gone"])(
    "%s is an error that names it",
    (text) => {
      expect(() => new Secret(text, "gateway.key", places).reveal()).toThrow(
        expect.objectContaining({ code: "MANX_SECRET_MISSING", where: text }),
      );
    },
  );

  it("show in no text that is made of them", () => {
    const one = new Secret("env:KEY", "gateway.key", places);
    one.reveal();
    const texts = [String(one), `${one}`, JSON.stringify({ one }), inspect({ one }, { depth: 9 })];
    for (const text of texts) expect(text).not.toContain("planted");
    expect(JSON.stringify({ one })).toBe('{"one":"***"}');
  });

  it("show neither in errors nor in settings, wherever they stand in the file", async () => {
    const planted = [
      '{"engine": {"apiKey": "planted", "gpu": 1}}',
      '{"engine": {"apiKey": "planted", "drain": }}',
      '{"engine": {"apiKey": planted}}',
      '{"engine": {"apiKey": "planted}}',
      '{"engine": {"headers": {"authorization": "planted"}, "x": 1}}',
      '{"engine": {"listen": "sk-planted-secret-of-ours"}}',
      `{"engine": {"drain": 'sk-planted-secret-of-ours'}}`,
      '{"engine": {"apiKey": ["planted"]}}',
    ];
    for (const text of planted) {
      const errors = await errorsOf(text);
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) {
        expect(renderError(error) + JSON.stringify(error), text).not.toContain("planted");
      }
    }
    const text = '{"engine": {"apiKey": "planted", "headers": {"x": "planted", "y": "env:Y"}}}';
    const settings = JSON.stringify((await readConfig(await fileOf(text), options)).settings());
    expect(settings).not.toContain("planted");
    expect(settings).toContain("env:Y");
  });
});

describe("the published schema", () => {
  it("holds each section, strict, with its secrets marked", () => {
    const json = configJsonSchema({ engine: schema }) as {
      properties: { engine: { additionalProperties: boolean } };
    };
    expect(json).toMatchObject({
      additionalProperties: false,
      properties: { $schema: { type: "string" } },
    });
    expect(json.properties.engine.additionalProperties).toBe(false);
    expect(JSON.stringify(json)).toContain('"writeOnly":true');
  });
});
