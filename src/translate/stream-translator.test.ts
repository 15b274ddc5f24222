import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FORMATS,
  meaningOf,
  OPTIONS,
  PAIRS,
  translate,
} from "../../test/support/translated-streams.ts";
import { bytesOf, type Decoded, decode, everyByte } from "../../test/support/wire-text.ts";
import { createEncoder, type StreamEventBody, type StreamFormat } from "../stream/index.ts";
import { StreamTranslator } from "./stream-translator.ts";

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

/** Frames that a server may send in the wrong place, or that no server should send. */
const some = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom("text", "tool_use", "a", 0, 1),
);
const odd = fc.record(
  {
    type: fc.constantFrom(
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_start",
      "message_delta",
      "response.output_item.added",
      "response.output_item.done",
      "response.output_text.delta",
      "response.function_call_arguments.delta",
      "ping",
    ),
    index: some,
    output_index: some,
    delta: fc.oneof(some, fc.record({ type: fc.constant("input_json_delta"), partial_json: some })),
    content_block: fc.record({ type: fc.constantFrom("text", "tool_use", "thinking"), id: some }),
    item: fc.record({ type: fc.constantFrom("message", "function_call", "reasoning"), name: some }),
    choices: fc.array(
      fc.record({
        index: fc.nat(1),
        delta: fc.record({
          content: some,
          tool_calls: fc.array(
            fc.record({
              index: fc.nat(2),
              id: some,
              function: fc.record({ name: some, arguments: some }),
            }),
            { maxLength: 2 },
          ),
        }),
      }),
      { maxLength: 2 },
    ),
    usage: some,
  },
  { requiredKeys: ["type"] },
);

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

  it("makes well-formed frames of anything, and throws on nothing", () => {
    fc.assert(
      fc.property(answer, fc.array(odd, { maxLength: 4 }), fc.nat(20), ({ events }, extra, at) => {
        const frames = write(from, events).split(/(?<=\n\n)/);
        const garbage = extra.map((one) => `data: ${JSON.stringify(one)}\n\n`);
        frames.splice(at % (frames.length + 1), 0, ...garbage);
        const { wire, isComplete } = translate(from, to, frames.join(""));
        const { completion } = decode(to, wire);
        const cut = completion.state === "incomplete" ? 1 : 0;
        expect(completion).toMatchObject({ faults: cut, tailBytes: 0, lateFrames: 0 });
        expect(isComplete).toBe(completion.state === "complete" || completion.state === "empty");
      }),
      { numRuns: 60 },
    );
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
