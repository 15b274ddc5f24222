/** What a template says of a frame is what parsing says, whatever the frame. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDecoder, type StreamEvent, type StreamFormat } from "./index.ts";

const UTF8 = new TextEncoder();

/** Each frame to a decoder of its own after the same beginning: nothing is ever learnt from a neighbour. */
function decode(format: StreamFormat, frames: readonly string[], isApart: boolean): object[] {
  const events: StreamEvent[] = [];
  const decoder = createDecoder(format);
  for (const frame of frames) {
    events.push(...decoder.push(UTF8.encode(frame), 0));
    // A comment belongs to no frame, but makes the next one be parsed where the template is dropped for it.
    if (isApart) events.push(...decoder.push(UTF8.encode("data: {}\n\n"), 0));
  }
  events.push(...decoder.end(0));
  return events.filter(({ type }) => type !== "unknown").map(({ frame: _, ...rest }) => rest);
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("a", '"', "\\", "\n", "content", '","x":"', "é", "\ud83d\ude00", ""),
);

const chatFrame = fc
  .record({
    text,
    name: fc.constantFrom("content", "content", "content", "reasoning_content", "refusal", "x"),
    finish: fc.constantFrom(null, null, null, null, "stop"),
    choice: fc.constantFrom(0, 0, 0, 1),
    usage: fc.option(fc.record({ completion_tokens: fc.nat(9) }), { freq: 6 }),
  })
  .map(({ text: said, name, finish, choice, usage }) => {
    const delta = { [name]: said };
    const wire = {
      id: "c",
      model: "m",
      choices: [{ index: choice, delta, finish_reason: finish }],
    };
    return `data: ${JSON.stringify(usage === null ? wire : { ...wire, usage })}\n\n`;
  });

const messagesFrame = fc
  .record({
    text,
    type: fc.constantFrom("text_delta", "text_delta", "thinking_delta"),
    index: fc.constantFrom(0, 0, 1),
  })
  .map(({ text: said, type, index }) => {
    const delta = type === "text_delta" ? { type, text: said } : { type, thinking: said };
    const wire = { type: "content_block_delta", index, delta };
    return `event: content_block_delta\ndata: ${JSON.stringify(wire)}\n\n`;
  });

describe("a frame that is like the one before it", () => {
  it.each([
    ["openai-chat", chatFrame],
    ["anthropic-messages", messagesFrame],
  ] as [StreamFormat, fc.Arbitrary<string>][])(
    "gives the events of a parsed one (%s)",
    (format, frame) => {
      fc.assert(
        fc.property(fc.array(frame, { maxLength: 12 }), (frames) => {
          expect(decode(format, frames, false)).toEqual(decode(format, frames, true));
        }),
        { numRuns: 500 },
      );
    },
  );
});
