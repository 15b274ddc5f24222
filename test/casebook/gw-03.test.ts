/** GW-03 — Chunks with no usable choice: Azure preamble, `choices:null`, choice without delta, usage-only tail. */
import { describe, expect, it } from "vitest";
import { createDecoder, StreamTimeline } from "../../src/stream/index.ts";
import { StreamTranslator } from "../../src/translate/index.ts";
import { bytesOf, chatWire, decode, textIn } from "../support/wire-text.ts";

const FRAMES = [
  {
    id: "",
    model: "",
    choices: [],
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
  },
  { id: "x", model: "m", choices: [{ index: 0, delta: { role: "assistant", content: "Hi" } }] },
  {
    id: "",
    choices: [
      {
        index: 0,
        finish_reason: null,
        content_filter_offsets: { start_offset: 0, end_offset: 2 },
      },
    ],
  },
  { id: "x", choices: null },
  { id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  {
    id: "x",
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
  },
  "[DONE]",
];

describe("GW-03: chunks with no usable choice", () => {
  it("are read over; the answer, its times and its usage are whole", () => {
    const decoder = createDecoder("openai-chat");
    const timeline = new StreamTimeline({ intendedUs: 0 });
    let text = "";
    for (const [i, frame] of FRAMES.entries()) {
      const events = decoder.push(bytesOf(chatWire(frame)), (i + 1) * 1_000);
      timeline.add(events);
      text += textIn(events);
    }
    decoder.end(9_000);
    expect(text).toBe("Hi");
    expect(timeline.metrics()).toMatchObject({ ttftUs: 2_000, chunks: 1, tokens: 1 });
    expect(decoder.completion).toMatchObject({
      state: "complete",
      terminalMissing: false,
      id: "x",
      model: "m",
      reason: "stop",
      usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 },
      usageComplete: true,
      faults: 0,
    });
  });

  it.each(["anthropic-messages", "openai-responses"] as const)("and in %s too", (to) => {
    const translator = new StreamTranslator("openai-chat", to, { id: "gen" });
    const frames = FRAMES.map((frame) => translator.push(bytesOf(chatWire(frame)), 0));
    // The first text is out with the read that brought it.
    expect(decode(to, frames[1]!).text).toBe("Hi");
    const wire = Buffer.concat([...frames, translator.end(0).bytes]);
    const { text, completion } = decode(to, wire);
    expect(text).toBe("Hi");
    expect(completion).toMatchObject({
      state: "complete",
      terminalMissing: false,
      model: "m",
      reason: "stop",
      usage: { inputTokens: 10, outputTokens: 1 },
    });
  });
});
