/** GW-20 — Anthropic stream usage is cumulative. */
import { describe, expect, it } from "vitest";
import type { Completion } from "../../src/stream/index.ts";
import { decode, messagesWire } from "../support/wire-text.ts";

type Usage = Readonly<Record<string, number>>;

const BLOCK = { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } };

function start(usage: Usage): { type: string } {
  return { type: "message_start", message: { id: "msg_1", model: "m", usage } } as never;
}

function report(usage: Usage, stop_reason?: string): { type: string } {
  return { type: "message_delta", delta: { stop_reason }, usage } as never;
}

function run(...frames: ReadonlyArray<{ readonly type: string }>): Completion {
  return decode("anthropic-messages", messagesWire(...frames)).completion;
}

function whole(starts: readonly Usage[], deltas: readonly Usage[]): Completion {
  const last = deltas.length - 1;
  return run(
    ...starts.map(start),
    BLOCK,
    ...deltas.map((usage, i) => report(usage, i === last ? "end_turn" : undefined)),
    { type: "message_stop" },
  );
}

describe("GW-20: usage that is reported again", () => {
  it("(a) replaces what was reported, and is not added", () => {
    const { usage, usageComplete } = whole(
      [{ input_tokens: 25, output_tokens: 1 }],
      [{ output_tokens: 15 }],
    );
    expect(usage).toMatchObject({ inputTokens: 25, outputTokens: 15, cacheReadTokens: null });
    expect(usageComplete).toBe(true);
  });

  it("(b) may repeat all of it", () => {
    const input = { input_tokens: 27, cache_read_input_tokens: 100 };
    const { usage } = whole(
      [{ ...input, output_tokens: 1 }],
      [
        { ...input, output_tokens: 20 },
        { ...input, output_tokens: 47 },
      ],
    );
    expect(usage).toMatchObject({ inputTokens: 27, cacheReadTokens: 100, outputTokens: 47 });
  });

  it("(c) may come late", () => {
    const { usage } = whole(
      [{ input_tokens: 0, output_tokens: 0 }],
      [{ input_tokens: 120, output_tokens: 9 }],
    );
    expect(usage).toMatchObject({ inputTokens: 120, outputTokens: 9 });
  });

  it("(d) of two starts is the last one's", () => {
    const { usage, id } = whole(
      [{ input_tokens: 10 }, { input_tokens: 99 }],
      [{ output_tokens: 2 }],
    );
    expect(usage).toMatchObject({ inputTokens: 99, outputTokens: 2 });
    expect(id).toBe("msg_1");
  });

  it("(e) of a stream that was cut is kept and marked", () => {
    const completion = run(start({ input_tokens: 25, output_tokens: 1 }));
    expect(completion).toMatchObject({
      state: "incomplete",
      usage: { inputTokens: 25, outputTokens: 1 },
      usageComplete: false,
    });
  });

  it("is not complete if only the start had it", () => {
    const { state, usageComplete } = run(
      start({ input_tokens: 25, output_tokens: 1 }),
      BLOCK,
      { type: "message_delta", delta: { stop_reason: "end_turn" } } as never,
      { type: "message_stop" },
    );
    expect({ state, usageComplete }).toEqual({ state: "complete", usageComplete: false });
  });

  it("(f) with a field that is no count keeps the former value", () => {
    const { usage } = whole(
      [{ input_tokens: 25, output_tokens: 1 }],
      [{ input_tokens: null, output_tokens: -3 } as never, { output_tokens: 7.5 }],
    );
    expect(usage).toMatchObject({ inputTokens: 25, outputTokens: 1 });
  });
});
