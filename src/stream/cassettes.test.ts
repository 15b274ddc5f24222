/** Recorded answers of real providers, read by a plain reader that knows nothing but their own frames, and by ours. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decode, everyByte } from "../../test/support/wire-text.ts";
import type { StreamFormat } from "./stream-decoder.ts";

function cassette(name: string): Uint8Array {
  return readFileSync(new URL(`../../data/sse-cassettes/${name}.sse`, import.meta.url));
}

interface Plain {
  readonly delta?: { readonly text?: string; readonly partial_json?: string };
  readonly choices?: ReadonlyArray<{ readonly delta: { readonly content?: string | null } }>;
  readonly usage?: Readonly<Record<string, number>> | null;
}

/** The JSON of each `data:` line. Good enough for files with LF and one line a frame. */
function framesOf(bytes: Uint8Array): Plain[] {
  return new TextDecoder()
    .decode(bytes)
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as Plain);
}

const CHAT = "openai-chat";
const MESSAGES = "anthropic-messages";
const CASSETTES: ReadonlyArray<readonly [string, StreamFormat, object]> = [
  ["chat-plain", CHAT, { reason: "stop", model: "gpt-3.5-turbo-0125", usageComplete: false }],
  ["chat-usage-in-finish", CHAT, { reason: "stop", usageComplete: true }],
  ["anthropic-cache-write", MESSAGES, { reason: "stop", usageComplete: true }],
  ["anthropic-cache-read", MESSAGES, { reason: "stop", usageComplete: true }],
  ["anthropic-two-tools", MESSAGES, { reason: "tool_calls", mayRunTools: true }],
];

describe("recorded streams", () => {
  it.each(CASSETTES)("%s is read whole, at any cut", (name, format, expected) => {
    const bytes = cassette(name);
    const frames = framesOf(bytes);
    const decoded = decode(format, bytes);
    const said = frames.map((one) => one.delta?.text ?? one.choices?.[0]?.delta.content ?? "");
    expect(decoded.text).toBe(said.join(""));
    expect(decoded.text.length).toBeGreaterThan(40);
    const whole = { state: "complete", terminalMissing: false, faults: 0, tailBytes: 0 };
    expect(decoded.completion).toMatchObject({ ...whole, ...expected });
    const last = frames.findLast((one) => one.usage != null)?.usage;
    const outputTokens = last?.output_tokens ?? last?.completion_tokens ?? null;
    expect(decoded.completion.usage.outputTokens).toBe(outputTokens);
    expect(decode(format, bytes, everyByte(bytes))).toEqual(decoded);
  });

  it("anthropic-two-tools asks for two calls", () => {
    const { completion } = decode(MESSAGES, cassette("anthropic-two-tools"));
    expect(completion.toolCalls).toMatchObject([
      { name: "get_weather", argumentsText: '{"location": "New York, NY"}', problem: null },
      { name: "get_time", argumentsText: '{"timezone": "America/New_York"}', problem: null },
    ]);
    expect(completion.usage).toMatchObject({ inputTokens: 721, outputTokens: 113 });
  });

  it("usage of the others is what their last report says", () => {
    const usage = (name: string, format: StreamFormat) =>
      decode(format, cassette(name)).completion.usage;
    expect(usage("anthropic-cache-write", MESSAGES)).toMatchObject({
      inputTokens: 4,
      outputTokens: 201,
      cacheReadTokens: 0,
      cacheWriteTokens: 1_165,
    });
    expect(usage("anthropic-cache-read", MESSAGES)).toMatchObject({
      outputTokens: 221,
      cacheReadTokens: 1_165,
      cacheWriteTokens: 0,
    });
    expect(usage("chat-usage-in-finish", CHAT)).toMatchObject({
      inputTokens: 10,
      outputTokens: 50,
      totalTokens: 60,
      cacheReadTokens: 0,
      reasoningTokens: null,
    });
  });
});
