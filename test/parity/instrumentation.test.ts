/**
 * Turns as unmodified instrumentations export them, against the delays that were planted under them. Where an
 * instrumentation hides what happened, the answer has to be that it cannot be known.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type TurnRecord, turnRecord } from "../../src/trace/index.ts";
import { readOtlp, readTurns } from "../../src/trace/otlp/index.ts";

const exports = new Map(
  gunzipSync(readFileSync("data/instrumentation-exports/exports.jsonl.gz"))
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { name: string; export: unknown })
    .map((one) => [one.name, one.export]),
);

function turnOf(name: string): TurnRecord {
  const { spans, rejectedCount } = readOtlp(exports.get(name));
  const turns = readTurns(spans);
  expect([rejectedCount, turns.length]).toEqual([0, 1]);
  return turnRecord(turns[0]!);
}

/** ms of a phase, or of a second level under it. */
function ms(turn: TurnRecord, key: string): number {
  const [phase, sub] = key.split(" ");
  if (sub === undefined) return turn.phases[phase as keyof TurnRecord["phases"]] / 1_000;
  const us = turn.subs.find((one) => one.phase === phase && one.sub === sub)?.us ?? 0;
  return us / 1_000;
}

/** The first call of a process costs up to 20 ms more, each timer up to 5. */
const SLACK_MS = 25;
const SLACK_SHARE = 0.05;

const RETRY = "orchestration retry";
const BACK_OFF = "orchestration back-off";

/** What was planted, in ms. */
const PLANTED: readonly [name: string, planted: Readonly<Record<string, number>>][] = [
  [
    "openai-langfuse with undici-stream_retry",
    { [RETRY]: 100, [BACK_OFF]: 150, prefill: 60, unattributed: 0 },
  ],
  [
    "openai-langfuse with undici-stream_slow_consumer",
    { prefill: 50, decode: 25, "orchestration consumer": 615, unattributed: 0 },
  ],
  [
    "openai-traceloop with undici-nonstream_retry",
    { [RETRY]: 100, [BACK_OFF]: 150, "unattributed not-separable": 60 },
  ],
  ["vercel-ai5-stream_retry", { [RETRY]: 150, [BACK_OFF]: 200, prefill: 90, unattributed: 0 }],
  [
    "vercel-ai6-generate_retry",
    { [RETRY]: 150, [BACK_OFF]: 2_000, "unattributed not-separable": 90 },
  ],
  // Two steps: first outputs after 80 and 120, tools of 60 and 300 side by side, gaps of 10, 700 and 10.
  ...["vercel-ai5", "vercel7-legacy", "vercel7-new"].map(
    (library): [string, Record<string, number>] => [
      `${library}-stream_tools`,
      { prefill: 200, decode: 720, tools: 300, "tools join-wait": 240, unattributed: 0 },
    ],
  ),
];

describe("an export with planted delays", () => {
  it.each(PLANTED)("%s has them", (name, planted) => {
    const turn = turnOf(name);
    for (const [key, wanted] of Object.entries(planted)) {
      const off = Math.abs(ms(turn, key) - wanted);
      expect(off, `${key}: ${ms(turn, key)} ms, planted ${wanted}`).toBeLessThanOrEqual(
        Math.max(SLACK_MS, SLACK_SHARE * wanted),
      );
    }
  });
});

describe("an export that hides what happened says that it cannot be known", () => {
  it("OpenInference without HTTP spans: one span for all tries of a stream, without a first output", () => {
    const turn = turnOf("openai-openinference-stream_retry");
    expect(ms(turn, "unattributed not-separable")).toBeGreaterThan(300);
    expect([turn.phases.prefill, turn.phases.decode]).toEqual([0, 0]);
  });

  it("AI SDK 7: the failed try of a stream is exported by nobody; it is a gap, not the model's time", () => {
    const turn = turnOf("vercel7-new-stream_retry");
    expect(Math.abs(ms(turn, "unattributed not-instrumented") - 350)).toBeLessThanOrEqual(SLACK_MS);
    expect(Math.abs(ms(turn, "prefill") - 90)).toBeLessThanOrEqual(SLACK_MS);
    expect(turn.findings.map(({ code }) => code)).toContain("gap");
  });

  it("OpenLLMetry with an abandoned stream: a request whose call never came", () => {
    const turn = turnOf("openai-traceloop with undici-stream_abandoned");
    expect(turn.findings.map(({ code }) => code)).toContain("missing-parent");
    expect(turn.flags.incomplete).toBe(true);
    expect(ms(turn, "unattributed missing-parent")).toBeGreaterThan(50);
  });
});
