/** GW-09 — Ping is life, not progress: two clocks (the measuring; the policy that acts on it is the gateway's). */
import { describe, expect, it } from "vitest";
import { US_PER_S } from "../../src/core/index.ts";
import { createDecoder, LiveProgress, type Silence } from "../../src/stream/index.ts";
import { bytesOf, messagesWire } from "../support/wire-text.ts";

const LIMITS = {
  bytesUs: 60 * US_PER_S,
  progressUs: 45 * US_PER_S,
  thinkingUs: 180 * US_PER_S,
};
const START = { type: "message_start", message: { id: "msg_1", model: "m" } };
const PING = { type: "ping" };
const STOP = { type: "message_stop" };

function block(type: string): { type: string } {
  const content_block = { type, id: "A", name: "get", input: {}, text: "", thinking: "" };
  return { type: "content_block_start", index: 0, content_block } as never;
}

function piece(delta: object): { type: string } {
  return { type: "content_block_delta", index: 0, delta } as never;
}

const TEXT = piece({ type: "text_delta", text: "Hello" });
const THOUGHT = piece({ type: "thinking_delta", thinking: "Let me" });
const NOTHING = piece({ type: "input_json_delta", partial_json: "" });

/** Runs frames at their seconds. @returns the silence that a watch would have found first, and the ages at that instant. */
function watch(
  frames: ReadonlyArray<readonly [number, { readonly type: string }]>,
): (Silence & { byteAgeUs: number; progressAgeUs: number }) | undefined {
  const decoder = createDecoder("anthropic-messages");
  const progress = new LiveProgress(0);
  const found = (): ReturnType<typeof watch> => {
    const silence = progress.nextSilence(LIMITS);
    return {
      ...silence,
      byteAgeUs: silence.dueUs - progress.lastByteUs,
      progressAgeUs: silence.dueUs - progress.lastProgressUs,
    };
  };
  for (const [atS, frame] of frames) {
    const atUs = atS * US_PER_S;
    if (progress.nextSilence(LIMITS).dueUs <= atUs) return found();
    progress.read(decoder.push(bytesOf(messagesWire(frame)), atUs), atUs);
  }
  return decoder.completion.state === "open" ? found() : undefined;
}

describe("GW-09: a stream that is alive", () => {
  it("(A) but says nothing more is found by its progress, though bytes are fresh", () => {
    const frames = [
      [0, START],
      [1, block("text")],
      [1, TEXT],
      [16, PING],
      [31, PING],
      [46, PING],
    ];
    expect(watch(frames as never)).toMatchObject({
      dueUs: 46 * US_PER_S,
      reason: "no_progress",
      byteAgeUs: 15 * US_PER_S,
      progressAgeUs: 45 * US_PER_S,
    });
  });

  it("(B) and thinks is left alone", () => {
    const frames = [
      [0, START],
      [1, block("thinking")],
      [28, PING],
      [58, PING],
      [88, PING],
      [95, THOUGHT],
      [100, TEXT],
      [101, STOP],
    ];
    expect(watch(frames as never)).toBeUndefined();
  });

  it("(C) no longer: no byte after the head", () => {
    expect(watch([])).toMatchObject({ dueUs: 60 * US_PER_S, reason: "no_bytes" });
  });

  it("(D) but sends empty deltas is found from the block that opened last", () => {
    const empty = [12, 22, 32, 42, 52].map((atS) => [atS, NOTHING] as const);
    expect(watch([[1, TEXT], [2, block("tool_use")], ...empty])).toMatchObject({
      dueUs: 47 * US_PER_S,
      reason: "no_progress",
    });
  });

  it("and does something that nobody knows yet has got on", () => {
    const odd = { type: "content_block_shimmer" };
    expect(
      watch([
        [1, TEXT],
        [40, odd],
      ]),
    ).toMatchObject({ dueUs: 85 * US_PER_S });
  });

  it("and does such a thing while it thinks is still thinking", () => {
    const odd = { type: "content_block_shimmer" };
    expect(
      watch([
        [1, block("thinking")],
        [40, odd],
        [90, PING],
      ]),
    ).toMatchObject({
      dueUs: 150 * US_PER_S,
      reason: "no_bytes",
    });
  });

  it("is not blamed for the time in which the client did not read", () => {
    const progress = new LiveProgress(0);
    progress.excuse(30 * US_PER_S);
    expect(progress.nextSilence(LIMITS).dueUs).toBe(90 * US_PER_S);
  });
});
