/** An answer in two parts is to its reader what it would have been in one, wherever the first part was cut. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDecoder, createEncoder, type StreamFormat, Transcript } from "../../stream/index.ts";
import { ContinuedSource } from "./continued-source.ts";
import { PassingSource } from "./passing-source.ts";
import { canBePrefilled, prefillBody, prefillOf } from "./prefill.ts";

/** A whole stream that says these words. */
function streamOf(format: StreamFormat, id: string, words: readonly string[]): Buffer {
  const encoder = createEncoder(format, { id, model: id, createdS: 5, includeUsage: true });
  const usage = {
    ...{ inputTokens: 10, outputTokens: words.length, totalTokens: null },
    ...{ cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null },
  };
  return Buffer.from(
    encoder.encode({ type: "response-start", id, model: id }) +
      words.map((text) => encoder.encode({ type: "text-delta", choice: 0, text })).join("") +
      encoder.encode({ type: "finish", choice: 0, reason: "stop", rawReason: "stop" }) +
      encoder.encode({ type: "usage", usage }) +
      encoder.finish(),
  );
}

interface Read {
  readonly text: string;
  readonly starts: number;
  readonly id: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly outputTokens: number | null;
}

function read(format: StreamFormat, bytes: Buffer): Read {
  const decoder = createDecoder(format);
  const events = [...decoder.push(bytes, 0), ...decoder.end(1)];
  const { id, state, reason, usage } = decoder.completion;
  const text = events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
  const starts = events.filter(({ type }) => type === "response-start").length;
  return { text, starts, id, state, reason, outputTokens: usage.outputTokens };
}

const words = ["Once", " upon", " a", " time", "\n\n", "there", " was", " a", " cät", "."];
const whole = words.join("");
const formats = ["openai-chat", "anthropic-messages"] as const;

describe("an answer that is cut at any byte", () => {
  const cases = formats.flatMap((to) => formats.map((from) => [to, from] as const));

  it.each(cases)("of %s reads as one when %s goes on with it", (to, from) => {
    const first = streamOf(to, "first", words);
    const plain = read(to, first);
    for (let cut = 1; cut < first.length; cut += 1) {
      const passing = new PassingSource(to);
      const transcript = new Transcript();
      const events = [...passing.push(first.subarray(0, cut), 0), ...passing.end(1)];
      for (const event of events) transcript.note(event);
      const before = passing.take();
      if (!transcript.canContinue) continue;
      const said = transcript.text;
      expect(whole.startsWith(said)).toBe(true);
      const prefill = prefillOf(said, transcript.tokens);
      // A model may or may not say the white space again that it was not given.
      const rest = whole.slice(cut % 2 === 0 ? prefill.text.length : said.length);
      const source = new ContinuedSource({
        ...{ from, to, id: "first", model: "first", createdS: 5, includeUsage: true },
        ...{ prefill, promptTokens: null, frames: transcript.frame + 1 },
      });
      const second = streamOf(from, "second", [rest.slice(0, 3), rest.slice(3)]);
      for (let at = 0; at < second.length; at += 97) {
        source.push(second.subarray(at, at + 97), 2);
      }
      source.end(3);
      const after = source.take();
      expect(after.toString()).not.toContain('"second"');
      const joined = read(to, Buffer.concat([before, after]));
      expect(joined).toEqual({ ...plain, outputTokens: joined.outputTokens });
      expect(joined.outputTokens).toBe(transcript.tokens + 2);
    }
  });

  it("gives no end to a second part that breaks as well", () => {
    const prefill = prefillOf("Once", 1);
    const source = new ContinuedSource({
      ...{ from: "openai-chat", to: "openai-chat", id: "first", model: "m", createdS: 5 },
      ...{ includeUsage: false, prefill, promptTokens: null, frames: 3 },
    });
    const second = streamOf("openai-chat", "second", [" upon", " a time"]);
    source.push(second.subarray(0, second.indexOf('"stop"')), 1);
    source.end(2);
    expect(source.isBroken).toBe(true);
    expect(source.take().toString()).not.toContain("[DONE]");
  });
});

describe("tokens of both parts", () => {
  it("are those of one answer to the caller, and of two prompts to whoever pays", () => {
    const source = new ContinuedSource({
      ...{ from: "openai-chat", to: "openai-chat", id: "first", model: "m", createdS: 5 },
      ...{ includeUsage: true, prefill: prefillOf("Once upon a time", 4), promptTokens: 7 },
      frames: 3,
    });
    source.push(streamOf("openai-chat", "second", [" there"]), 1);
    source.end(2);
    // The second prompt has 10: 3 of them are what was said before.
    const { inputTokens, outputTokens } = source.completion.usage;
    expect([inputTokens, outputTokens, source.extraTokens]).toEqual([7, 4, 10]);
  });
});

describe("the request for the rest", () => {
  const body = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const to = { kind: "provider", format: "anthropic-messages" } as const;

  it("never ends in white space, which Anthropic refuses", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", " ", "\n", "\t", "é") }), (text) => {
        const prefill = prefillOf(text, 1);
        expect(prefill.text + prefill.tail).toBe(text);
        expect(/\s$/.test(prefill.text)).toBe(false);
      }),
    );
  });

  it("goes on with what the caller itself has put into the model's mouth", () => {
    const user = { role: "user", content: "Go" };
    const begun = { role: "assistant", content: "Sure: " };
    const made = prefillBody(body({ messages: [user, begun] }), prefillOf("one", 1), to);
    expect(JSON.parse(made.toString()).messages).toEqual([
      user,
      { role: "assistant", content: "Sure: one" },
    ]);
    const parts = { role: "assistant", content: [{ type: "text", text: "Sure" }] };
    const other = prefillBody(body({ messages: [parts] }), prefillOf("one", 1), to);
    expect(JSON.parse(other.toString()).messages[0].content).toHaveLength(2);
  });

  it("is not made where the answer has a form, a duty or a thought of its own", () => {
    const messages = [{ role: "user", content: "Go" }];
    expect(canBePrefilled({ messages }, 5)).toBe(true);
    expect(canBePrefilled({ messages, n: 1, tool_choice: "auto", max_tokens: 6 }, 5)).toBe(true);
    for (const more of [
      { n: 2 },
      { response_format: { type: "json_schema" } },
      { tool_choice: "required" },
      { tool_choice: { type: "any" } },
      { tool_choice: { type: "tool", name: "x" } },
      { thinking: { type: "enabled", budget_tokens: 1_024 } },
      { output_config: { format: { type: "json_schema" } } },
      { max_tokens: 5 },
      { messages: "no list" },
    ]) {
      expect(canBePrefilled({ messages, ...more }, 5), JSON.stringify(more)).toBe(false);
    }
  });
});
