import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bytesOf,
  chatWire,
  type Decoded,
  decode,
  delta,
  everyByte,
  messagesWire,
  typesIn,
} from "../../test/support/wire-text.ts";
import { createEncoder, type StreamEventBody, type StreamFormat } from "../stream/index.ts";
import { StreamTranslator } from "./stream-translator.ts";

const FORMATS: readonly StreamFormat[] = ["openai-chat", "openai-responses", "anthropic-messages"];
const PAIRS = FORMATS.flatMap((from) => FORMATS.map((to) => [from, to] as const)).filter(
  ([from, to]) => from !== to,
);
const OPTIONS = { id: "gen_1", createdS: 1_700_000_000, includeUsage: true };

interface Translated {
  readonly wire: string;
  readonly isComplete: boolean;
}

function translate(
  from: StreamFormat,
  to: StreamFormat,
  wire: string | Uint8Array,
  cuts: readonly number[] = [],
): Translated {
  const bytes = typeof wire === "string" ? bytesOf(wire) : wire;
  const translator = new StreamTranslator(from, to, OPTIONS);
  const text = new TextDecoder();
  let out = "";
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    out += text.decode(translator.push(bytes.subarray(at, cut), 0));
    at = cut;
  }
  const end = translator.end(0);
  return { wire: out + text.decode(end.bytes), isComplete: end.isComplete };
}

/** What an answer means, whatever wire it came on. */
function meaningOf({ events, completion, text }: Decoded) {
  const thought = events.map((one) => (one.type === "reasoning-delta" ? one.text : "")).join("");
  const refused = events.map((one) => (one.type === "refusal-delta" ? one.text : "")).join("");
  const pieces = new Map<number, string>();
  for (const one of events) {
    if (one.type === "tool-delta") pieces.set(one.call, (pieces.get(one.call) ?? "") + one.json);
  }
  const calls = completion.toolCalls.map(({ id, name, argumentsText }) => ({
    id,
    name,
    argumentsText,
  }));
  return { text, refused, thought, calls, pieces: [...pieces.values()], reason: completion.reason };
}

const piece = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const value = fc.jsonValue({ maxDepth: 2 });
const args = fc.dictionary(fc.string({ maxLength: 6 }), value, {
  maxKeys: 3,
  noNullPrototype: true,
});

/** A call whose arguments come in pieces, blanks and escapes included. */
function call(number: number, object: object, cut: number): StreamEventBody[] {
  const json = JSON.stringify(object, null, cut % 3);
  const at = cut % (json.length + 1);
  const place = { choice: 0, call: number };
  const pieces = [json.slice(0, at), json.slice(at)].filter((one) => one !== "");
  return [
    {
      type: "tool-start",
      ...place,
      id: `call_${number}`,
      name: "get",
      idGenerated: false,
      byServer: false,
    },
    ...pieces.map((one) => ({ type: "tool-delta", ...place, json: one }) as const),
    {
      type: "tool-end",
      ...place,
      id: `call_${number}`,
      name: "get",
      idGenerated: false,
      byServer: false,
      argumentsText: json,
      repaired: false,
      problem: null,
    },
  ];
}

const answer = fc
  .record({
    thought: fc.array(piece, { maxLength: 3 }),
    text: fc.array(piece, { maxLength: 5 }),
    calls: fc.array(fc.tuple(args, fc.nat(40)), { maxLength: 3 }),
    short: fc.boolean(),
    usage: fc.record({ prompt: fc.nat(999), out: fc.nat(99), cached: fc.nat(99) }),
  })
  .map(({ thought, text, calls, short, usage: counts }) => {
    const reason = short ? "length" : calls.length > 0 ? "tool_calls" : "stop";
    const usage = {
      inputTokens: counts.prompt + counts.cached,
      outputTokens: counts.out,
      totalTokens: counts.prompt + counts.cached + counts.out,
      cacheReadTokens: counts.cached,
      cacheWriteTokens: null,
      reasoningTokens: null,
    };
    const events: StreamEventBody[] = [
      { type: "response-start", id: "u1", model: "m" },
      ...thought.map(
        (one) => ({ type: "reasoning-delta", choice: 0, text: one, redacted: false }) as const,
      ),
      ...text.map((one) => ({ type: "text-delta", choice: 0, text: one }) as const),
      ...calls.flatMap(([object, cut], number) => call(number, object, cut)),
      { type: "finish", choice: 0, reason, rawReason: reason },
      { type: "usage", usage },
      { type: "done" },
    ];
    return { events, usage, reason };
  });

function write(to: StreamFormat, events: readonly StreamEventBody[]): string {
  const options = { id: "u1", model: null, createdS: 1, includeUsage: true };
  const encoder = createEncoder(to, options);
  return events.map((event) => encoder.encode({ ...event })).join("");
}

describe.each(PAIRS)("%s to %s", (from, to) => {
  it("keeps text, reasoning, calls byte for byte, and the reason", () => {
    fc.assert(
      fc.property(answer, ({ events }) => {
        const source = write(from, events);
        const { wire, isComplete } = translate(from, to, source);
        expect(isComplete).toBe(true);
        const target = decode(to, wire);
        expect(target.completion).toMatchObject({
          terminalMissing: false,
          faults: 0,
          lateFrames: 0,
        });
        expect(meaningOf(target)).toEqual(meaningOf(decode(from, source)));
      }),
      { numRuns: 60 },
    );
  });

  it("gives the same bytes for the same stream in any reads", () => {
    fc.assert(
      fc.property(answer, fc.array(fc.nat(100_000), { maxLength: 12 }), ({ events }, cuts) => {
        const source = bytesOf(write(from, events));
        const at = [...new Set(cuts.map((cut) => cut % source.length))].sort((a, b) => a - b);
        expect(translate(from, to, source, at)).toEqual(translate(from, to, source));
      }),
      { numRuns: 40 },
    );
  });

  it("is never whole if the source was cut, wherever that was", () => {
    fc.assert(
      fc.property(answer, fc.double({ min: 0, max: 0.999, noNaN: true }), ({ events }, share) => {
        const source = bytesOf(write(from, events));
        const cut = source.subarray(0, Math.floor(source.length * share));
        const { state } = decode(from, cut).completion;
        fc.pre(state === "incomplete");
        const { wire, isComplete } = translate(from, to, cut);
        expect(isComplete).toBe(false);
        expect(decode(to, wire).completion).toMatchObject({ state: "incomplete", tailBytes: 0 });
      }),
      { numRuns: 60 },
    );
  });

  it("answers each event in the read that completed it", () => {
    const translator = new StreamTranslator(from, to, OPTIONS);
    const events = ["Hel", "lo"].map((text) => ({ type: "text-delta", choice: 0, text }) as const);
    const encoder = createEncoder(from, {
      id: "u1",
      model: null,
      createdS: 1,
      includeUsage: false,
    });
    for (const event of events) {
      const out = translator.push(bytesOf(encoder.encode(event)), 0);
      expect(decode(to, out).text).toBe(event.text);
    }
  });

  it("counts tokens as the target's wire does", () => {
    fc.assert(
      fc.property(answer, ({ events }) => {
        const source = write(from, events);
        const prompt = (format: StreamFormat, one: Decoded): number => {
          const { inputTokens, cacheReadTokens } = one.completion.usage;
          const apart = format === "anthropic-messages" ? (cacheReadTokens ?? 0) : 0;
          return inputTokens! + apart;
        };
        const before = decode(from, source);
        const after = decode(to, translate(from, to, source).wire);
        expect(prompt(to, after)).toBe(prompt(from, before));
        const { outputTokens, cacheReadTokens } = before.completion.usage;
        expect(after.completion.usage).toMatchObject({ outputTokens, cacheReadTokens });
      }),
      { numRuns: 30 },
    );
  });

  it("ends with the error that the upstream sent, and with nothing else", () => {
    const events: StreamEventBody[] = [
      { type: "response-start", id: "u1", model: "m" },
      { type: "text-delta", choice: 0, text: "The " },
      { type: "error", errorType: "overloaded_error", message: "Overloaded", status: 529 },
      { type: "text-delta", choice: 0, text: "never" },
    ];
    const { wire, isComplete } = translate(from, to, write(from, events));
    const { completion, text } = decode(to, wire);
    expect(isComplete).toBe(false);
    expect(text).toBe("The ");
    expect(completion.error?.message).toBe("Overloaded");
    expect(completion.state).toBe("error");
    expect(wire).not.toMatch(/\[DONE\]|message_stop|response\.completed|"finish_reason":"/);
  });

  it("fails in the target's format when told to, once", () => {
    const translator = new StreamTranslator(from, to, OPTIONS);
    const told = { errorType: "timeout_error", message: "too slow", status: 504 };
    const error = decode(to, translator.fail(told)).completion.error;
    expect(error).toMatchObject({ message: "too slow" });
    expect(translator.fail(told)).toHaveLength(0);
    expect(translator.end(0).isComplete).toBe(false);
  });
});

describe("recorded streams", () => {
  const recorded = [
    ["chat-plain", "openai-chat"],
    ["chat-usage-in-finish", "openai-chat"],
    ["anthropic-cache-write", "anthropic-messages"],
    ["anthropic-cache-read", "anthropic-messages"],
    ["anthropic-two-tools", "anthropic-messages"],
  ] as const;
  const cases = recorded.flatMap(([name, from]) =>
    FORMATS.filter((to) => to !== from).map((to) => [name, from, to] as const),
  );

  it.each(cases)("%s in %s means the same in %s", (name, from, to) => {
    const bytes = readFileSync(new URL(`../../data/sse-cassettes/${name}.sse`, import.meta.url));
    const whole = translate(from, to, bytes);
    expect(whole.isComplete).toBe(true);
    expect(meaningOf(decode(to, whole.wire))).toEqual(meaningOf(decode(from, bytes)));
    expect(translate(from, to, bytes, everyByte(bytes))).toEqual(whole);
  });

  it("counts a cache write as prompt for OpenAI", () => {
    const bytes = readFileSync(
      new URL("../../data/sse-cassettes/anthropic-cache-write.sse", import.meta.url),
    );
    const { wire } = translate("anthropic-messages", "openai-chat", bytes);
    expect(decode("openai-chat", wire).completion.usage).toMatchObject({
      inputTokens: 4 + 1_165,
      outputTokens: 201,
      totalTokens: 4 + 1_165 + 201,
      cacheReadTokens: 0,
      cacheWriteTokens: 1_165,
    });
  });
});

describe("calls", () => {
  const fragment = (index: number, fields: object): object =>
    delta({ tool_calls: [{ index, ...fields }] });
  const opening = (index: number, id: string): object =>
    fragment(index, { id, function: { name: "get", arguments: "" } });
  const more = (index: number, json: string): object =>
    fragment(index, { function: { arguments: json } });

  it("whose arguments are mixed stay apart in blocks of their own", () => {
    const source = chatWire(
      opening(0, "A"),
      opening(1, "B"),
      more(0, '{"q":'),
      more(1, '{"q":"b'),
      more(0, '"a"}'),
      more(1, '"}'),
      delta({}, "tool_calls"),
      "[DONE]",
    );
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    const { completion } = decode("anthropic-messages", wire);
    expect(completion.toolCalls.map((one) => [one.id, one.argumentsText])).toEqual([
      ["A", '{"q":"a"}'],
      ["B", '{"q":"b"}'],
    ]);
    expect(wire.match(/content_block_start/g)).toHaveLength(4);
    expect(wire.match(/content_block_stop/g)).toHaveLength(4);
  });

  it("that are whole are closed by the next one, and only blanks may follow", () => {
    const calls = [opening(0, "A"), more(0, '{"q":1}'), opening(1, "B")];
    const good = translate("openai-chat", "anthropic-messages", chatWire(...calls, more(0, "\n")));
    expect(good.wire).toMatch(/content_block_stop","index":0[\s\S]*"id":"B"/);
    const bad = translate("openai-chat", "anthropic-messages", chatWire(...calls, more(0, "{}")));
    expect(decode("anthropic-messages", bad.wire).completion.error?.message).toContain(
      "after the end",
    );
  });

  it("without arguments have `{}` where a client would parse text", () => {
    const source = messagesWire(
      { type: "message_start", message: { id: "m", model: "c" } } as never,
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "t", name: "now", input: {} },
      } as never,
      { type: "content_block_stop", index: 0 } as never,
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} } as never,
      { type: "message_stop" },
    );
    const { wire } = translate("anthropic-messages", "openai-chat", source);
    expect(wire).toContain('"arguments":"{}"');
    expect(decode("openai-chat", wire).completion.mayRunTools).toBe(true);
  });

  it("that the provider runs itself are not shown to a client that cannot know them", () => {
    const source = messagesWire(
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      } as never,
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "t", name: "get", input: {} },
      } as never,
      { type: "message_delta", delta: { stop_reason: "tool_use" } } as never,
      { type: "message_stop" },
    );
    const { wire } = translate("anthropic-messages", "openai-chat", source);
    expect(wire).not.toContain("web_search");
    expect(wire).toContain('"tool_calls":[{"index":0,"id":"t"');
  });

  it("that get their name late are written once they have it", () => {
    const source = chatWire(
      fragment(0, { id: "A", function: { arguments: '{"q"' } }),
      fragment(0, { id: "A", function: { name: "get", arguments: ":1}" } }),
      delta({}, "tool_calls"),
      "[DONE]",
    );
    for (const to of ["anthropic-messages", "openai-responses"] as const) {
      const { wire } = translate("openai-chat", to, source);
      expect(decode(to, wire).completion.toolCalls).toMatchObject([
        { id: "A", name: "get", argumentsText: '{"q":1}', problem: null },
      ]);
    }
  });
});

describe("endings", () => {
  const hello = delta({ content: "Hello" });
  it.each([
    ["text without an end", [hello], false],
    ["[DONE] without a reason", [hello, "[DONE]"], true],
    ["a reason without [DONE]", [hello, delta({}, "stop")], true],
    ["a frame that is no JSON", [hello, "{oops", delta({}, "stop"), "[DONE]"], false],
  ])("%s", (_name, frames, isComplete) => {
    const out = translate("openai-chat", "anthropic-messages", chatWire(...frames));
    expect(out.isComplete).toBe(isComplete);
    expect(out.wire.includes("message_stop")).toBe(isComplete);
    expect(out.wire.includes('"stop_reason":"end_turn"')).toBe(
      isComplete && frames.length === 2 && frames[1] !== "[DONE]",
    );
  });

  it.each([
    ["anthropic-messages", "message_start", "message_stop"],
    ["openai-responses", "response.created", "response.completed"],
  ] as const)(
    "an answer without any content is an empty one in %s, with its frame",
    (to, first, last) => {
      const { wire, isComplete } = translate("openai-chat", to, chatWire("[DONE]"));
      expect(isComplete).toBe(true);
      expect(wire.startsWith(`event: ${first}\n`)).toBe(true);
      expect(wire).toContain(`event: ${last}\n`);
      expect(decode(to, wire).completion.state).toBe("empty");
    },
  );

  it("a second choice that nobody asked for is not mixed into the first", () => {
    const second = {
      id: "x",
      choices: [{ index: 1, delta: { content: "B" }, finish_reason: "stop" }],
    };
    const source = chatWire(hello, second, delta({}, "length"), "[DONE]");
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    expect(decode("anthropic-messages", wire)).toMatchObject({
      text: "Hello",
      completion: { reason: "length" },
    });
  });

  it("a refusal in words is one in Anthropic's reason too", () => {
    const source = chatWire(delta({ refusal: "No." }), delta({}, "stop"), "[DONE]");
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    expect(wire).toContain('"stop_reason":"refusal"');
    expect(decode("anthropic-messages", wire).text).toBe("No.");
  });

  it("usage that nobody reported is null, not 0", () => {
    const source = chatWire(hello, delta({}, "stop"), "[DONE]");
    const { wire } = translate("openai-chat", "anthropic-messages", source);
    expect(wire).toContain('"usage":{"input_tokens":null,"output_tokens":null}');
  });
});

describe("reasoning that its provider wants back", () => {
  const thinking = messagesWire(
    { type: "message_start", message: { id: "m", model: "c" } } as never,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "" },
    } as never,
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "thinking_delta", thinking: "Hm" },
    } as never,
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "signature_delta", signature: "SIG" },
    } as never,
    { type: "content_block_stop", index: 0 } as never,
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "redacted_thinking", data: "RED" },
    } as never,
    { type: "message_delta", delta: { stop_reason: "end_turn" } } as never,
    { type: "message_stop" },
  );

  it("reaches a responses client sealed, by kind", () => {
    const { wire } = translate("anthropic-messages", "openai-responses", thinking);
    expect(wire).toContain('"encrypted_content":"manx.anthropic.signature:SIG"');
    expect(wire).toContain('"encrypted_content":"manx.anthropic.redacted:RED"');
    const { events } = decode("openai-responses", wire);
    expect(typesIn(events).filter((one) => one === "reasoning-signature")).toHaveLength(2);
  });

  it("is not invented for a chat client", () => {
    const { wire } = translate("anthropic-messages", "openai-chat", thinking);
    expect(wire).not.toMatch(/SIG|RED/);
    expect(wire).toContain('"reasoning_content":"Hm"');
  });

  it("of OpenAI reaches an Anthropic client as a signature", () => {
    const item = { id: "rs", type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] };
    const source = messagesWire(
      { type: "response.output_item.added", output_index: 0, item } as never,
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item, encrypted_content: "ENC" },
      } as never,
    );
    const { wire } = translate("openai-responses", "anthropic-messages", source);
    expect(wire).toContain('{"type":"thinking_delta","thinking":"Hm"}');
    expect(wire).toContain('{"type":"signature_delta","signature":"manx.openai.encrypted:ENC"}');
  });
});
