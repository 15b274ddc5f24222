/** Tools of a prompt in all the forms that people have: the same bytes from each, and nothing lost in silence. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tool } from "../tool.ts";
import { ToolBox } from "../tool-box.ts";
import { toolDeclarations } from "../tool-declarations.ts";
import { compilePrompt } from "./compile-prompt.ts";

const FORMATS = ["anthropic-messages", "openai-chat", "openai-responses"] as const;

const plain = {
  name: "search",
  description: "Looks things up.",
  parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
};
const { parameters, ...named } = plain;
const FORMS = {
  plain,
  "openai-chat": { type: "function", function: plain },
  "openai-responses": { type: "function", ...plain },
  "anthropic-messages": { ...named, input_schema: parameters },
  mcp: { ...named, inputSchema: parameters, annotations: { readOnlyHint: true } },
};

function sent(format: (typeof FORMATS)[number], ...tools: object[]): readonly object[] {
  const parts = [{ kind: "tools", stability: "static", tools }] as const;
  // So short a prompt gets no marks.
  const options = { format, model: "m", minimumTokens: 10_000 };
  return compilePrompt(parts, options).body.tools as readonly object[];
}

describe("tools of a prompt", () => {
  it.each(FORMATS)("are the same for %s, whichever form they have", (format) => {
    const [wanted] = sent(format, FORMS[format]);
    expect(wanted).toEqual(FORMS[format]);
    for (const [form, given] of Object.entries(FORMS)) {
      expect(JSON.stringify(sent(format, given)), form).toBe(JSON.stringify([wanted]));
    }
  });

  it("can be those that a box declares", async () => {
    const box = new ToolBox([
      tool({ name: "b", effect: "pure", input: z.object({ q: z.string() }), run: () => 1 }),
      tool({ name: "a", effect: "pure", input: { type: "object", properties: {} }, run: () => 1 }),
    ]);
    for (const format of FORMATS) {
      const declared = await toolDeclarations(box, format);
      expect(sent(format, ...declared)).toEqual(declared);
    }
  });

  it("keep what only their provider knows, and lose a mark of their owner", () => {
    const strict = { type: "function", function: { ...plain, strict: true } };
    expect(sent("openai-chat", strict)).toEqual([strict]);
    expect(sent("openai-responses", strict)).toMatchObject([{ name: "search", strict: true }]);
    const web = { type: "web_search_20250305", name: "web_search", max_uses: 3 };
    const marked = { ...FORMS["anthropic-messages"], cache_control: { type: "ephemeral" } };
    expect(sent("anthropic-messages", web, marked)).toEqual([FORMS["anthropic-messages"], web]);
    expect(sent("openai-responses", { type: "web_search" })).toEqual([{ type: "web_search" }]);
  });

  it.each([
    ["no name", { description: "x", parameters: {} }, "description, parameters"],
    ["a function without one", { type: "function", function: {} }, "type, function"],
    [
      "a tool that runs, whose schema nobody has told",
      tool({ name: "a", effect: "pure", input: z.object({}), run: () => 1 }),
      "run",
    ],
  ])("refuse %s", (_, given, got) => {
    expect(() => sent("openai-chat", plain, given)).toThrow(
      expect.objectContaining({
        code: "MANX_TOOL_INVALID",
        where: "tools[1]",
        got: expect.stringContaining(got),
      }),
    );
  });

  it("name what is there twice", () => {
    const twice = (): unknown => sent("openai-chat", FORMS["openai-chat"], FORMS.mcp);
    expect(twice).toThrow(expect.objectContaining({ where: "search", got: "two of this name" }));
  });
});
