import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CHAT,
  chat,
  hello,
  MESSAGES,
  notedFields,
  PAIRS,
  RESPONSES,
  weather,
} from "../../test/support/translated-requests.ts";
import { isManxError } from "../core/index.ts";
import { translateRequest } from "./translate-request.ts";

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((one) => {
  const trimmed = one.trim();
  return trimmed === one && trimmed !== "";
});
const name = fc.stringMatching(/^[a-z]{1,8}$/);
const image = fc.constantFrom("https://x.test/a.png", "data:image/png;base64,AAAA");
const userContent = fc.oneof(
  text,
  fc.tuple(text, image).map(([said, url]) => [
    { type: "text", text: said },
    { type: "image_url", image_url: { url } },
  ]),
);
/** A user's turn and an assistant's, the latter with up to three parallel calls and all of their results. */
const exchange = fc
  .tuple(
    userContent,
    fc.option(text, { nil: null }),
    fc.array(fc.tuple(name, text), { maxLength: 3 }),
  )
  .map(([content, said, calls]) => ({ content, said: calls.length === 0 ? "ok" : said, calls }));
const conversation = fc.array(exchange, { minLength: 1, maxLength: 4 }).map((exchanges) =>
  exchanges.flatMap(({ content, said, calls }, turn) => {
    const made = calls.map(([tool, value], i) => ({
      id: `call_${turn}_${i}`,
      type: "function",
      function: { name: tool, arguments: JSON.stringify({ q: value }) },
    }));
    const results = calls.map(([, value], i) => ({
      role: "tool",
      tool_call_id: `call_${turn}_${i}`,
      content: value,
    }));
    const assistant = {
      role: "assistant",
      content: said,
      ...(made.length > 0 && { tool_calls: made }),
    };
    return [{ role: "user", content }, assistant, ...results];
  }),
);
/** Without a tool result at the end, which would join the next user's turn. */
const request = fc
  .record({
    system: fc.option(text, { nil: undefined }),
    messages: conversation,
    limit: fc.integer({ min: 1, max: 5_000 }),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    stream: fc.boolean(),
    choice: fc.constantFrom("auto", "none", "required", {
      type: "function",
      function: { name: "get" },
    }),
    parallel: fc.boolean(),
    user: text,
  })
  .map((one) => ({
    model: "m",
    messages: [
      ...(one.system === undefined ? [] : [{ role: "system", content: one.system }]),
      ...joined(one.messages),
    ],
    max_completion_tokens: one.limit,
    temperature: one.temperature,
    ...(one.stream && { stream: true, stream_options: { include_usage: true } }),
    tools: [weather],
    tool_choice: one.choice,
    parallel_tool_calls: one.parallel,
    user: one.user,
  }));

/** What comes after results is in the same turn on the other wire; a plain assistant word keeps them apart. */
function joined(list: readonly { role: string }[]): object[] {
  return list.flatMap((one, i) =>
    one.role === "user" && list[i - 1]?.role === "tool"
      ? [{ role: "assistant", content: "so" }, one]
      : [one],
  );
}

describe("there and back", () => {
  it.each([MESSAGES, RESPONSES] as const)("chat by way of %s is the same request", (way) => {
    fc.assert(
      fc.property(request, (body) => {
        const before = JSON.stringify(body);
        const there = translateRequest(body, CHAT, way);
        const back = translateRequest(there.body, way, CHAT).body;
        expect(JSON.stringify(body)).toBe(before);
        // "One at a time" has no place beside "none" on Anthropic's API, and "several" is its default.
        const { parallel_tool_calls: parallel, ...expected } = body;
        const { parallel_tool_calls: parallelBack, ...got } = back;
        expect(got).toEqual(expected);
        const canSay = way === RESPONSES || (!parallel && body.tool_choice !== "none");
        expect(parallelBack).toBe(canSay ? parallel : undefined);
      }),
      { numRuns: 80 },
    );
  });

  it("messages by way of responses keep blocks, ids and their order", () => {
    fc.assert(
      fc.property(request, (body) => {
        const source = translateRequest(body, CHAT, MESSAGES).body;
        const there = translateRequest(source, MESSAGES, RESPONSES).body;
        expect(translateRequest(there, RESPONSES, MESSAGES).body.messages).toEqual(source.messages);
      }),
      { numRuns: 50 },
    );
  });
});

describe.each(PAIRS)("%s to %s", (from, to) => {
  it("answers anything with a request or a ManxError", () => {
    const fields = fc.dictionary(
      fc.constantFrom(
        "role",
        "type",
        "content",
        "text",
        "tool_calls",
        "input",
        "source",
        "url",
        "id",
      ),
      fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("user", "assistant", "tool", "text")),
    );
    const body = fc.dictionary(
      fc.constantFrom(
        "messages",
        "input",
        "system",
        "tools",
        "tool_choice",
        "stop",
        "thinking",
        "n",
      ),
      fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(fields)),
    );
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), body), fc.boolean(), (some, withModel) => {
        const value = withModel && typeof some === "object" ? { model: "m", ...some } : some;
        try {
          const { body: out } = translateRequest(value, from, to);
          expect(JSON.parse(JSON.stringify(out))).toBeDefined();
        } catch (thrown) {
          if (!isManxError(thrown)) throw thrown;
          expect(["MANX_REQUEST_INVALID", "MANX_TRANSLATE_FIELD"]).toContain(thrown.code);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("notes a field that it does not know", () => {
    const body = { model: "m", max_tokens: 9, messages: hello, input: "Hi", novel: 1 };
    expect(notedFields(translateRequest(body, from, to))).toContain("dropped novel");
  });

  it("tells what the caller wants", () => {
    const body = { model: "m", max_tokens: 9, messages: hello, input: "Hi", stream: true };
    const { body: out, wants } = translateRequest(body, from, to, { model: "theirs" });
    expect(wants).toEqual({ model: "m", isStream: true, includeUsage: from !== CHAT });
    expect(out).toMatchObject({ model: "theirs", stream: true });
  });
});
describe("tools that only their provider knows", () => {
  it.each([
    [CHAT, { type: "custom", custom: { name: "x" } }],
    [RESPONSES, { type: "web_search" }],
    [MESSAGES, { type: "bash_20250124", name: "bash" }],
  ] as const)(
    "are left out of a request in %s if the operator says so, with a note",
    (from, tool) => {
      const [to] = PAIRS.find(([, one]) => one === from)!;
      const own = from === CHAT ? weather : { type: "function", name: "get" };
      const mine = from === MESSAGES ? { name: "get", input_schema: {} } : own;
      const body = { model: "m", max_tokens: 9, messages: hello, input: "Hi", tools: [tool, mine] };
      expect(() => translateRequest(body, from, to)).toThrow(
        expect.objectContaining({ code: "MANX_TRANSLATE_FIELD", where: "tools[0].type" }),
      );
      const out = translateRequest(body, from, to, { hostedTools: "drop" });
      expect(out.body.tools).toHaveLength(1);
      expect(notedFields(out)).toContain("dropped tools[0]");
    },
  );
});

describe("notes", () => {
  it("name a kind of place once, and are bounded", () => {
    const many = Array.from({ length: 500 }, () => ({ role: "user", content: "x", name: "n" }));
    expect(notedFields(chat({ messages: many, max_tokens: 9 }))).toEqual([
      "dropped messages[0].name",
    ]);
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`novel${i}`, 1]));
    expect(chat(wide).notes).toHaveLength(64);
  });

  it("never hold a value of the body", () => {
    const secret = "hunter2";
    const { notes } = chat({
      novel: secret,
      messages: [{ role: "user", content: "x", name: secret }],
    });
    expect(JSON.stringify(notes)).not.toContain(secret);
  });
});
