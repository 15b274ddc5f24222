import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bytesOf,
  chatWire,
  type Decoded,
  decode,
  everyByte,
} from "../../test/support/wire-text.ts";
import { createDecoder } from "./stream-decoder.ts";

const USAGE = {
  promptTokenCount: 12,
  candidatesTokenCount: 8,
  thoughtsTokenCount: 30,
  totalTokenCount: 50,
};

function frame(parts: readonly object[], finishReason?: string, more: object = {}): object {
  const candidate = {
    content: { role: "model", parts },
    index: 0,
    ...(finishReason !== undefined && { finishReason }),
  };
  return { candidates: [candidate], modelVersion: "gemini-x", responseId: "r1", ...more };
}

const ANSWER = [
  frame([{ text: "Let me think", thought: true }]),
  frame([{ text: "Ich prüfe " }, { text: "das 🙂" }]),
  frame([
    { functionCall: { name: "get", args: { q: 'a}]"' } }, thoughtSignature: "s1" },
    { functionCall: { id: "B", name: "now" } },
  ]),
  frame([{ text: "" }], "STOP", { usageMetadata: USAGE }),
];

function gemini(frames: readonly unknown[], cuts: readonly number[] = []): Decoded {
  return decode("gemini", chatWire(...frames), cuts);
}

describe("Gemini's wire", () => {
  it("is read whole: thoughts, text, calls, usage, and a clean end instead of a terminal frame", () => {
    const { completion, text, events } = gemini(ANSWER);
    expect(text).toBe("Ich prüfe das 🙂");
    expect(completion).toMatchObject({
      state: "complete",
      terminalMissing: false,
      mayRunTools: true,
      id: "r1",
      model: "gemini-x",
      reason: "tool_calls",
      rawReason: "STOP",
      faults: 0,
      usageComplete: true,
    });
    expect(completion.usage).toMatchObject({
      inputTokens: 12,
      outputTokens: 38,
      reasoningTokens: 30,
      totalTokens: 50,
    });
    expect(completion.toolCalls).toMatchObject([
      { id: "call_r1_0", idGenerated: true, name: "get", argumentsText: '{"q":"a}]\\""}' },
      { id: "B", idGenerated: false, name: "now", argumentsText: "{}" },
    ]);
    const kinds = events.map((event) => event.type);
    expect(kinds.filter((kind) => kind === "reasoning-delta")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "reasoning-signature")).toHaveLength(1);
    expect(kinds.at(-1)).toBe("done");
  });

  it("says the same as a JSON array, at any cut", () => {
    const array = bytesOf(
      `\ufeff [${ANSWER.map((one) => JSON.stringify(one, null, 1)).join(",\r\n")}]\n`,
    );
    const asEvents = gemini(ANSWER);
    expect(decode("gemini", array, everyByte(array))).toEqual(asEvents);
    fc.assert(
      fc.property(fc.array(fc.nat(array.length), { maxLength: 5 }), (cuts) => {
        const sorted = [...cuts].sort((a, b) => a - b);
        expect(decode("gemini", array, sorted)).toEqual(asEvents);
      }),
      { numRuns: 30 },
    );
  });

  it("is not whole where the array, or an element of it, is cut", () => {
    const array = `[${ANSWER.map((one) => JSON.stringify(one)).join(",")}]`;
    const bytes = bytesOf(array);
    for (const end of [bytes.length - 20, bytes.length - 400]) {
      const { completion } = decode("gemini", bytes.subarray(0, end));
      expect(completion).toMatchObject({ state: "incomplete", mayRunTools: false });
    }
    // Only the bracket is missing: whole, but worth counting.
    expect(decode("gemini", bytes.subarray(0, -1)).completion).toMatchObject({
      state: "complete",
      terminalMissing: true,
    });
  });

  it.each([
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["MALFORMED_FUNCTION_CALL", "other"],
  ])("never runs calls after %s", (raw, reason) => {
    const { completion } = gemini([...ANSWER.slice(0, 3), frame([], raw)]);
    expect(completion).toMatchObject({ mayRunTools: false, reason, rawReason: raw });
  });

  it("tells a refused prompt and an error from an answer", () => {
    const refused = gemini([{ promptFeedback: { blockReason: "SAFETY" } }]);
    expect(refused.completion).toMatchObject({ state: "empty", reason: "content_filter" });
    const error = { code: 503, message: "overloaded", status: "UNAVAILABLE" };
    const failed = gemini([ANSWER[0], { error }]);
    expect(failed.completion).toMatchObject({
      state: "error",
      error: { errorType: "UNAVAILABLE", status: 503 },
    });
  });

  it("puts a call that comes in paths and values together", () => {
    const call = (functionCall: object) => frame([{ functionCall }]);
    const { completion } = gemini([
      call({ name: "book", willContinue: true }),
      call({
        partialArgs: [{ jsonPath: "$.to.city", stringValue: "Os", willContinue: true }],
        willContinue: true,
      }),
      call({ partialArgs: [{ jsonPath: "$.to.city", stringValue: "lo" }], willContinue: true }),
      call({
        partialArgs: [
          { jsonPath: "$.days[0]", numberValue: 3 },
          { jsonPath: "$['one way']", boolValue: true },
          { jsonPath: "$.note", nullValue: "NULL_VALUE" },
        ],
        willContinue: true,
      }),
      call({}),
      frame([], "STOP"),
    ]);
    expect(completion.toolCalls).toHaveLength(1);
    expect(completion.toolCalls[0]).toMatchObject({ name: "book", problem: null });
    expect(JSON.parse(completion.toolCalls[0]!.argumentsText)).toEqual({
      to: { city: "Oslo" },
      days: [3],
      "one way": true,
      note: null,
    });
  });

  it("does not run a call whose last part never came, nor paths that lead nowhere", () => {
    const call = (functionCall: object) => frame([{ functionCall }]);
    const cut = gemini([
      call({ name: "book", willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.city", stringValue: "Os" }], willContinue: true }),
      frame([], "STOP"),
    ]);
    expect(cut.completion.toolCalls[0]?.problem).toContain("no whole JSON object");
    const paths = ["$", "city", "$.a..b", "$.__proto__.x", "$.a[99999999]"];
    for (const jsonPath of paths) {
      const { completion } = gemini([
        call({ name: "x", partialArgs: [{ jsonPath, numberValue: 1 }] }),
      ]);
      expect(completion.firstFault).toContain("partial argument");
    }
  });

  it("skips an element over the limit and reads on", () => {
    const array = `[${JSON.stringify(frame([{ text: "x".repeat(500) }]))},${JSON.stringify(frame([{ text: "ok" }], "STOP"))}]`;
    const decoder = createDecoder("gemini", { frameBytesMax: 300 });
    const events = [...decoder.push(bytesOf(array), 0), ...decoder.end(0)];
    expect(events.map((event) => event.type)).toEqual([
      "fault",
      "response-start",
      "text-delta",
      "finish",
      "done",
    ]);
  });

  it("takes anything without falling over", () => {
    const parts = fc.array(fc.jsonValue(), { maxLength: 4 });
    fc.assert(
      fc.property(parts, (values) => {
        const frames = [
          { candidates: values },
          { candidates: [{ content: { parts: values }, finishReason: values[0] }] },
          {
            candidates: [
              { content: { parts: values.map((one) => ({ functionCall: one, text: one })) } },
            ],
          },
          ...values,
        ];
        expect(gemini(frames).completion.state).not.toBe("open");
      }),
    );
  });
});
