/** Declarations of tools: one order, the same bytes, a schema from whatever the author has. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Tool, ToolBox, type ToolDefinition, tool, toolDeclarations } from "./index.ts";

function named(name: string, more: Partial<ToolDefinition<unknown, unknown>>): Tool {
  const definition = { name, effect: "pure" as const, input: { type: "object" }, run: () => "ok" };
  return tool<unknown, unknown>({ ...definition, ...more });
}

const object = z.object({ why: z.string().describe("first"), answer: z.number().default(3) });
const tools = [
  named("b", { input: object, description: "Does b." }),
  named("a", {
    input: { type: "object", properties: { z: {}, a: {} }, additionalProperties: false },
  }),
  named("c", { input: (value) => value, schema: { $schema: "x", type: "object" } }),
];

describe("toolDeclarations", () => {
  it("says the same on every wire", async () => {
    const schemas = {
      a: { additionalProperties: false, properties: { z: {}, a: {} }, type: "object" },
      b: {
        properties: {
          why: { description: "first", type: "string" },
          answer: { default: 3, type: "number" },
        },
        required: ["why"],
        type: "object",
      },
      c: { type: "object" },
    };
    const b = { name: "b", description: "Does b." };
    const declared = (format: Parameters<typeof toolDeclarations>[1]): Promise<readonly object[]> =>
      toolDeclarations(new ToolBox(tools), format);
    expect(await declared("openai-chat")).toEqual([
      { type: "function", function: { name: "a", parameters: schemas.a } },
      { type: "function", function: { ...b, parameters: schemas.b } },
      { type: "function", function: { name: "c", parameters: schemas.c } },
    ]);
    expect(await declared("openai-responses")).toEqual([
      { type: "function", name: "a", parameters: schemas.a, strict: false },
      { type: "function", ...b, parameters: schemas.b, strict: false },
      { type: "function", name: "c", parameters: schemas.c, strict: false },
    ]);
    expect(await declared("anthropic-messages")).toEqual([
      { name: "a", input_schema: schemas.a },
      { ...b, input_schema: schemas.b },
      { name: "c", input_schema: schemas.c },
    ]);
    expect(await declared("gemini")).toEqual([
      {
        functionDeclarations: [
          { name: "a", parametersJsonSchema: schemas.a },
          { ...b, parametersJsonSchema: schemas.b },
          { name: "c", parametersJsonSchema: schemas.c },
        ],
      },
    ]);
  });

  it("is the same bytes in whatever order tools and keywords were written, properties aside", async () => {
    const other = named("a", {
      input: { additionalProperties: false, properties: { z: {}, a: {} }, type: "object" },
    });
    for (const format of ["openai-chat", "anthropic-messages", "gemini"] as const) {
      const one = await toolDeclarations(new ToolBox(tools), format);
      const two = await toolDeclarations(new ToolBox([tools[2]!, other, tools[0]!]), format);
      expect(JSON.stringify(two)).toBe(JSON.stringify(one));
    }
  });

  it("of an empty box is empty, and needs a schema of a function", async () => {
    expect(await toolDeclarations(new ToolBox([]), "gemini")).toEqual([]);
    const inputs = [(value: unknown) => value, z.object({ when: z.date() })];
    for (const input of inputs) {
      const box = new ToolBox([named("f", { input: input as never })]);
      await expect(toolDeclarations(box, "openai-chat")).rejects.toMatchObject({
        code: "MANX_TOOL_INVALID",
        where: 'tool "f"',
      });
    }
  });

  it("asks a schema of zod's that cannot tell it by itself, too", async () => {
    const { jsonSchema: _, ...standard } = object["~standard"] as unknown as Record<
      string,
      unknown
    >;
    const old = Object.create(object, { "~standard": { value: standard } });
    const [one] = await toolDeclarations(new ToolBox([named("b", { input: old })]), "openai-chat");
    expect(one).toMatchObject({ function: { parameters: { required: ["why"] } } });
  });
});
