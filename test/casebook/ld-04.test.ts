/** LD-04 — The pause that p99 ITL hides. */
import { describe, expect, it } from "vitest";
import { sampleQuantile } from "../../src/stats/index.ts";
import { createDecoder, type StreamMetrics, StreamTimeline } from "../../src/stream/index.ts";
import { bytesOf, chatWire, delta } from "../support/wire-text.ts";

const CHUNKS = 200;
const GAP_US = 20_000;
const PAUSE_US = 2_500_000;

type Pause = { readonly before: number } | "before the first" | "before usage" | "none";

function stream(pause: Pause): StreamMetrics {
  const decoder = createDecoder("openai-chat");
  const timeline = new StreamTimeline({ intendedUs: 0 });
  let atUs = 0;
  const read = (wire: string): void => timeline.add(decoder.push(bytesOf(wire), atUs));
  if (pause === "before the first") {
    for (; atUs < PAUSE_US; atUs += 500_000) read(": keep-alive\n\n");
  }
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    const isLate = typeof pause === "object" && pause.before === chunk;
    atUs += isLate ? PAUSE_US : GAP_US;
    read(chatWire(delta({ content: "word" })));
  }
  read(chatWire(delta({}, "stop")));
  if (pause === "before usage") atUs += PAUSE_US;
  read(chatWire({ choices: [], usage: { completion_tokens: CHUNKS } }, "[DONE]"));
  timeline.end(atUs);
  return timeline.metrics();
}

function pauseOf(number: number): Pause {
  if (number === 3) return "before the first";
  if (number === 12) return "before usage";
  if (number === 7) return { before: 50 };
  return number === 19 ? { before: 120 } : "none";
}

const STREAMS = Array.from({ length: 25 }, (_, i) => stream(pauseOf(i + 1)));

describe("LD-04: a pause of 2.5 s", () => {
  it("is not seen in mean and p99, but is in the worst gap", () => {
    const { itlUs, stalls } = STREAMS[6]!;
    const mean = itlUs.reduce((sum, us) => sum + us, 0) / itlUs.length;
    expect((mean / 1_000).toFixed(2)).toBe("32.46");
    const sorted = [...itlUs].sort((a, b) => a - b);
    expect(itlUs).toHaveLength(199);
    expect(sampleQuantile(sorted, 0.99).value).toBe(GAP_US);
    expect(stalls.worstGapUs).toBe(PAUSE_US);
  });

  it("is counted by stream, with its time and its place", () => {
    const stalled = STREAMS.filter(({ stalls }) => stalls.count > 0);
    expect(stalled.map(({ stalls }) => stalls.positions)).toEqual([[50], [120]]);
    expect(stalled.length / STREAMS.length).toBe(0.08);
    expect(stalled.reduce((sum, { stalls }) => sum + stalls.stalledUs, 0)).toBe(5_000_000);
  });

  it("before the first output is a matter of TTFT, after the last one of E2E", () => {
    const [plain, early, late] = [STREAMS[0]!, STREAMS[2]!, STREAMS[11]!];
    expect(early.stalls).toMatchObject({ count: 0, worstGapUs: GAP_US });
    expect(early.ttftUs! - plain.ttftUs!).toBe(PAUSE_US);
    expect(late.stalls).toMatchObject({ count: 0, worstGapUs: GAP_US });
    expect(late.e2eUs! - plain.e2eUs!).toBe(PAUSE_US);
    expect(late.lastOutputUs).toBe(plain.lastOutputUs);
  });
});
