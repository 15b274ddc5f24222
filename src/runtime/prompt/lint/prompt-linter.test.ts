/** The linter against planted changes, and what it makes of what people feed it. */
import { describe, expect, it } from "vitest";
import { MUTATIONS, scoreMutation } from "../../../../test/support/prompt-mutations.ts";
import { placeInJson, stepsOf } from "./json-place.ts";
import { ASSUMED_TOKENS_PER_S, PrefillRate } from "./prefill-rate.ts";
import { type LintOptions, PromptLinter } from "./prompt-linter.ts";
import { recordedRequests } from "./recorded-request.ts";

type Json = Record<string, unknown>;

const tool = (name: string) => ({ name, input_schema: { type: "object", properties: {} } });

function lint(records: readonly unknown[], options: LintOptions = {}) {
  const linter = new PromptLinter(options);
  const linted = records.flatMap((record, i) => {
    const json = JSON.stringify(record);
    const source = { file: "a.jsonl", line: i + 1, json };
    return recordedRequests(JSON.parse(json)).map((request) => linter.add(request, source));
  });
  return { linted, summary: linter.summary() };
}

const RULES = "Answer in one sentence. ".repeat(300);

/** One-shot questions to one agent, each a conversation of its own. */
function asked(system: string, question: string, more: Json = {}): Json {
  return {
    model: "claude-sonnet-4-5",
    tools: [tool("search")],
    system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }],
    messages: [{ role: "user", content: question }],
    ...more,
  };
}

describe("planted changes", () => {
  it("are named with cause, field, byte and the provider's own reason, each of them in both formats", () => {
    const wrong: string[] = [];
    const seen = new Set<string>();
    for (let seed = 0; seed < 400; seed += 1) {
      const score = scoreMutation(seed);
      seen.add(score.mutation);
      if (score.wrong.length > 0)
        wrong.push(`${seed} ${score.mutation}: ${score.wrong.join("; ")}`);
    }
    expect(wrong).toEqual([]);
    expect(seen.size).toBe(Object.keys(MUTATIONS).length * 2);
  });
});

describe("requests of one agent", () => {
  it("that open conversations of their own are compared by tools and system", () => {
    const { summary, linted } = lint([
      asked(`Now: 2026-11-29T10:00:01Z. ${RULES}`, "Where is it?"),
      asked(`Now: 2026-11-29T10:00:09Z. ${RULES}`, "When does it come?"),
      asked(`Now: 2026-11-29T10:00:09Z. ${RULES}`, "Who has it?"),
    ]);
    expect(summary).toMatchObject({ requests: 3, conversations: 3, breaks: 1 });
    expect(linted[1]!.found).toMatchObject({ cause: "time_stamp", field: "system[0].text" });
    expect(summary.couldTokens).toBeGreaterThan(3_000);
    expect(summary.gotTokens).toBeGreaterThan(1_500);
  });

  it("with a system text of another agent are not", () => {
    const other = "You translate from German. ".repeat(200);
    expect(lint([asked(RULES, "a"), asked(other, "b")]).summary.breaks).toBe(0);
  });

  it("that name the user at the top have a finding at that byte", () => {
    const { linted } = lint([
      asked(`Hello Alice! ${RULES}`, "a"),
      asked(`Hello Bob! ${RULES}`, "b"),
    ]);
    expect(linted[1]!.found).toMatchObject({ cause: "system_changed", byteInPart: 6 });
  });

  it("that share a session with another agent's are compared with their own", () => {
    const main = (said: string[]) => ({
      conversation: "s",
      body: asked(RULES, "", { messages: turns(said) }),
    });
    const sub = (said: string[]) => {
      const other = "You search the web and sum up. ".repeat(200);
      return {
        conversation: "s",
        body: asked(other, "", { messages: turns(said), tools: [tool("web")] }),
      };
    };
    const turns = (said: string[]) =>
      said.map((content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content }));
    const { summary } = lint([
      main(["a"]),
      sub(["find a"]),
      main(["a", "b", "c"]),
      sub(["find a", "d", "e"]),
      main(["a", "b", "c", "d", "e"]),
    ]);
    expect(summary).toMatchObject({ requests: 5, breaks: 0 });
    expect(summary.gotTokens).toBeGreaterThan(3 * 1_500);
  });

  it("that come after the provider let the prefix go are counted apart", () => {
    const at = (minute: number, more: Json = {}) => ({
      timestamp: new Date(Date.UTC(2026, 10, 29, 10, minute)).toISOString(),
      body: asked(RULES, "a", more),
    });
    const { summary } = lint([at(0), at(4), at(10), at(14)]);
    expect(summary).toMatchObject({ breaks: 0, late: { requests: 1 } });
    expect(summary.late.tokens).toBeGreaterThan(1_500);
    const control = { type: "ephemeral", ttl: "1h" };
    const long = { system: [{ type: "text", text: RULES, cache_control: control }] };
    expect(lint([at(0, long), at(59, long)]).summary.late.requests).toBe(0);
  });

  it("that cut the conversation are still the same one", () => {
    const said = Array.from({ length: 8 }, (_, i) => ({
      role: i % 2 === 0 ? "user" : "assistant",
      content: `message ${i} ${"x".repeat(100)}`,
    }));
    const { linted } = lint([
      asked(RULES, "", { messages: said }),
      asked(RULES, "", { messages: said.slice(2) }),
    ]);
    expect(linted[1]!.found?.cause).toBe("history_cut");
  });
});

describe("what a break costs", () => {
  const pair = (model: string, usage?: object): unknown[] => [
    { body: asked(`At 10:00:01 ${RULES}`, "a", { model }), usage },
    { body: asked(`At 10:00:02 ${RULES}`, "a", { model }), usage },
  ];

  it("in time is an assumption, and named as one", () => {
    const { summary } = lint(pair("claude-sonnet-4-5"));
    expect(summary.prefill).toEqual({ tokensPerS: ASSUMED_TOKENS_PER_S, source: "assumed", n: 0 });
    const { lostTokens, lostTtftUs } = summary.groups[0]!;
    expect(lostTtftUs).toBe(Math.round((lostTokens / ASSUMED_TOKENS_PER_S) * 1e6));
  });

  it("in money is the difference of two prices, and nothing for a model without one", () => {
    const known = lint(pair("claude-sonnet-4-5")).summary;
    expect(known.lostUsd).toBeCloseTo((known.lostTokens * 2.7) / 1e6, 10);
    const unknown = lint(pair("claude-of-tomorrow")).summary;
    expect([unknown.lostUsd, unknown.unpriced]).toEqual([null, ["claude-of-tomorrow"]]);
    const given = lint(pair("claude-of-tomorrow"), { price: { inputUsd: 10, cachedUsd: 1 } });
    expect(given.summary.lostUsd).toBeCloseTo((given.summary.lostTokens * 9) / 1e6, 10);
  });

  it("is measured where records have usage and times", () => {
    const rate = new PrefillRate(null);
    for (let i = 1; i <= 40; i += 1) {
      // 10,000 tokens a second behind 300 ms; every tenth is slow for another reason.
      rate.add(i * 500, 300_000 + i * 50_000 + (i % 10 === 0 ? 2_000_000 : 0));
    }
    expect(rate.figure()).toMatchObject({ source: "measured", n: 40 });
    expect(rate.figure().tokensPerS / 10_000).toBeCloseTo(1, 1);
    const flat = new PrefillRate(null);
    for (let i = 0; i < 40; i += 1) flat.add(700, 300_000 + i);
    expect(flat.figure().source).toBe("assumed");
  });

  it("stands beside the provider's own count", () => {
    const usage = {
      input_tokens: 100,
      cache_read_input_tokens: 300,
      cache_creation_input_tokens: 0,
    };
    expect(lint(pair("claude-sonnet-4-5", usage)).summary.usage).toEqual({
      requests: 2,
      promptTokens: 800,
      cachedTokens: 600,
    });
  });
});

describe("what is shown", () => {
  const secret = "sk-ant-api03-abcdefghijklmnop";
  const records = [
    asked(`Use key ${secret}1 for Ms Weber. ${RULES}`, "a"),
    asked(`Use key ${secret}2 for Ms Weber. ${RULES}`, "b"),
  ];

  it("is a shape by default: no letter of a prompt", () => {
    const text = JSON.stringify(lint(records).summary);
    expect(text).not.toMatch(/Weber|sk-ant|abcdef/);
    expect(text).toContain('"breaks":1');
  });

  it("is a shape where a time runs into a word", () => {
    const at = (second: number) => asked(`At 2026-11-29T10:00:0${second}ZWeber ${RULES}`, "a");
    const [group] = lint([at(1), at(2)]).summary.groups;
    expect(group!.examples[0]!.culprit.split(" → ")[0]).toBe("0000-00-00T00:00:00xxxxxx");
  });

  it("is the text on demand, but never a secret", () => {
    const text = JSON.stringify(lint(records, { showText: true }).summary);
    expect(text).toContain("Weber");
    expect(text).not.toMatch(/sk-ant|abcdef/);
  });
});

describe("bounds and bad input", () => {
  it("keeps no more than it may, and goes on", () => {
    const records = Array.from({ length: 200 }, (_, i) => asked(RULES, `question ${i}`));
    const { summary } = lint(records, { limits: { conversationsMax: 3, charsMax: 20_000 } });
    expect(summary).toMatchObject({ requests: 200, breaks: 0 });
  });

  it("bears 20,000 parts, empty messages, nulls and bodies without messages", () => {
    const content = Array.from({ length: 20_100 }, (_, i) => ({ type: "text", text: `part ${i}` }));
    const { summary } = lint([
      asked(RULES, "", { messages: [{ role: "user", content }] }),
      asked(RULES, "", { messages: [{ role: "user", content: [...content, content[0]] }] }),
      { model: "gpt-4.1", messages: [] },
      { model: "gpt-4.1", messages: [null, 3, "x", { role: "user" }] },
      { model: "x" },
      null,
      "text",
    ]);
    expect(summary).toMatchObject({ requests: 4, breaks: 0 });
  });

  it("keeps providers apart that share a file and a question", () => {
    const chat = { model: "gpt-4.1", messages: [{ role: "user", content: "a" }] };
    const { summary } = lint([asked(RULES, "a"), chat, asked(RULES, "a"), chat]);
    expect(summary).toMatchObject({ conversations: 2, breaks: 0 });
    expect(summary.models.map(({ format }) => format).sort()).toEqual([
      "anthropic-messages",
      "openai-chat",
    ]);
  });

  it("says what no cache will keep", () => {
    const kinds = (body: Json): string[] => lint([body]).summary.problems.map(({ kind }) => kind);
    expect(kinds(asked("Be brief.", "a"))).toEqual(["too_short"]);
    expect(kinds(asked(RULES, "a"))).toEqual([]);
    expect(kinds(asked(RULES, "a", { system: RULES }))).toEqual(["no_marks"]);
    expect(kinds(asked(RULES, "a", { model: "claude-of-tomorrow" }))).toEqual(["unknown_model"]);
    const marked = (ttl: string) => ({
      type: "text",
      text: RULES,
      cache_control: { type: "ephemeral", ttl },
    });
    expect(kinds(asked("", "a", { system: [marked("5m"), marked("1h")] }))).toEqual([
      "lifetime_order",
    ]);
    const five = Array.from({ length: 5 }, () => marked("5m"));
    expect(kinds(asked("", "a", { system: five }))).toEqual(["too_many_marks"]);
  });
});

describe("records", () => {
  const body = { model: "gpt-4.1", messages: [{ role: "user", content: "a" }] };
  it.each([
    ["a body", body, []],
    ["OpenAI's batch line", { custom_id: "1", method: "POST", url: "/v1/x", body }, ["body"]],
    ["Anthropic's batch line", { custom_id: "1", params: body }, ["params"]],
    ["a logged pair", { request: { headers: {}, body }, response: {} }, ["request", "body"]],
    ["a body as text", { request: { body: JSON.stringify(body) } }, ["request", "body"]],
    ["a list", [body], [0]],
  ])("may be %s", (_, record, path) => {
    expect(recordedRequests(record)).toMatchObject([{ body, path }]);
  });

  it("may be HAR, with its times", () => {
    const entry = {
      startedDateTime: "2026-11-29T10:00:00Z",
      timings: { wait: 812.5 },
      request: { postData: { text: JSON.stringify(body) } },
      response: { content: { text: JSON.stringify({ usage: { prompt_tokens: 9 } }) } },
    };
    const har = { log: { entries: [{ request: { method: "GET" } }, entry] } };
    expect(recordedRequests(har)).toMatchObject([
      { body, ttftUs: 812_500, usage: { promptTokens: 9, cachedTokens: 0 } },
    ]);
  });

  it("have a place in their file, through escapes and through JSON in JSON", () => {
    const json = '{ "a" : [1, {"b\\n": "x\\u00e9\\"y"}] }';
    const at = placeInJson(json, ["a", 1, "b\n"], 3)!;
    expect(json.slice(at)).toBe('y"}] }');
    expect(placeInJson(json, ["a", 2])).toBeNull();
    expect(stepsOf("messages[2].content[0]")).toEqual(["messages", 2, "content", 0]);
  });
});
