/** Compiled prompts: the same bytes from any order, marks within the rules, and hits that a simulated provider confirms. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { type CompileOptions, compilePrompt } from "./compile-prompt.ts";
import type { PromptMessage, PromptPart, PromptTool } from "./prompt-part.ts";
import { SimulatedPromptCache } from "./simulated-prompt-cache.ts";
import { volatileTexts } from "./volatile-text.ts";

type Json = Record<string, unknown>;

const RULES = "Answer in one sentence. ".repeat(300);
const FORMATS = ["anthropic-messages", "openai-chat", "openai-responses"] as const;
const MODELS = {
  "anthropic-messages": "claude-sonnet-4-5",
  "openai-chat": "gpt-4.1",
  "openai-responses": "gpt-5",
} as const;

function options(
  format: CompileOptions["format"],
  more: Partial<CompileOptions> = {},
): CompileOptions {
  return { format, model: MODELS[format], ...more };
}

const TOOLS: readonly PromptTool[] = ["search", "book", "cancel"].map((name) => ({
  name,
  description: `Does ${name}. ${"More. ".repeat(20)}`,
  parameters: {
    type: "object",
    properties: { why: { type: "string" }, id: { type: "integer", minimum: 1 } },
    required: ["why"],
    additionalProperties: false,
  },
}));

const tools = (list: readonly PromptTool[] = TOOLS): PromptPart => ({
  kind: "tools",
  stability: "static",
  tools: list,
});
const system = (text: string, stability: "static" | "session" | "turn" = "static"): PromptPart => ({
  kind: "system",
  stability,
  text,
});
const history = (...messages: PromptMessage[]): PromptPart => ({ kind: "history", messages });
const input = (text: string): PromptPart => ({ kind: "input", text });

const said = (rounds: number): PromptMessage[] =>
  Array.from({ length: rounds * 2 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `message ${i} ${"x".repeat(80)}`,
  }));

/** The same value with keys in a drawn order; those of properties have one. */
function shuffled(value: unknown, draw: () => number, isNames = false): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => shuffled(one, draw));
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => [
    key,
    shuffled(one, draw, key === "properties"),
  ]);
  return Object.fromEntries(isNames ? entries : mixed(entries, draw));
}

function mixed<One>(list: readonly One[], draw: () => number): One[] {
  return list
    .map((one) => [draw(), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

describe("the bytes of a compiled prompt", () => {
  it.each(FORMATS)("do not depend on the order of tools or keys: %s", (format) => {
    const rest = [system(RULES), history(...said(2)), input("And now?")];
    const wanted = compilePrompt([tools(), ...rest], options(format)).json;
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (draws) => {
        const draw = (): number => draws.next().value as number;
        const other = mixed(TOOLS, draw).map((tool) => shuffled(tool, draw) as PromptTool);
        const settings = shuffled({ temperature: 0, max_tokens: 5 }, draw) as Json;
        const plain = { temperature: 0, max_tokens: 5 };
        expect(compilePrompt([tools(other), ...rest], options(format)).json).toBe(wanted);
        expect(compilePrompt(rest, options(format, { settings })).json).toBe(
          compilePrompt(rest, options(format, { settings: plain })).json,
        );
      }),
      { numRuns: 200 },
    );
  });

  it("hold every message, in its order, and what is new last", () => {
    const messages = fc.array(
      fc.record({ role: fc.constantFrom("user", "assistant"), content: fc.string() }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(messages, fc.constantFrom(...FORMATS), (list, format) => {
        const parts = [input("last"), history(...list), system("s", "turn")];
        const { body } = compilePrompt(parts, options(format));
        const made = (body.messages ?? body.input) as Json[];
        const bare = made.map(({ role, content }) => ({
          role,
          content: typeof content === "string" ? content : (content as Json[])[0]!.text,
        }));
        expect(bare).toEqual([...list, { role: "user", content: "s\n\nlast" }]);
      }),
    );
  });

  it("have what is stable before what is not, whatever the order of the parts", () => {
    const parts: PromptPart[] = [
      input("what now"),
      system("of the turn", "turn"),
      {
        kind: "documents",
        stability: "session",
        documents: [{ title: "Order", text: "of the session" }],
      },
      { kind: "documents", stability: "static", documents: [{ text: "manual" }] },
      system("rules"),
      tools(),
    ];
    const { json, layout } = compilePrompt(parts, options("anthropic-messages"));
    const places = ["Does book", "rules", "manual", "of the session", "of the turn", "what now"];
    const found = places.map((text) => json.indexOf(text));
    expect(found).toEqual([...found].sort((a, b) => a - b));
    expect(layout.parts.map(({ kind }) => kind)).toEqual([
      "setting",
      "tool",
      "tool",
      "tool",
      "system",
      "system",
      "message",
    ]);
  });

  it("are the provider's own forms", () => {
    const parts = [tools(TOOLS.slice(0, 1)), system("rules"), input("hi")];
    const chat = compilePrompt(parts, options("openai-chat")).body;
    expect(chat).toMatchObject({
      tools: [{ type: "function", function: { name: "search" } }],
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "hi" },
      ],
      prompt_cache_key: expect.stringMatching(/^manx-[0-9a-z]+$/),
    });
    const responses = compilePrompt(parts, options("openai-responses", { cacheKey: "k" })).body;
    expect(responses).toMatchObject({ instructions: "rules", prompt_cache_key: "k" });
    const anthropic = compilePrompt(parts, options("anthropic-messages")).body;
    expect(anthropic).toMatchObject({ system: [{ type: "text", text: "rules" }] });
    expect(anthropic).not.toHaveProperty("prompt_cache_key");
  });
});

describe("marks", () => {
  const paths = (parts: readonly PromptPart[], more: Partial<CompileOptions> = {}): string[] =>
    compilePrompt(parts, options("anthropic-messages", more)).marks.map(({ path }) => path);

  it("stand behind static, behind session, and at the caller's last two messages", () => {
    const parts = [
      tools(),
      system(RULES),
      system("For Ann.", "session"),
      history(...said(2)),
      input("?"),
    ];
    expect(paths(parts)).toEqual(["system[0]", "system[1]", "messages[2]", "messages[4]"]);
    expect(paths([tools(), input("?")], { minimumTokens: 0 })).toEqual(["tools[2]", "messages[0]"]);
  });

  it("never stand on a message that is gone in the next request", () => {
    const parts = [system(RULES), history(...said(2)), system("10:00", "turn"), input("?")];
    expect(paths(parts)).toEqual(["system[0]", "messages[0]", "messages[2]"]);
  });

  it("are left out where the prefix is too short, and it is said", () => {
    const { marks, findings, cacheableTokens, hitShare } = compilePrompt(
      [system("Be brief."), input("?")],
      options("anthropic-messages"),
    );
    expect([marks, cacheableTokens, hitShare]).toEqual([[], 0, 0]);
    expect(findings).toMatchObject([{ problem: "too_short" }]);
    expect(findings[0]!.text).toMatch(/below the 1024 that anthropic keeps .*as of 2026/);
  });

  it("may live longer where they stand first, and not the other way round", () => {
    const parts = [system(RULES), history(...said(1)), input("?")];
    const long = options("anthropic-messages", { lifetimes: { static: "1h" } });
    const { marks, body } = compilePrompt(parts, long);
    expect(marks.map(({ lifetime }) => lifetime)).toEqual(["1h", "5m", "5m"]);
    expect(body.system).toMatchObject([{ cache_control: { type: "ephemeral", ttl: "1h" } }]);
    const refused =
      (lifetimes: CompileOptions["lifetimes"], format: CompileOptions["format"]) => () =>
        compilePrompt(parts, options(format, { lifetimes: lifetimes! }));
    expect(refused({ static: "5m", session: "1h" }, "anthropic-messages")).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", where: "lifetimes" }),
    );
    expect(refused({ static: "1h" }, "openai-chat")).toThrow(/./);
    expect(
      compilePrompt(parts, options("openai-chat", { lifetimes: { static: "24h" } })).body,
    ).toMatchObject({
      prompt_cache_retention: "24h",
    });
  });

  it("are what a simulated provider takes and hits, on any conversation", () => {
    const round = fc.record({ text: fc.string({ maxLength: 40 }), turn: fc.boolean() });
    fc.assert(
      fc.property(fc.array(round, { minLength: 2, maxLength: 6 }), fc.nat(2), (rounds, kind) => {
        const clock = new SimClock();
        const cache = new SimulatedPromptCache({ clock });
        const format = FORMATS[kind]!;
        const list: PromptMessage[] = [];
        let kept = 0;
        for (const { text, turn } of rounds) {
          const parts: PromptPart[] = [
            ...(turn ? [system(`It is ${clock.nowUs()}`, "turn")] : []),
            tools(),
            system(RULES),
            history(...list),
            input(`? ${text}`),
          ];
          const made = compilePrompt(parts, options(format));
          const { usage } = cache.ask(made.body);
          // What was promised of the last one can be read now, to the step of the provider.
          expect(usage.readTokens).toBeGreaterThanOrEqual(kept - made.rules.stepTokens);
          kept = made.cacheableTokens;
          list.push({ role: "user", content: `? ${text}` }, { role: "assistant", content: "Yes." });
          clock.runSync(clock.nowUs() + 60_000_000);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("a part that is declared static", () => {
  it.each([
    ["Now: 2026-11-29T10:00:01Z.", "time_stamp", 5],
    ["é Today is 2026-11-29.", "time_stamp", 12],
    ["Current time 10:31, be quick", "time_stamp", 13],
    ["at 1764410000 s", "time_stamp", 3],
    ["Request 6f1c9a52-0000-4aaa-8aaa-aaaaaaaaaaaa.", "random_id", 8],
    ["trace deadbeefdeadbeef0", "random_id", 6],
    ["id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "random_id", 3],
    ["of session_8fKq2LmZ91", "random_id", 3],
  ])("has a finding for %s", (text, problem, byte) => {
    const { findings } = compilePrompt([system(text)], options("openai-chat"));
    expect(findings[0]).toMatchObject({ problem, byte, part: "system" });
    const strict = (): unknown =>
      compilePrompt([system(text)], options("openai-chat", { strict: true }));
    expect(strict).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", got: `${problem} at byte ${byte}` }),
    );
  });

  it.each([
    "The law of 2024-01-01 holds. Version 1.2.3, claude-sonnet-4-5-20250929, 50 tokens, #a0b1c2.",
    "Use internationalization-of-things and a ratio of 16:9.",
    "Call +49 151 12345678 or 1234567890.",
  ])("has none for %s", (text) => {
    expect(volatileTexts(text)).toEqual([]);
  });

  it("is looked at in its tools and documents too; session and turn may have anything", () => {
    const time = "Now: 2026-11-29T10:00:01Z.";
    const parts: PromptPart[] = [
      system(time, "session"),
      system(time, "turn"),
      {
        kind: "tools",
        name: "own",
        stability: "static",
        tools: [{ name: "clock", description: time }],
      },
      { kind: "documents", stability: "static", documents: [{ title: "A", text: time }] },
    ];
    const { findings } = compilePrompt(parts, options("openai-chat"));
    expect(findings.filter(({ byte }) => byte !== null)).toMatchObject([
      { part: "own", field: "clock", byte: 5 },
      { part: "documents", field: "", byte: 10 },
    ]);
  });

  it("may have no tools that vary by turn", () => {
    const part: PromptPart = { kind: "tools", stability: "turn", tools: TOOLS };
    const { findings } = compilePrompt([part], options("openai-chat"));
    expect(findings.map(({ problem }) => problem)).toContain("turn_tools");
    expect(() => compilePrompt([part], options("openai-chat", { strict: true }))).toThrow(/stable/);
  });
});

describe("bad input", () => {
  const refused =
    (parts: readonly PromptPart[], more: Partial<CompileOptions> = {}) =>
    () =>
      compilePrompt(parts, options("openai-chat", more));

  it("refuses a shortest prefix that is no number of tokens", () => {
    for (const minimumTokens of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => compilePrompt([], { format: "openai-chat", model: "m", minimumTokens })).toThrow(
        expect.objectContaining({ code: "MANX_REQUEST_INVALID", where: "minimumTokens" }),
      );
    }
  });

  it("is refused with its place", () => {
    expect(refused([input("a"), input("b")])).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", where: "parts" }),
    );
    expect(refused([], { settings: { messages: [] } })).toThrow(
      expect.objectContaining({ where: "settings.messages" }),
    );
    expect(refused([tools([TOOLS[0]!, TOOLS[0]!])])).toThrow(
      expect.objectContaining({ code: "MANX_TOOL_INVALID", where: "search" }),
    );
    expect(refused(Array.from({ length: 20_001 }, () => system("a")))).toThrow(/./);
  });

  it("is borne where it means something: no parts, 20,000 parts, empty texts, an unknown model", () => {
    expect(compilePrompt([], options("openai-chat"))).toMatchObject({ tokens: 0, hitShare: 0 });
    const many = Array.from({ length: 20_000 }, (_, i) => system(`rule ${i}`));
    expect(compilePrompt(many, options("openai-chat")).tokens).toBeGreaterThan(40_000);
    expect(compilePrompt([system(" "), input("")], options("anthropic-messages")).body).toEqual({
      model: "claude-sonnet-4-5",
      messages: [],
    });
    const { findings, marks } = compilePrompt(
      [system(RULES), input("?")],
      options("anthropic-messages", { model: "claude-of-tomorrow" }),
    );
    expect(findings).toMatchObject([{ problem: "unknown_model" }]);
    expect(marks.length).toBeGreaterThan(0);
  });
});
