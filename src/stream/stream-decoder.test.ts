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
  textIn,
} from "../../test/support/wire-text.ts";
import { createDecoder, type StreamFormat } from "./stream-decoder.ts";
import type { StreamEvent } from "./stream-event.ts";
import { StreamTimeline } from "./timeline.ts";

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const channel = fc.constantFrom("text", "reasoning");
const piece = fc.record({ channel, text });
const call = fc.record({
  name: fc.constantFrom("get", "sum", "now"),
  args: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
  pieces: fc.integer({ min: 1, max: 4 }),
});

/** What a model says, from which both wires are written. */
const answer = fc.record({
  pieces: fc.array(piece, { minLength: 1, maxLength: 6 }),
  calls: fc.array(call, { maxLength: 3 }),
  outputTokens: fc.nat(500),
});
type Answer = typeof answer extends fc.Arbitrary<infer Value> ? Value : never;
type Call = Answer["calls"][number];

function cutUp(json: string, pieces: number): string[] {
  const size = Math.max(1, Math.ceil(json.length / pieces));
  return Array.from({ length: pieces }, (_, i) => json.slice(i * size, (i + 1) * size));
}

function chatOf({ pieces, calls, outputTokens }: Answer): string {
  const openings = calls.map(({ name }, index) =>
    delta({
      tool_calls: [{ index, id: `c${index}`, type: "function", function: { name, arguments: "" } }],
    }),
  );
  // All calls are open at once, and their arguments come in turn.
  const fragments = [0, 1, 2, 3].flatMap((turn) =>
    calls.flatMap(({ args, pieces: count }, index) => {
      const json = cutUp(JSON.stringify(args), count)[turn];
      return json === undefined
        ? []
        : [delta({ tool_calls: [{ index, function: { arguments: json } }] })];
    }),
  );
  return chatWire(
    delta({ role: "assistant", content: "" }),
    ...pieces.map(({ channel, text }) =>
      delta({ [channel === "text" ? "content" : "reasoning_content"]: text }),
    ),
    ...openings,
    ...fragments,
    delta({}, calls.length > 0 ? "tool_calls" : "stop"),
    { id: "x", model: "m", choices: [], usage: { completion_tokens: outputTokens } },
    "[DONE]",
  );
}

function messagesOf({ pieces, calls, outputTokens }: Answer): string {
  let index = -1;
  const block = (content_block: object, deltas: readonly object[]): { type: string }[] => {
    index += 1;
    return [
      { type: "content_block_start", index, content_block } as never,
      ...deltas.map((one) => ({ type: "content_block_delta", index, delta: one })),
      { type: "content_block_stop", index } as never,
    ];
  };
  const said = pieces.flatMap(({ channel, text }) =>
    channel === "text"
      ? block({ type: "text", text: "" }, [{ type: "text_delta", text }])
      : block({ type: "thinking", thinking: "" }, [{ type: "thinking_delta", thinking: text }]),
  );
  const called = calls.flatMap(({ name, args, pieces: count }, i) =>
    block(
      { type: "tool_use", id: `c${i}`, name, input: {} },
      cutUp(JSON.stringify(args), count).map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      })),
    ),
  );
  return messagesWire(
    { type: "message_start", message: { id: "x", model: "m" } } as never,
    { type: "ping" },
    ...said,
    ...called,
    {
      type: "message_delta",
      delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn" },
      usage: { output_tokens: outputTokens },
    } as never,
    { type: "message_stop" },
  );
}

function expectAnswer(
  { events, completion, text }: Decoded,
  { pieces, calls, outputTokens }: Answer,
): void {
  const join = (wanted: string): string =>
    pieces.map((one) => (one.channel === wanted ? one.text : "")).join("");
  const reasoning = events.map((one) => (one.type === "reasoning-delta" ? one.text : "")).join("");
  expect(text).toBe(join("text"));
  expect(reasoning).toBe(join("reasoning"));
  expect(completion).toMatchObject({
    state: "complete",
    terminalMissing: false,
    faults: 0,
    mayRunTools: calls.length > 0,
    usage: { outputTokens },
    usageComplete: true,
  });
  const expected = calls.map(({ name, args }: Call, i) => ({
    id: `c${i}`,
    name,
    argumentsText: JSON.stringify(args),
    problem: null,
    repaired: false,
  }));
  expect(completion.toolCalls).toMatchObject(expected);
}

const FORMATS: ReadonlyArray<readonly [StreamFormat, (of: Answer) => string]> = [
  ["openai-chat", chatOf],
  ["anthropic-messages", messagesOf],
];

describe.each(FORMATS)("a stream of %s", (format, write) => {
  it("says what the model said, wherever its bytes are cut", () => {
    fc.assert(
      fc.property(answer, fc.constantFrom("\n", "\r\n", "\r"), (of, lineEnd) => {
        const bytes = bytesOf(write(of).replaceAll("\n", lineEnd));
        const whole = decode(format, bytes);
        expectAnswer(whole, of);
        expect(decode(format, bytes, everyByte(bytes))).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it("is the same at each single cut", () => {
    const [of] = fc.sample(answer, { numRuns: 1, seed: 7 });
    const bytes = bytesOf(write(of!));
    const whole = decode(format, bytes);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(decode(format, bytes, [cut])).toEqual(whole);
    }
  });

  it("is the same at random cuts, in events and in times", () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
    fc.assert(
      fc.property(answer, shares, (of, where) => {
        const bytes = bytesOf(write(of));
        const cuts = where.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b);
        const whole = decode(format, bytes);
        expect(decode(format, bytes, cuts)).toEqual(whole);
        expect(times(whole.events)).toEqual(times(decode(format, bytes, cuts).events));
      }),
      { numRuns: 60 },
    );
  });

  it("never throws, whatever the bytes are, and reads on after a bad frame", () => {
    const values = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value));
    const noise = fc.oneof(values, fc.string({ unit: "binary" }), fc.constant("[DONE"));
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), answer, (bad, of) => {
        const junk = bad.map((data) => `data: ${data.replace(/[\r\n]/g, "")}\n\n`).join("");
        const { text, completion } = decode(format, junk + write(of));
        if (completion.state !== "error") expect(text.endsWith(textOf(of))).toBe(true);
      }),
    );
  });

  it("takes fields of any type without throwing", () => {
    const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(0, 1, "x", null));
    const frames = format === "openai-chat" ? oddChat(odd) : oddMessages(odd);
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 6 }), (some) => {
        const { completion } = decode(format, chatWire(...some));
        expect(["complete", "empty", "incomplete", "error"]).toContain(completion.state);
      }),
      { numRuns: 400 },
    );
  });
});

function textOf(of: Answer): string {
  return of.pieces.map((one) => (one.channel === "text" ? one.text : "")).join("");
}

/** Gives each frame a time of its own, as reads that end with the frame would. */
function times(events: readonly StreamEvent[]): object {
  const timeline = new StreamTimeline({ intendedUs: 0 });
  timeline.add(events.map((event) => ({ ...event, atUs: event.frame * 1_000 })));
  return timeline.metrics();
}

function oddChat(odd: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const fn = fc.record({ name: odd, arguments: odd }, { requiredKeys: [] });
  const toolCall = fc.record({ index: odd, id: odd, function: fc.oneof(fn, odd) });
  const fields = fc.record(
    {
      content: fc.oneof(
        odd,
        fc.array(fc.record({ type: fc.constantFrom("text", "thinking"), text: odd })),
      ),
      reasoning: odd,
      refusal: odd,
      tool_calls: fc.oneof(odd, fc.array(toolCall)),
      function_call: fc.oneof(odd, fn),
    },
    { requiredKeys: [] },
  );
  const choice = fc.record({ index: odd, delta: fc.oneof(odd, fields), finish_reason: odd });
  return fc.record(
    { id: odd, model: odd, choices: fc.oneof(odd, fc.array(choice)), usage: odd, error: odd },
    { requiredKeys: [] },
  );
}

function oddMessages(odd: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const types = ["message_start", "content_block_start", "content_block_delta", "message_delta"];
  const more = ["content_block_stop", "message_stop", "error", "ping", "novel"];
  const kinds = [
    "text",
    "thinking",
    "tool_use",
    "redacted_thinking",
    "text_delta",
    "input_json_delta",
  ];
  const inner = fc.record(
    {
      type: fc.constantFrom(...kinds),
      text: odd,
      input: odd,
      partial_json: odd,
      stop_reason: odd,
      usage: odd,
    },
    { requiredKeys: [] },
  );
  return fc.record(
    {
      type: fc.oneof(fc.constantFrom(...types, ...more), odd),
      index: odd,
      message: fc.oneof(odd, inner),
      content_block: fc.oneof(odd, inner),
      delta: fc.oneof(odd, inner),
      usage: odd,
      error: odd,
    },
    { requiredKeys: [] },
  );
}

describe("createDecoder", () => {
  it("names the formats that it knows", () => {
    expect(() => createDecoder("openai-caht" as StreamFormat)).toThrowError(
      expect.objectContaining({
        code: "MANX_NAME_UNKNOWN",
        expected: "one of openai-chat, openai-responses, anthropic-messages, gemini",
        hint: 'did you mean "openai-chat"?',
      }),
    );
  });

  it("skips a frame over the limit and reads the next", () => {
    const decoder = createDecoder("openai-chat", { frameBytesMax: 200 });
    const wire = chatWire(delta({ content: "x".repeat(300) }), delta({ content: "b" }));
    const events = decoder.push(bytesOf(wire), 0);
    expect(textIn(events)).toBe("b");
    expect(decoder.completion.firstFault).toBe("frame-size: over 200 bytes");
  });

  it("stamps events with their frame and read", () => {
    const decoder = createDecoder("openai-chat");
    const wire = bytesOf(
      chatWire(delta({ content: "a", reasoning: "b" }), delta({ content: "c" })),
    );
    const early = decoder.push(wire.subarray(0, wire.length - 1), 1_000);
    const late = decoder.push(wire.subarray(wire.length - 1), 2_000);
    const stamps = [...early, ...late].map(({ frame, atUs, type }) => [frame, atUs, type]);
    expect(stamps).toEqual([
      [0, 1_000, "response-start"],
      [0, 1_000, "reasoning-delta"],
      [0, 1_000, "text-delta"],
      [1, 2_000, "text-delta"],
    ]);
  });

  it("gives nothing after its end", () => {
    const decoder = createDecoder("openai-chat");
    decoder.end(0);
    expect(decoder.push(bytesOf(chatWire(delta({ content: "a" }))), 1)).toEqual([]);
    expect(decoder.end(2)).toEqual([]);
    expect(decoder.completion.faults).toBe(1);
  });

  it("tells no one's words in a fault", () => {
    const { completion } = decode("openai-chat", "data: {secret\n\n");
    expect(completion.firstFault).toBe("frame-json: 7 characters that are no JSON object");
  });
});
