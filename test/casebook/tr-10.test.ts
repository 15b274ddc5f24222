/** TR-10 — Framing chunk, last token, seconds or milliseconds. */
import { describe, expect, it } from "vitest";
import { type TurnRecord, turnRecord } from "../../src/trace/index.ts";
import { readOtlp, readTurns } from "../../src/trace/otlp/index.ts";

const START_MS = 1_700_000_000_000;
const ns = (ms: number): string => `${START_MS + ms}000000`;

interface Source {
  readonly attributes?: Readonly<Record<string, number | string>>;
  readonly event?: readonly [name: string, atMs: number];
  readonly durationMs?: number;
  readonly code?: number;
}

/** One model call, and the turn around it. */
function called({ attributes = {}, event, durationMs = 5_000, code = 1 }: Source): TurnRecord {
  const span = {
    traceId: "5b8efff798038103d269b633813fc60c",
    spanId: "eee19b7ec3c1b174",
    name: "chat",
    startTimeUnixNano: ns(0),
    endTimeUnixNano: ns(durationMs),
    status: { code },
    attributes: Object.entries({ "gen_ai.operation.name": "chat", ...attributes }).map(
      ([key, value]) => ({
        key,
        value: typeof value === "string" ? { stringValue: value } : { doubleValue: value },
      }),
    ),
    events: event === undefined ? [] : [{ name: event[0], timeUnixNano: ns(event[1]) }],
  };
  return turnRecord(
    readTurns(readOtlp({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }).spans)[0]!,
  );
}

/** ms; null if it is not known. */
function ttftMs({ spans }: TurnRecord): number | null {
  const model = spans.find(({ kind }) => kind === "model-call")!;
  const output = model.events.find(({ name }) => name === "output-start");
  return output === undefined ? null : (output.atUs - model.startUs) / 1_000;
}

const doubts = ({ findings }: TurnRecord): string[] =>
  findings.filter(({ code }) => code === "implausible").map(({ text }) => text);

describe("TR-10: time to first output", () => {
  it.each([
    ["(a) in ms", { attributes: { "ai.response.msToFirstChunk": 990 } }, 990],
    ["(b) in s", { attributes: { "gen_ai.response.time_to_first_chunk": 0.99 } }, 990],
    ["(e) as an event", { event: ["gen_ai.content.first", 985] }, 985],
    [
      "as Langfuse's instant",
      {
        attributes: {
          "langfuse.observation.completion_start_time": `"${new Date(START_MS + 990).toISOString()}"`,
        },
      },
      990,
    ],
    ["in s, from a server", { attributes: { "gen_ai.server.time_to_first_token": 0.99 } }, 990],
  ] as [string, Source, number][])("%s", (_, source, ms) => {
    const turn = called(source);
    expect(ttftMs(turn)).toBe(ms);
    expect([turn.phases.prefill, turn.phases.decode]).toEqual([ms * 1_000, 5_000_000 - ms * 1_000]);
    expect(doubts(turn)).toEqual([]);
  });

  it("in ms where seconds are due is taken by its size, and said to be a guess", () => {
    const turn = called({ attributes: { "gen_ai.server.time_to_first_token": 990 } });
    expect(ttftMs(turn)).toBe(990);
    expect(turn.findings.map(({ code }) => code)).toContain("unit-guessed");
  });

  it.each([
    [
      "(c) of a framing chunk",
      { attributes: { time_to_first_token: 0.000001 } },
      /sooner than any answer/,
    ],
    ["(d) that is the duration", { attributes: { time_to_first_token: 5 } }, /equals the duration/],
    [
      "beyond the end",
      { attributes: { "ai.response.msToFirstChunk": 6_000 } },
      /after the span's end/,
    ],
  ] as [string, Source, RegExp][])("%s is not believed", (_, source, reason) => {
    const turn = called(source);
    expect(ttftMs(turn)).toBeNull();
    expect(doubts(turn)).toEqual([expect.stringMatching(reason)]);
    expect(turn.subs).toEqual([{ phase: "unattributed", sub: "not-separable", us: 5_000_000 }]);
  });

  it("of several: the event, then ms, then s; a conflict is shown", () => {
    const ms = { "ai.response.msToFirstChunk": 1_500 };
    const s = { "gen_ai.response.time_to_first_chunk": 2 };
    const all = called({ attributes: { ...s, ...ms }, event: ["gen_ai.content.first", 985] });
    expect(ttftMs(all)).toBe(985);
    expect(doubts(all)).toHaveLength(2);
    expect(ttftMs(called({ attributes: { ...s, ...ms } }))).toBe(1_500);
    const agreed = called({
      attributes: { "ai.response.msToFirstChunk": 990 },
      event: ["first_token", 985],
    });
    expect([ttftMs(agreed), doubts(agreed)]).toEqual([985, []]);
  });

  it("from an event at the very end is the end's, not the first output's", () => {
    const turn = called({
      attributes: { "ai.response.msToFirstChunk": 84 },
      event: ["ai.stream.firstChunk", 5_000],
    });
    expect([ttftMs(turn), doubts(turn)]).toEqual([84, []]);
  });

  it("(f) of nothing is nothing: never 0, and never the total", () => {
    const turn = called({});
    expect(ttftMs(turn)).toBeNull();
    expect([turn.phases.prefill, turn.phases.decode]).toEqual([0, 0]);
    expect(turn.findings.map(({ code }) => code)).toContain("not-separable");
  });

  it("(g) of a call that failed after 302 s: it had started, and did not fail at once", () => {
    const turn = called({
      attributes: { "ai.response.msToFirstChunk": 1_200 },
      durationMs: 302_000,
      code: 2,
    });
    expect(ttftMs(turn)).toBe(1_200);
    expect(turn.phases).toMatchObject({
      prefill: 1_200_000,
      decode: 300_800_000,
      orchestration: 0,
    });
    const atOnce = called({ durationMs: 302_000, code: 2 });
    expect(atOnce.subs).toEqual([{ phase: "orchestration", sub: "retry", us: 302_000_000 }]);
  });
});
