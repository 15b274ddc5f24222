import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toolArguments, toolSchemas } from "../../../test/support/tool-schemas.ts";
import { Random } from "../../clock/index.ts";
import { compileInput, type JsonSchema } from "../input-check.ts";
import { tool } from "../tool.ts";
import { ToolBox } from "../tool-box.ts";
import type { ValidatorModule } from "../validator-set.ts";
import { namedSchemas } from "./named-schemas.ts";
import { validatorModule } from "./validator-module.ts";

async function load(text: string): Promise<ValidatorModule> {
  const url = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  return (await import(/* @vite-ignore */ url)) as ValidatorModule;
}

async function moduleOf(...schemas: JsonSchema[]): Promise<ValidatorModule> {
  const named = schemas.map((schema, i) => ({ name: `t${i}`, schema }));
  return load(validatorModule(named).text);
}

function toolOf(name: string, input: JsonSchema) {
  return tool({ name, effect: "pure", input, run: () => "done" });
}

async function accepts(schema: JsonSchema, value: unknown): Promise<boolean> {
  const box = new ToolBox([toolOf("t0", schema)], { validators: await moduleOf(schema) });
  const checked = box.check(box.get("t0")!, value);
  expect(box.fallbacks).toEqual([]);
  // Without waiting: a call must not lose its turn of the event loop.
  expect(checked).not.toBeInstanceOf(Promise);
  return "args" in (checked as object);
}

describe("validators compiled ahead", () => {
  it("judge as ajv does at run time, and as the way without them", async () => {
    const schemas = toolSchemas(25);
    const validators = await load(validatorModule(schemas).text);
    const box = new ToolBox(
      schemas.map(({ name, schema }) => toolOf(name, schema)),
      { validators },
    );
    const random = new Random(3, "arguments");
    let refused = 0;
    for (const { name, schema } of schemas) {
      const peer = new Ajv2020({ strict: false, allErrors: true }).compile(schema);
      const usual = await compileInput(schema, name);
      for (let round = 0; round < 20; round += 1) {
        const value = toolArguments(schema, random, round % 2 === 0 ? 0 : 0.05);
        const checked = box.check(box.get(name)!, value) as object;
        const fits = "args" in checked;
        expect(fits).toBe(peer(value));
        expect(fits).toBe("args" in ((await usual(value)) as object));
        if (!fits) refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(50);
    expect(box.fallbacks).toEqual([]);
  });

  it("import nothing, and are the same bytes whatever the order of tools and keys", () => {
    const [a, b] = toolSchemas(2);
    const turned = { ...b!, schema: Object.fromEntries(Object.entries(b!.schema).toReversed()) };
    const text = validatorModule([a!, b!]).text;
    expect(text).not.toMatch(/\bimport\b|from "|ajv\/dist\/compile/);
    expect(validatorModule([b!, a!]).text).toBe(text);
    expect(validatorModule([turned]).tools).toEqual(validatorModule([b!]).tools);
  });

  it("tell a model what to mend", async () => {
    const schema = {
      type: "object",
      properties: { "a/b": { type: "integer" }, unit: { enum: ["C", "F"] } },
      required: ["unit"],
      additionalProperties: false,
    };
    const box = new ToolBox([toolOf("t0", schema)], { validators: await moduleOf(schema) });
    expect(box.check(box.get("t0")!, { "a/b": "1", unit: "K", day: 1 })).toEqual({
      problem: 'must not have "day"; a/b: must be integer; unit: must be one of ["C","F"]',
    });
  });

  it.each<[JsonSchema, unknown, string]>([
    [{ required: ["a"] }, {}, 'must have "a"'],
    [{ type: ["string", "null"] }, 1, "must be string or null"],
    [{ const: { a: 1 } }, 1, 'must be {"a":1}'],
    [{ minimum: 3 }, 1, "must be >= 3"],
    [{ exclusiveMaximum: 3 }, 3, "must be < 3"],
    [{ minLength: 2 }, "a", "must have at least 2 characters"],
    [{ properties: { a: { maxItems: 1 } } }, { a: [1, 2] }, "a: must have at most 1 items"],
    [{ pattern: "^a$" }, "b", 'must match the pattern "^a$"'],
    [{ format: "email" }, "b", 'must have the format "email"'],
    [{ not: {} }, "b", "does not fit not {}"],
  ])("say of %o what would fit", async (schema, value, problem) => {
    const box = new ToolBox([toolOf("t0", schema)], { validators: await moduleOf(schema) });
    expect(box.check(box.get("t0")!, value)).toEqual({ problem });
  });

  it("count code points, compare enums by value, and see no inherited property", async () => {
    expect(await accepts({ type: "string", maxLength: 2 }, "😀😀")).toBe(true);
    expect(await accepts({ type: "string", maxLength: 1 }, "😀😀")).toBe(false);
    expect(await accepts({ enum: [{ a: [1, { b: null }] }] }, { a: [1, { b: null }] })).toBe(true);
    expect(await accepts({ enum: [{ a: 1 }, [1]] }, { 0: 1 })).toBe(false);
    expect(await accepts({ type: "array", uniqueItems: true }, [{ a: 1 }, { a: 1 }])).toBe(false);
    expect(await accepts({ type: "object", required: ["constructor"] }, {})).toBe(false);
    expect(await accepts({ properties: { toString: { type: "number" } } }, {})).toBe(true);
  });

  it("keep a property and a constant that are called like a remark", async () => {
    const schema = {
      description: "for people",
      properties: { description: { type: "string", title: "T" }, c: { const: { title: "x" } } },
      required: ["description"],
    };
    expect(validatorModule([{ name: "t", schema }]).text).not.toMatch(/for people|"T"/);
    expect(await accepts(schema, { description: 1 })).toBe(false);
    expect(await accepts(schema, { description: "d", c: { title: "x" } })).toBe(true);
    expect(await accepts(schema, { description: "d", c: {} })).toBe(false);
  });

  it("follow references within the schema, also in circles, in each draft", async () => {
    const tree = {
      $defs: {
        node: { properties: { kids: { items: { $ref: "#/$defs/node" } } }, required: ["id"] },
      },
      $ref: "#/$defs/node",
    };
    expect(await accepts(tree, { id: 1, kids: [{ id: 2, kids: [] }] })).toBe(true);
    expect(await accepts(tree, { id: 1, kids: [{ kids: [] }] })).toBe(false);
    const tuple = { type: "array", items: [{ type: "number" }], additionalItems: false };
    expect(await accepts(tuple, [1, 2])).toBe(false);
    const seventh = { $schema: "http://json-schema.org/draft-07/schema#", ...tuple };
    expect(await accepts(seventh, [1])).toBe(true);
    const newest = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      prefixItems: [{ type: "number" }],
      items: false,
    };
    expect(await accepts(newest, ["1"])).toBe(false);
    const implied = JSON.parse('{"if": {"required": ["a"]}, "then": {"required": ["b"]}}');
    expect(await accepts(implied, { a: 1 })).toBe(false);
  });

  it.each([
    ["date", "2026-02-28", "2026-13-01"],
    ["time", "10:00:00Z", "25:00:00Z"],
    ["date-time", "2026-11-29T22:30:00.5+01:00", "2026-11-29 22:30"],
    ["email", "a.b+c@example.co.uk", "a@b"],
    ["uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"],
    ["uri", "https://example.com/a?b#c", "example.com"],
    ["ipv4", "10.0.0.255", "10.0.0.256"],
    ["hostname", "a-b.example.com", "-a.example.com"],
  ])("check the format %s", async (format, good, bad) => {
    const schema = { type: "string", format };
    expect(await accepts(schema, good)).toBe(true);
    expect(await accepts(schema, bad)).toBe(false);
    // And in no time on a text made to make it slow.
    expect(await accepts(schema, `${good.slice(0, 1).repeat(5_000)}!`)).toBe(false);
  });
});

describe("names and patterns of a hostile schema", () => {
  const HOSTILE = [
    '"]; globalThis.pwned = 1; //',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as it would stand in generated code
    "`${globalThis.pwned = 1}`",
    "*/ globalThis.pwned = 1 /*",
    "\\u0022;globalThis.pwned=1",
    "\u2028globalThis.pwned = 1\u2029",
    "\n globalThis.pwned = 1 \r",
    'require("node:fs")',
    '"); require("ajv/dist/runtime/equal"); ("',
    "</script>",
    "constructor",
    ',schemaPath:"',
    ",schemaPath:",
    "if(vErrors === null){vErrors = [err1];}else {vErrors.push(err1);}",
    "description",
    "default",
    ',schemaPath:"a"',
    "'",
    "\\",
  ];

  it("stay data, as property, constant, default, pattern and tool", async () => {
    for (const text of HOSTILE) {
      const schema = {
        title: text,
        $comment: text,
        type: "object",
        properties: { [text]: { const: text, description: text, default: text } },
        required: [text],
        additionalProperties: false,
      };
      expect(await accepts(schema, { [text]: text })).toBe(true);
      expect(await accepts(schema, { [text]: `${text}.` })).toBe(false);
      const named = validatorModule([{ name: text, schema: { enum: [text] } }]);
      expect((await load(named.text)).validators[0]!.name).toBe(text);
    }
    expect(globalThis).not.toHaveProperty("pwned");
  });

  it("stay data, whatever they are", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 20 }), async (text) => {
        fc.pre(text !== "__proto__");
        const escaped = text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
        const schema = {
          properties: { [text]: { const: text } },
          patternProperties: { [`^${escaped}$`]: true },
        };
        expect(await accepts(schema, { [text]: text })).toBe(true);
        expect(await accepts(schema, { [text]: 1 })).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a schema that cannot be compiled ahead", () => {
  const compile = (schema: JsonSchema) => () => validatorModule([{ name: "a", schema }]);

  it.each<[string, JsonSchema, RegExp]>([
    ["is no schema", { type: "strange" }, /type/],
    ["refers to the net", { $ref: "https://example.com/s.json" }, /example\.com/],
    ["refers to nothing", { $ref: "#/$defs/none" }, /none/],
    ["is of an old draft", { $schema: "http://json-schema.org/draft-04/schema#" }, /draft-04/],
    ["has a broken pattern", { type: "string", pattern: "(" }, /./],
    ["has __proto__", JSON.parse('{"properties": {"__proto__": {}}}'), /^/],
    ["is a promise", { $async: true, type: "object" }, /^/],
    ["is too deep", deep(5_000), /^/],
  ])("because it %s is refused by name", (_, schema, got) => {
    expect(compile(schema)).toThrow(
      expect.objectContaining({
        code: "MANX_SCHEMA_INVALID",
        where: expect.stringContaining('"a"'),
      }),
    );
    try {
      compile(schema)();
    } catch (error) {
      expect((error as { got?: string }).got ?? "").toMatch(got);
    }
  });

  it("is named if two tools have one name", () => {
    const twice = [
      { name: "a", schema: {} },
      { name: "a", schema: {} },
    ];
    expect(() => validatorModule(twice)).toThrow("two tools of one name");
  });

  it("is not one of a megabyte", async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, i) => [
        `property_number_${i}`,
        { type: "string", description: "x".repeat(200), maxLength: i + 1 },
      ]),
    );
    const schema = { type: "object", properties };
    expect(JSON.stringify(schema).length).toBeGreaterThan(1_000_000);
    expect(await accepts(schema, { property_number_3: "1234" })).toBe(true);
    expect(await accepts(schema, { property_number_3: "12345" })).toBe(false);
  });
});

function deep(levels: number): JsonSchema {
  let schema: JsonSchema = { type: "string" };
  for (let i = 0; i < levels; i += 1) schema = { not: schema };
  return schema;
}

describe("notes", () => {
  it("name formats that are not checked and patterns that may hang", () => {
    const schema = {
      properties: {
        a: { type: "string", format: "iban" },
        b: { type: "string", pattern: "^(a+)+$" },
        c: { type: "string", pattern: "^(?:x|xy)*$" },
        d: { type: "string", pattern: "^[a-z(+)]+-(?:ab|cd){1,3}\\(+$" },
      },
    };
    const { notes } = validatorModule([{ name: "t", schema }]);
    expect(notes.map(({ note }) => note)).toEqual([
      'pattern "^(?:x|xy)*$" may take very long: alternatives that begin alike within a repetition',
      'pattern "^(a+)+$" may take very long: a repetition within a repetition',
      'format "iban" is not checked',
    ]);
  });
});

describe("a tool box with validators", () => {
  const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };

  it("compiles at run time what has changed or is missing, counts it and says why", async () => {
    const validators = await load(validatorModule([{ name: "search", schema }]).text);
    const told: unknown[] = [];
    const box = new ToolBox(
      [
        toolOf("search", { ...schema, required: [] }),
        toolOf("new", schema),
        tool({ name: "own", effect: "pure", input: (value) => value, run: () => 1 }),
      ],
      { validators, onFallback: (fallback) => told.push(fallback) },
    );
    await box.warm();
    expect(box.fallbacks).toEqual([
      { tool: "search", reason: "stale" },
      { tool: "new", reason: "missing" },
    ]);
    expect(told).toEqual(box.fallbacks);
    // By the schema that it has now.
    expect(await box.check(box.get("search")!, {})).toEqual({ args: {} });
  });

  it("is not brought down by a module that is damaged", async () => {
    const module = await load(validatorModule([{ name: "search", schema }]).text);
    const { hash } = module.validators[0]!;
    for (const make of [() => 5, () => JSON.parse("{")]) {
      const validators = { ...module, validators: [{ name: "search", hash, make }] };
      const box = new ToolBox([toolOf("search", schema)], { validators });
      await box.warm();
      expect(box.fallbacks).toEqual([{ tool: "search", reason: "broken" }]);
    }
  });

  it("refuses what is no such module", () => {
    for (const module of [{}, { format: "manx-validators/0", validators: [] }, null]) {
      expect(() => new ToolBox([], { validators: module as never })).toThrow(
        expect.objectContaining({ code: "MANX_TOOL_INVALID" }),
      );
    }
  });
});

describe("tools as people have them", () => {
  const schema = { type: "object" };

  it.each([
    ["OpenAI chat", [{ type: "function", function: { name: "a", parameters: schema } }]],
    ["OpenAI responses", [{ type: "function", name: "a", parameters: schema }]],
    ["Anthropic", [{ name: "a", input_schema: schema }]],
    ["Gemini", [{ functionDeclarations: [{ name: "a", parametersJsonSchema: schema }] }]],
    ["an MCP list", { tools: [{ name: "a", inputSchema: schema }] }],
    ["Manx", [toolOf("a", schema)]],
    ["a table", { a: schema }],
    ["one declaration", { name: "a", inputSchema: schema }],
  ])("are read from %s", (_, found) => {
    expect(namedSchemas(found, "tools")).toEqual([{ name: "a", schema }]);
  });

  it("are left out where there is nothing to compile, and refused where nothing can be read", () => {
    const own = tool({ name: "own", effect: "pure", input: (value) => value, run: () => 1 });
    expect(namedSchemas([own, { name: "web_search", type: "web_search" }], "tools")).toEqual([]);
    for (const bad of [null, 5, [5], [{ parameters: {} }], { a: 5 }, { a: [] }]) {
      expect(() => namedSchemas(bad, "tools")).toThrow(
        expect.objectContaining({ code: "MANX_SCHEMA_INVALID" }),
      );
    }
  });
});
