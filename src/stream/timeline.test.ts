import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "./stream-event.ts";
import { type StreamMetrics, StreamTimeline, type TimelineOptions } from "./timeline.ts";
import { USAGE_UNKNOWN } from "./token-usage.ts";

interface Chunk {
  readonly gapUs: number;
  readonly text: string;
}

const START_US = 5_000;

function measure(
  chunks: readonly Chunk[],
  outputTokens: number | null,
  options: Partial<TimelineOptions> = {},
): StreamMetrics {
  const timeline = new StreamTimeline({ intendedUs: START_US, ...options });
  let atUs = START_US;
  const events: StreamEvent[] = chunks.map(({ gapUs, text }, frame) => {
    atUs += gapUs;
    return { type: "text-delta", choice: 0, text, frame, atUs };
  });
  if (outputTokens !== null) {
    const usage = { ...USAGE_UNKNOWN, outputTokens };
    events.push({ type: "usage", usage, frame: chunks.length, atUs });
  }
  timeline.add(events);
  return timeline.metrics();
}

const chunk = fc.record({
  gapUs: fc.nat(3_000_000),
  text: fc.string({ minLength: 1, maxLength: 30 }),
});
const chunks = fc.array(chunk, { minLength: 1, maxLength: 40 });
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

describe("StreamTimeline", () => {
  it("shares out time and tokens without loss", () => {
    fc.assert(
      fc.property(chunks, fc.integer({ min: 2, max: 300 }), (some, tokens) => {
        const metrics = measure(some, tokens);
        const first = metrics.ttftUs!;
        const spanUs = metrics.lastOutputUs! - first;
        expect(sum(metrics.chunkGapsUs)).toBe(spanUs);
        expect(first).toBe(some[0]!.gapUs);
        expect(metrics.tokens).toBe(tokens);
        if (some.length < 2) return;
        // The last chunk always has a token, so that ITL ends where the output ends.
        expect(sum(metrics.itlUs)).toBe(spanUs);
        expect(metrics.tpotUs).toBe(Math.round(spanUs / metrics.itlUs.length));
        expect(metrics.itlUs.length).toBeLessThan(tokens);
      }),
    );
  });

  it("counts stalls as the definition does", () => {
    fc.assert(
      fc.property(chunks, (some) => {
        const { chunkGapsUs, stalls } = measure(some, null);
        const sorted = [...chunkGapsUs].sort((a, b) => a - b);
        const median = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
        const threshold = sorted.length < 5 ? 1_000_000 : Math.max(1_000_000, 5 * median);
        const expected = chunkGapsUs.filter((gap) => gap > threshold);
        expect(stalls.count).toBe(expected.length);
        expect(stalls.stalledUs).toBe(sum(expected));
        expect(stalls.worstGapUs).toBe(sorted.at(-1) ?? null);
      }),
    );
  });

  it.each([
    [[1_000_000], 0],
    [[1_000_001], 1],
    [[300_000, 300_000, 300_000, 300_000, 1_500_000], 0],
    [[300_000, 300_000, 300_000, 300_000, 1_500_001], 1],
    [[300_000, 300_000, 300_000, 1_500_000], 1],
  ])("of gaps %j finds %i stalls", (gaps, count) => {
    const some = [0, ...gaps].map((gapUs) => ({ gapUs, text: "a" }));
    expect(measure(some, null).stalls.count).toBe(count);
  });

  it("keeps a bounded number of gaps and goes on counting", () => {
    const some = Array.from({ length: 50 }, (_, i) => ({
      gapUs: i === 45 ? 4_000_000 : 10,
      text: "abcd",
    }));
    const metrics = measure(some, 100, { chunksKeptMax: 10 });
    expect(metrics.chunkGapsUs).toHaveLength(9);
    expect(metrics.itlUs).toHaveLength(18);
    // 40 gaps and 80 tokens' samples.
    expect(metrics.samplesLeftOut).toBe(120);
    expect(metrics).toMatchObject({ chunks: 50, tokens: 100, tpotUs: Math.round(4_000_480 / 98) });
    expect(metrics.stalls).toMatchObject({ count: 1, stalledUs: 4_000_000, worstGapUs: 4_000_000 });
    expect(metrics.coalescedShare).toBe(48 / 49);
  });

  it("does not believe a server into making samples without end", () => {
    const some = [0, 7, 7].map((gapUs) => ({ gapUs, text: "a" }));
    const metrics = measure(some, 1e9, { itlSamplesMax: 1_000 });
    expect(metrics.itlUs).toHaveLength(1_000);
    expect(metrics.samplesLeftOut).toBeGreaterThan(6e8);
    expect(measure(some, 1e9 + 1)).toMatchObject({ tokens: 3, tokensSource: "chunks" });
  });

  it("takes a count that came before the last chunk for no total", () => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const usage = { ...USAGE_UNKNOWN, outputTokens: 1 };
    const text = { type: "text-delta", choice: 0, text: "abc" } as const;
    timeline.add([
      { type: "usage", usage, frame: 0, atUs: 0 },
      { ...text, frame: 1, atUs: 1_000 },
      { ...text, frame: 2, atUs: 2_000 },
    ]);
    expect(timeline.metrics()).toMatchObject({ tokens: 2, tokensSource: "chunks" });
  });

  it("leaves out reasoning that was counted but not streamed", () => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const usage = { ...USAGE_UNKNOWN, outputTokens: 1_004, reasoningTokens: 1_000 };
    const text = { type: "text-delta", choice: 0, text: "abcd" } as const;
    timeline.add([
      { ...text, frame: 0, atUs: 1_000 },
      { ...text, frame: 1, atUs: 5_000 },
      { type: "usage", usage, frame: 2, atUs: 6_000 },
    ]);
    expect(timeline.metrics()).toMatchObject({ tokens: 4, tpotUs: 2_000, itlUs: [2_000, 2_000] });
  });

  it("counts such reasoning where it was streamed", () => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const usage = { ...USAGE_UNKNOWN, outputTokens: 6, reasoningTokens: 4 };
    const thought = {
      type: "reasoning-delta",
      choice: 0,
      text: "abcdefgh",
      redacted: false,
    } as const;
    const text = { type: "text-delta", choice: 0, text: "abcd" } as const;
    timeline.add([
      { ...thought, frame: 0, atUs: 1_000 },
      { ...text, frame: 1, atUs: 5_000 },
      { type: "usage", usage, frame: 2, atUs: 6_000 },
    ]);
    expect(timeline.metrics()).toMatchObject({ tokens: 6, tpotUs: 2_000, itlUs: [2_000, 2_000] });
  });

  it("takes all output of one frame for one chunk", () => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const thought = { type: "reasoning-delta", choice: 0, text: "ab", redacted: false } as const;
    const text = { type: "text-delta", choice: 0, text: "a" } as const;
    timeline.add([
      { ...thought, frame: 0, atUs: 1_000 },
      { ...text, frame: 0, atUs: 1_000 },
      { ...text, frame: 1, atUs: 3_000 },
    ]);
    expect(timeline.metrics()).toMatchObject({ chunks: 2, chunkGapsUs: [2_000] });
  });

  it("does not take counts beside the chunks for exact if the total says otherwise", () => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const text = { type: "text-delta", choice: 0, text: "abcd" } as const;
    const counted = (outputTokens: number, frame: number): StreamEvent => ({
      type: "usage",
      usage: { ...USAGE_UNKNOWN, outputTokens },
      frame,
      atUs: frame * 1_000,
    });
    timeline.add([{ ...text, frame: 0, atUs: 0 }, counted(1, 0)]);
    timeline.add([{ ...text, frame: 1, atUs: 1_000 }, counted(2, 1)]);
    expect(timeline.metrics()).toMatchObject({ tokens: 2, spreadBy: "usage" });
    timeline.add([counted(8, 2)]);
    expect(timeline.metrics()).toMatchObject({ tokens: 8, spreadBy: "characters", tpotUs: 250 });
  });

  it.each([
    ["the first chunk", [0, 2], 2],
    ["a later chunk", [1, 2, null], 2],
  ])("does not take such counts for exact if there is none for %s", (_, running, total) => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const report = (outputTokens: number, frame: number): StreamEvent => ({
      type: "usage",
      usage: { ...USAGE_UNKNOWN, outputTokens },
      frame,
      atUs: frame * 1_000,
    });
    for (const [frame, count] of running.entries()) {
      const atUs = frame * 1_000;
      timeline.add([{ type: "text-delta", choice: 0, text: "abcd", frame, atUs }]);
      if (count !== null) timeline.add([report(count, frame)]);
    }
    timeline.add([report(total, running.length)]);
    const { spreadBy, itlUs, lastOutputUs } = timeline.metrics();
    expect(spreadBy).toBe("characters");
    expect(itlUs.reduce((a, b) => a + b, 0)).toBe(lastOutputUs);
  });

  it("starts its two clocks where they belong", () => {
    const timeline = new StreamTimeline({ intendedUs: 1_000 });
    timeline.sent(1_400);
    timeline.headers(2_000);
    timeline.headers(9_000);
    timeline.add([{ type: "refusal-delta", choice: 0, text: "No", frame: 0, atUs: 3_000 }]);
    timeline.end(4_000);
    expect(timeline.metrics()).toMatchObject({
      ttfbUs: 1_000,
      ttftUs: 2_000,
      ttfvtUs: 2_000,
      serviceTtftUs: 1_600,
      e2eUs: 3_000,
    });
  });

  it("gives figures so far, which stay as they were", () => {
    const timeline = new StreamTimeline({ intendedUs: 0 });
    const text = { type: "text-delta", choice: 0, text: "a" } as const;
    timeline.add([0, 1].map((frame) => ({ ...text, frame, atUs: frame * 1_000 })));
    const early = timeline.metrics();
    timeline.add([{ ...text, frame: 2, atUs: 9_000 }]);
    expect(early).toMatchObject({ chunkGapsUs: [1_000], e2eUs: null });
    expect(timeline.metrics().chunkGapsUs).toEqual([1_000, 8_000]);
  });

  it("has nulls where nothing came", () => {
    expect(new StreamTimeline({ intendedUs: 0 }).metrics()).toEqual({
      ttfbUs: null,
      ttftUs: null,
      ttfvtUs: null,
      serviceTtftUs: null,
      lastOutputUs: null,
      e2eUs: null,
      chunkGapsUs: [],
      itlUs: [],
      tpotUs: null,
      chunks: 0,
      tokens: null,
      tokensSource: null,
      spreadBy: null,
      stalls: { count: 0, stalledUs: 0, worstGapUs: null, positions: [] },
      coalescedShare: null,
      samplesLeftOut: 0,
    });
  });
});
