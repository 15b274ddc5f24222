/** LD-02 — Many tokens in a chunk; TTFT in the list; buffered decode. */
import { describe, expect, it } from "vitest";
import {
  createDecoder,
  type StreamMetrics,
  StreamTimeline,
  type TokenCounter,
} from "../../src/stream/index.ts";
import { bytesOf, chatWire, delta } from "../support/wire-text.ts";

/** Payload arrivals in ms, and their tokens, each of four characters. */
const ARRIVALS = [
  [800, 1],
  [840, 1],
  [960, 3],
  [960, 2],
  [3_460, 4],
] as const;
const FOUR_CHARACTERS: TokenCounter = (text) => text.length / 4;

interface Setting {
  readonly arrivals?: ReadonlyArray<readonly [number, number]>;
  readonly usage?: boolean;
  readonly runningUsage?: boolean;
  readonly countTokens?: TokenCounter;
}

function measure({ arrivals = ARRIVALS, ...setting }: Setting): StreamMetrics {
  const { countTokens } = setting;
  const decoder = createDecoder("openai-chat");
  const timeline = new StreamTimeline({ intendedUs: 0, ...(countTokens && { countTokens }) });
  const read = (atMs: number, ...frames: readonly unknown[]): void =>
    timeline.add(decoder.push(bytesOf(chatWire(...frames)), atMs * 1_000));
  let tokens = 0;
  // Frames with one arrival time came in one read.
  for (const atMs of new Set(arrivals.map(([at]) => at))) {
    const inRead = arrivals.filter(([at]) => at === atMs);
    const frames = inRead.map(([, count]) => {
      tokens += count;
      const chunk = delta({ content: "word".repeat(count) });
      return setting.runningUsage ? { ...chunk, usage: { completion_tokens: tokens } } : chunk;
    });
    read(atMs, ...frames);
  }
  read(3_500, delta({}, "stop"));
  if (setting.usage !== false) read(3_520, { choices: [], usage: { completion_tokens: tokens } });
  timeline.end(3_530_000);
  return timeline.metrics();
}

const ITL_US = [40, 40, 40, 40, 0, 0, 625, 625, 625, 625].map((ms) => ms * 1_000);

describe("LD-02: chunks of many tokens", () => {
  it.each([
    ["the server's count, by characters", {}, "usage", "characters"],
    ["the server's count, by a tokenizer", { countTokens: FOUR_CHARACTERS }, "usage", "tokenizer"],
    ["the server's count beside each chunk", { runningUsage: true }, "usage", "usage"],
    ["a tokenizer alone", { usage: false, countTokens: FOUR_CHARACTERS }, "tokenizer", "tokenizer"],
  ] as const)("are shared out from %s", (_, setting, tokensSource, spreadBy) => {
    const metrics = measure(setting);
    expect(metrics.chunkGapsUs).toEqual([40_000, 120_000, 0, 2_500_000]);
    expect(metrics.itlUs).toEqual(ITL_US);
    expect(metrics).toMatchObject({
      tpotUs: 266_000,
      chunks: 5,
      tokens: 11,
      tokensSource,
      spreadBy,
    });
    expect(metrics.stalls).toEqual({
      count: 1,
      stalledUs: 2_500_000,
      worstGapUs: 2_500_000,
      positions: [7],
    });
    expect((metrics.chunks / metrics.tokens!).toFixed(2)).toBe("0.45");
    expect(metrics.coalescedShare).toBe(0.25);
    expect(metrics.e2eUs).toBe(3_530_000);
  });

  it("count once each if nothing tells their tokens, and say so", () => {
    const metrics = measure({ usage: false });
    expect(metrics).toMatchObject({ tokens: 5, tokensSource: "chunks", spreadBy: "chunks" });
    expect(metrics.itlUs).toEqual(metrics.chunkGapsUs);
  });

  it("leave the first chunk's tokens out of TPOT", () => {
    const arrivals = [[800, 3], ...ARRIVALS.slice(1)] as Setting["arrivals"];
    // 13 tokens, 3 of them in the first chunk.
    expect(measure({ arrivals: arrivals! })).toMatchObject({ tokens: 13, tpotUs: 266_000 });
  });

  it("have neither ITL nor TPOT if there is only one", () => {
    const metrics = measure({ arrivals: [[3_460, 11]] });
    expect(metrics).toMatchObject({ ttftUs: 3_460_000, chunks: 1, tokens: 11, tpotUs: null });
    expect(metrics.itlUs).toEqual([]);
    expect(metrics.chunkGapsUs).toEqual([]);
    expect(metrics.stalls).toEqual({ count: 0, stalledUs: 0, worstGapUs: null, positions: [] });
    expect(metrics.coalescedShare).toBeNull();
  });
});
