/** RT-12: what broke the prefix? A time stamp, the order of tools, of keys, of results. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../src/clock/index.ts";
import { divergenceOf, inCanonicalOrder, layoutOf } from "../../src/policy/index.ts";
import { PromptLinter, recordedRequests, SimulatedPromptCache } from "../../src/runtime/index.ts";

const tool = (name: string) => ({
  name,
  description: "x".repeat(400),
  input_schema: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
});
const call = (id: string) => ({ type: "tool_use", id, name: "x", input: { q: "a" } });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: `of ${id}` });
const base = {
  model: "claude-sonnet-4-5",
  tools: [tool("x"), tool("y")],
  system: [{ type: "text", text: "You help." }],
  messages: [
    { role: "user", content: "Find it." },
    { role: "assistant", content: [call("toolu_1"), call("toolu_2")] },
    { role: "user", content: [result("toolu_1"), result("toolu_2")] },
    { role: "assistant", content: "Found." },
    { role: "user", content: "And now?" },
  ],
};

function between(before: object, after: object) {
  return divergenceOf(layoutOf({ ...base, ...before }), layoutOf({ ...base, ...after }));
}

const uuid = (digit: string): string => `${digit.repeat(8)}-aaaa-4aaa-8aaa-aaaaaaaaaaaa`;
const system = (text: string) => ({ system: [{ type: "text", text }] });

describe("RT-12: the first difference in render order", () => {
  it("(a) is a time stamp in the system text, where it begins", () => {
    const found = between(system("Now: 10:00:01 …"), system("Now: 10:00:15 …"));
    expect(found).toMatchObject({ cause: "time_stamp", path: "system[0]", byte: 5 });
    // Behind it lie system and messages; before it the tools.
    expect(found!.keptTokens).toBeGreaterThan(200);
    expect(found!.missedTokens).toBeGreaterThan(0);
  });

  it("(b) is the order of the tools, at the first of them", () => {
    const found = between({}, { tools: [tool("y"), tool("x")] });
    expect(found).toMatchObject({ cause: "tools_reordered", path: "tools[0]", keptTokens: 0 });
  });

  it("(c) is the order of keys in a schema of the same meaning", () => {
    const { input_schema: schema, ...rest } = tool("x");
    const { type, properties, required } = schema;
    const other = { ...rest, input_schema: { properties, type, required } };
    const found = between({}, { tools: [other, tool("y")] });
    expect(found).toMatchObject({ cause: "key_order", path: "tools[0]" });
  });

  it("(d) is an id in the last block of the system, and costs what stands behind that alone", () => {
    const blocks = (id: string) => ({
      system: [
        { type: "text", text: "z".repeat(4_000) },
        { type: "text", text: `Request ${id}.` },
      ],
    });
    const found = between(blocks(uuid("1")), blocks(uuid("2")));
    expect(found).toMatchObject({ cause: "random_id", path: "system[1]", byte: 8 });
    expect(found!.keptTokens).toBeGreaterThan(1_000);
    expect(found!.missedTokens).toBeLessThan(200);
  });

  it("(e) is the order of two results", () => {
    const swapped = base.messages.map((message, at) =>
      at === 2 ? { ...message, content: [result("toolu_2"), result("toolu_1")] } : message,
    );
    const found = between({}, { messages: swapped });
    expect(found).toMatchObject({ cause: "results_reordered", path: "messages[2].content[0]" });
    // Even where nothing follows them yet.
    const last = between(
      { messages: base.messages.slice(0, 3) },
      { messages: swapped.slice(0, 3) },
    );
    expect(last?.cause).toBe("results_reordered");
  });

  it("(f) is a tool that was added at the end: a miss from the tools on", () => {
    const found = between({}, { tools: [...base.tools, tool("z")] });
    expect(found).toMatchObject({ cause: "tools_added", path: "system[0]" });
  });

  it("(g) is none where only the last message differs, or where the conversation goes on", () => {
    const other = [...base.messages.slice(0, 4), { role: "user", content: "And then?" }];
    expect(between({}, { messages: other })).toBeNull();
    const longer = [...base.messages, { role: "assistant", content: "Yes." }, base.messages[0]!];
    expect(between({}, { messages: longer })).toBeNull();
  });

  it("(h) is none for another order of the body's fields, which no API renders by", () => {
    const { tools, system: text, messages, model } = base;
    expect(
      divergenceOf(layoutOf(base), layoutOf({ messages, text, system: text, tools, model })),
    ).toBeNull();
  });

  it("(i) is the whole prefix for another model or other thinking", () => {
    expect(between({}, { model: "claude-opus-4-1" })).toMatchObject({
      cause: "model_changed",
      keptTokens: 0,
    });
    const found = between({}, { thinking: { type: "enabled", budget_tokens: 2_000 } });
    expect(found).toMatchObject({ cause: "settings_changed", keptTokens: 0 });
  });

  it("is an earlier message that was changed or is gone", () => {
    const changed = [{ role: "user", content: "Found it?" }, ...base.messages.slice(1)];
    expect(between({}, { messages: changed })?.cause).toBe("history_changed");
    expect(between({}, { messages: base.messages.slice(2) })?.cause).toBe("history_cut");
  });
});

describe("RT-12: one canonical order", () => {
  /** The same value with the keys of every object, but those of properties, in a drawn order. */
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

  it("makes equal bytes of tools, keys and results in any order", () => {
    const wanted = JSON.stringify(inCanonicalOrder(base));
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (draws) => {
        const draw = (): number => draws.next().value as number;
        const [ask, calls, results, ...rest] = base.messages;
        const request = {
          ...Object.fromEntries(mixed(Object.entries(base), draw)),
          tools: mixed(base.tools, draw).map((one) => shuffled(one, draw)),
          messages: [
            ask,
            calls,
            { ...results, content: mixed(results!.content as object[], draw) },
            ...rest,
          ],
        };
        expect(JSON.stringify(inCanonicalOrder(request))).toBe(wanted);
      }),
      { numRuns: 1_000 },
    );
  });

  it("leaves the properties of a schema as they stand: models fill them in that order", () => {
    const properties = { reasoning: { type: "string" }, answer: { type: "string" } };
    const made = inCanonicalOrder({ tools: [{ name: "x", input_schema: { properties } }] });
    expect(JSON.stringify(made)).toContain('"reasoning":{"type":"string"},"answer"');
  });

  it("orders the results of a chat and of responses by their calls", () => {
    const chat = {
      messages: [
        { role: "assistant", tool_calls: [{ id: "a" }, { id: "b" }] },
        { role: "tool", tool_call_id: "b", content: "2" },
        { role: "tool", tool_call_id: "a", content: "1" },
        { role: "user", content: "Go on" },
      ],
    };
    const ids = (inCanonicalOrder(chat).messages as { tool_call_id?: string }[]).map(
      (one) => one.tool_call_id,
    );
    expect(ids).toEqual([undefined, "a", "b", undefined]);
    const input = [
      { type: "function_call", call_id: "a", name: "f" },
      { type: "function_call", call_id: "b", name: "f" },
      { type: "function_call_output", call_id: "b", output: "2" },
      { type: "function_call_output", call_id: "a", output: "1" },
    ];
    const outputs = (inCanonicalOrder({ input }).input as { output?: string }[]).slice(2);
    expect(outputs.map(({ output }) => output)).toEqual(["1", "2"]);
  });
});

describe("RT-12: recorded pairs, and a provider that keeps prefixes", () => {
  const long = (text: string) => system(`${text} ${"Rules. ".repeat(1_000)}`);
  const [x, y] = [tool("x"), tool("y")];
  const { type, properties, required } = x.input_schema;
  const otherKeys = { ...x, input_schema: { properties, type, required } };
  const results = base.messages.map((message, at) =>
    at === 2 ? { ...message, content: [result("toolu_2"), result("toolu_1")] } : message,
  );
  const lastOther = [...base.messages.slice(0, 4), { role: "user", content: "And then?" }];
  const tailId = (digit: string) => ({
    system: [...long("You help.").system, { type: "text", text: `Request ${uuid(digit)}.` }],
  });

  const pairs: [string, object, object, string | null, string, string | null][] = [
    [
      "a",
      long("Now: 10:00:01"),
      long("Now: 10:00:15"),
      "time_stamp",
      "system[0].text",
      "system_changed",
    ],
    ["b", {}, { tools: [y, x] }, "tools_reordered", "tools[0]", "tools_changed"],
    [
      "c",
      {},
      { tools: [otherKeys, y] },
      "key_order",
      "tools[0].input_schema.properties",
      "tools_changed",
    ],
    ["d", tailId("1"), tailId("2"), "random_id", "system[1].text", "system_changed"],
    [
      "e",
      {},
      { messages: results },
      "results_reordered",
      "messages[2].content[0]",
      "messages_changed",
    ],
    ["f", {}, { tools: [x, y, tool("z")] }, "tools_added", "tools[2]", "tools_changed"],
    ["g", {}, { messages: lastOther }, null, "", "messages_changed"],
    ["i", {}, { model: "claude-opus-4-1" }, "model_changed", "model", "model_changed"],
    ["i", {}, { thinking: { type: "enabled" } }, "settings_changed", "thinking", "unavailable"],
  ];

  it.each(pairs)(
    "(%s) are told with field and reason, and miss as it says",
    (_, one, two, cause, field, reason) => {
      const bodies = [one, two].map((change) => ({ ...base, ...long("You help."), ...change }));
      const linter = new PromptLinter();
      const [, linted] = bodies.map((body, i) => {
        const record = { conversation: "c", body };
        const source = { file: "log.jsonl", line: i + 1, json: JSON.stringify(record) };
        return linter.add(recordedRequests(record)[0]!, source);
      });
      expect(linted!.reason).toBe(reason);
      expect([linted!.found?.cause ?? null, linted!.found?.field ?? ""]).toEqual([cause, field]);
      expect(linted!.found?.providerReason ?? null).toBe(cause === null ? null : reason);

      const cache = new SimulatedPromptCache({ clock: new SimClock(), minimumTokens: 0 });
      // Kept automatically, with a mark behind the last block.
      const [before, after] = bodies.map((body) => ({
        ...body,
        cache_control: { type: "ephemeral" },
      }));
      cache.ask(before!);
      const { usage, missReason } = cache.ask(after!, before!);
      expect(missReason).toBe(reason);
      const isKept = linted!.found === null;
      // With one mark only the whole prefix is an entry: any break before it loses all.
      expect(usage.readTokens > 0).toBe(isKept && reason === null);
    },
  );

  it("(g) and what goes on hit up to where they go on, by share of tokens and not yes or no", () => {
    const cache = new SimulatedPromptCache({ clock: new SimClock(), minimumTokens: 0 });
    const marked = (messages: readonly object[]) => {
      const [first] = long("You help.").system;
      const text = { ...first, cache_control: { type: "ephemeral" } };
      return { ...base, system: [text], messages };
    };
    cache.ask(marked(base.messages));
    const { readTokens, inputTokens } = cache.ask(marked(lastOther)).usage;
    expect(readTokens / (readTokens + inputTokens)).toBeGreaterThan(0.9);
    expect(inputTokens).toBeGreaterThan(0);
  });
});
