/** LD-01 — Role chunk, empty strings, reasoning, capped in reasoning. */
import { describe, expect, it } from "vitest";
import {
  createDecoder,
  type StreamFormat,
  type StreamMetrics,
  StreamTimeline,
} from "../../src/stream/index.ts";
import { bytesOf, chatWire, delta, messagesWire } from "../support/wire-text.ts";

type Step = readonly [atMs: number, wire: string];

function measure(steps: readonly Step[], format: StreamFormat = "openai-chat") {
  const decoder = createDecoder(format);
  const timeline = new StreamTimeline({ intendedUs: 0 });
  timeline.headers(45_000);
  for (const [atMs, wire] of steps) timeline.add(decoder.push(bytesOf(wire), atMs * 1_000));
  const metrics: StreamMetrics = timeline.metrics();
  const ms = (us: number | null): number | null => (us === null ? null : us / 1_000);
  decoder.end(0);
  return {
    state: decoder.completion.state,
    ttfbMs: ms(metrics.ttfbUs),
    ttftMs: ms(metrics.ttftUs),
    ttfvtMs: ms(metrics.ttfvtUs),
  };
}

const chat = (atMs: number, frame: unknown): Step => [atMs, chatWire(frame)];
const ROLE = chat(50, delta({ role: "assistant", content: "" }));
const EMPTY = chat(60, delta({ content: null, reasoning_content: "" }));

function thinking(field: string): Step[] {
  const pieces = [chat(410, delta({ [field]: "Let" }))];
  for (let atMs = 430; atMs <= 1_880; atMs += 50) {
    // Servers that fill the field for text with "" while they think.
    pieces.push(chat(atMs, delta({ content: "", tool_calls: [], [field]: " me" })));
  }
  return pieces;
}

const END: readonly Step[] = [
  chat(1_900, delta({ content: "Hi" })),
  chat(1_920, delta({}, "stop")),
];

describe("LD-01: the first token", () => {
  it.each(["reasoning_content", "reasoning"])(
    "of any kind and the first to be seen, with %s",
    (field) => {
      const steps = [ROLE, EMPTY, ...thinking(field), ...END];
      expect(measure(steps)).toEqual({
        state: "complete",
        ttfbMs: 45,
        ttftMs: 410,
        ttfvtMs: 1_900,
      });
    },
  );

  it("(c) on Anthropic's wire; a signature is no token", () => {
    const at = (atMs: number, frame: object): Step => [atMs, messagesWire(frame as never)];
    const piece = (atMs: number, fields: object): Step =>
      at(atMs, { type: "content_block_delta", index: 0, delta: fields });
    const block = (atMs: number, type: string): Step =>
      at(atMs, {
        type: "content_block_start",
        index: 0,
        content_block: { type, text: "", thinking: "" },
      });
    const head = [
      at(46, { type: "message_start", message: { id: "msg_1" } }),
      block(50, "thinking"),
    ];
    const signature = piece(1_890, { type: "signature_delta", signature: "c2ln" });
    const text = [block(1_895, "text"), piece(1_900, { type: "text_delta", text: "Hi" })];
    const thought = piece(410, { type: "thinking_delta", thinking: "Let" });
    expect(measure([...head, thought, signature, ...text], "anthropic-messages")).toMatchObject({
      ttftMs: 410,
      ttfvtMs: 1_900,
    });
    // A provider that withholds its reasoning sends the signature alone.
    expect(measure([...head, signature, ...text], "anthropic-messages").ttftMs).toBe(1_900);
  });

  it("(d) is never seen if the answer is cut inside reasoning", () => {
    const steps = [ROLE, chat(410, delta({ reasoning: "Let" })), chat(1_000, delta({}, "length"))];
    expect(measure(steps)).toMatchObject({ state: "complete", ttftMs: 410, ttfvtMs: null });
  });

  it("(e) may be a tool call, which can be seen", () => {
    const call = { index: 0, id: "A", function: { name: "get", arguments: "" } };
    const steps = [ROLE, chat(300, delta({ tool_calls: [call] })), ...END];
    expect(measure(steps)).toMatchObject({ ttftMs: 300, ttfvtMs: 300 });
  });

  it("(f) never comes if every delta is empty", () => {
    expect(measure([ROLE, EMPTY, chat(200, delta({ content: "" }, "stop"))])).toMatchObject({
      state: "empty",
      ttftMs: null,
      ttfvtMs: null,
    });
  });

  it("(g) is not moved by a frame with no choices", () => {
    const steps = [
      chat(47, { id: "", model: "", choices: [] }),
      ROLE,
      ...thinking("reasoning"),
      ...END,
    ];
    expect(measure(steps)).toMatchObject({ ttftMs: 410, ttfvtMs: 1_900 });
  });
});
