import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { span, spanForest } from "../../test/support/span-forest.ts";
import {
  type Attribution,
  attribute,
  PHASES,
  type Span,
  type SpanEvent,
  TurnTree,
} from "./index.ts";

const MS = 1_000;

function attributed(spans: readonly Span[], options = {}): Attribution {
  return attribute(new TurnTree(spans), options);
}

/** Phases in ms, those of 0 left out. */
function phasesMs(attribution: Attribution): Record<string, number> {
  const entries = Object.entries(attribution.phases).filter(([, us]) => us > 0);
  return Object.fromEntries(entries.map(([phase, us]) => [phase, us / MS]));
}

function subsMs(attribution: Attribution): Record<string, number> {
  return Object.fromEntries(
    attribution.subs.map(({ phase, sub, us }) => [`${phase} ${sub}`, us / MS]),
  );
}

const ms = (
  id: string,
  parent: string | null,
  kind: Span["kind"],
  from: number,
  to: number,
  more = {},
): Span => span(id, parent, kind, from * MS, to * MS, more);
const at = (name: string, atMs: number): SpanEvent => ({ name, atUs: atMs * MS });

describe("phases", () => {
  it("sum to wall time exactly, whatever the spans are like", () => {
    fc.assert(
      fc.property(
        spanForest,
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 0, max: 60 }),
        (spans, lagUs, glueMaxUs) => {
          const { phases, wallUs, slices, subs } = attributed(spans, { lagUs, glueMaxUs });
          expect(wallUs).toBe(200);
          expect(PHASES.reduce((sum, phase) => sum + phases[phase], 0)).toBe(200);
          let nowUs = 0;
          for (const { startUs, endUs } of slices) {
            expect(startUs).toBe(nowUs);
            expect(endUs).toBeGreaterThan(startUs);
            nowUs = endUs;
          }
          expect(nowUs).toBe(200);
          for (const phase of PHASES) {
            const known = subs.filter((one) => one.phase === phase);
            expect(known.reduce((sum, { us }) => sum + us, 0)).toBeLessThanOrEqual(phases[phase]);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("are the same for any order of spans, any names, and any zero of time", () => {
    const input = fc.tuple(spanForest, fc.nat(), fc.integer({ min: -500, max: 2 ** 50 }));
    fc.assert(
      fc.property(input, ([spans, turns, shiftUs]) => {
        const moved = spans.map((one) => ({
          ...one,
          startUs: one.startUs + shiftUs,
          endUs: one.endUs + shiftUs,
          events: one.events.map(({ name, atUs }) => ({ name, atUs: atUs + shiftUs })),
        }));
        const turned = moved.map((_, i) => moved[(i + turns) % moved.length]!);
        const [one, other] = [attributed(spans), attributed(turned)];
        expect(other.phases).toEqual(one.phases);
        expect(other.subs).toEqual(one.subs);
      }),
      { numRuns: 500 },
    );
  });

  it("of a usual turn", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 3_000),
      ms("prompt", "turn", "assembly", 2, 12),
      ms("docs", "turn", "retrieval", 12, 212),
      ms("step", "turn", "step", 213, 2_990),
      ms("model", "step", "model-call", 215, 1_215, {
        events: [
          at("place-granted", 235),
          at("connection-ready", 285),
          at("output-start", 615),
          at("output-end", 1_205),
        ],
      }),
      ms("search", "step", "tool-call", 1_220, 1_720),
      ms("check", "step", "guardrail", 1_725, 1_825),
      ms("model2", "step", "model-call", 1_830, 2_980, {
        events: [
          at("output-start", 2_000),
          at("stall-start", 2_100),
          at("stall-end", 2_900),
          at("output-end", 2_980),
        ],
      }),
    ]);
    expect(phasesMs(result)).toEqual({
      assembly: 2 + 10,
      retrieval: 200,
      prefill: 400 + 170,
      decode: 590 + 980,
      tools: 500,
      guardrails: 100,
      orchestration: 10 + 1 + 2 + 5 + 5 + 5 + 10 + 10,
    });
    expect(subsMs(result)).toEqual({
      "prefill connect": 50,
      "prefill queue": 20,
      "decode stall": 800,
      "orchestration consumer": 10,
    });
  });

  it("of a call that was tried three times: lost tries and waits are no model time", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 900),
      ms("call", "turn", "model-call", 0, 900),
      ms("a1", "call", "attempt", 10, 160, { status: "error" }),
      ms("a2", "call", "attempt", 360, 400, { status: "error" }),
      ms("a3", "call", "attempt", 600, 890, {
        events: [at("output-start", 700), at("output-end", 880)],
      }),
    ]);
    expect(phasesMs(result)).toEqual({ prefill: 110, decode: 180, orchestration: 610 });
    expect(subsMs(result)).toEqual({
      "prefill queue": 10,
      "orchestration back-off": 400,
      "orchestration retry": 190,
      "orchestration consumer": 20,
    });
  });

  it("of a call that an agent made again after it had failed: the wait is no hole", () => {
    const again = (status: Span["status"]) =>
      attributed([
        ms("turn", null, "turn", 0, 3_000),
        ms("failed", "turn", "model-call", 0, 150, { status }),
        ms("again", "turn", "model-call", 2_150, 3_000, { events: [at("output-start", 2_400)] }),
      ]);
    expect(subsMs(again("error"))).toEqual({
      "orchestration back-off": 2_000,
      "orchestration retry": 150,
    });
    expect(subsMs(again("cancelled"))).toMatchObject({ "unattributed not-instrumented": 2_000 });
  });

  it("of a hedge: the first try counts up to the start of the one that won, even if it is cancelled late", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 1_000),
      ms("call", "turn", "model-call", 0, 1_000),
      ms("first", "call", "attempt", 0, 999, {
        status: "cancelled",
        events: [at("output-start", 998)],
      }),
      ms("hedge", "call", "attempt", 300, 990, { events: [at("output-start", 400)] }),
    ]);
    expect(phasesMs(result)).toEqual({ prefill: 100, decode: 590, orchestration: 310 });
    expect(subsMs(result)).toEqual({ "orchestration retry": 300, "orchestration consumer": 10 });
  });

  it("of a fan-out: the join waits from the second last finisher to the last", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 5_000),
      ms("a", "turn", "tool-call", 0, 900),
      ms("b", "turn", "tool-call", 0, 1_000),
      ms("slow", "turn", "tool-call", 0, 5_000),
      ms("inner", "slow", "retrieval", 4_000, 4_500),
    ]);
    expect(phasesMs(result)).toEqual({ tools: 4_500, retrieval: 500 });
    expect(subsMs(result)).toEqual({ "tools join-wait": 3_500, "retrieval join-wait": 500 });
  });

  it("of a guardrail beside a stream: the stream does not wait to be joined", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 1_000),
      ms("guard", "turn", "guardrail", 0, 300),
      ms("model", "turn", "model-call", 0, 1_000, { events: [at("output-start", 200)] }),
    ]);
    expect(phasesMs(result)).toEqual({ prefill: 200, decode: 800 });
    expect(subsMs(result)).toEqual({});
  });

  it("of set-up: cold start, in the phase of what it serves", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 1_000),
      ms("tool", "turn", "tool-call", 0, 600),
      ms("discover", "tool", "startup", 0, 500),
      ms("pool", "turn", "startup", 600, 1_000, { phase: "retrieval" }),
    ]);
    expect(phasesMs(result)).toEqual({ tools: 600, retrieval: 400 });
    expect(subsMs(result)).toEqual({ "tools cold-start": 500, "retrieval cold-start": 400 });
  });

  it("of spans over the limit or without their parent are told as unknown", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 300),
      ms("rest", "turn", "dropped", 0, 100),
      ms("stub", "turn", "missing-parent", 100, 200),
      ms("http", "stub", "other", 110, 200),
      ms("model", "turn", "model-call", 200, 300),
    ]);
    expect(phasesMs(result)).toEqual({ unattributed: 300 });
    expect(subsMs(result)).toEqual({
      "unattributed dropped": 100,
      "unattributed missing-parent": 100,
      "unattributed not-separable": 100,
    });
  });
});

describe("structure", () => {
  const turn = (glueMs: number): Span[] => [
    ms("turn", null, "turn", 0, 400 + 2 * glueMs),
    ms("one", "turn", "tool-call", 0, 200),
    ms("step", "turn", "step", 200 + glueMs, 400 + 2 * glueMs),
    ms("two", "step", "tool-call", 200 + 2 * glueMs, 400 + 2 * glueMs),
  ];

  it("is glue as long as it is short, and a hole beyond, however many spans share it", () => {
    expect(phasesMs(attributed(turn(50)))).toEqual({ tools: 400, orchestration: 100 });
    const { holes, ...result } = attributed(turn(51));
    expect(phasesMs({ holes, ...result })).toEqual({ tools: 400, unattributed: 102 });
    expect(holes).toEqual([{ startUs: 200 * MS, endUs: 302 * MS, span: 0 }]);
    expect(phasesMs(attributed(turn(51), { glueMaxUs: 102 * MS }))).toMatchObject({
      orchestration: 102,
    });
  });

  it("is unknown in a turn that has nothing else, however short", () => {
    const result = attributed([ms("turn", null, "turn", 0, 20), ms("step", "turn", "step", 5, 15)]);
    expect(phasesMs(result)).toEqual({ unattributed: 20 });
  });
});

describe("golden scenarios", () => {
  it("G1: a start-up of 90 s is its tool registry, then the vector client; 14.2 s are unknown, the model is below 1 %", () => {
    const S = 1_000;
    const { phases, subs, wallUs, slices } = attributed([
      ms("start-up", null, "startup", 0, 90 * S),
      ms("tool registry", "start-up", "startup", 3 * S, 33 * S, { phase: "tools" }),
      ms("schema validation", "start-up", "startup", 35 * S, 45 * S, { phase: "tools" }),
      ms("vector client", "start-up", "startup", 48 * S, 68 * S, { phase: "retrieval" }),
      ms("cache priming", "start-up", "startup", 71 * S, 86 * S, { phase: "prefill" }),
      ms("model", "start-up", "model-call", 89.2 * S, 90 * S, {
        events: [at("output-start", 90 * S)],
      }),
    ]);
    expect(phases.unattributed).toBe(14_200 * MS);
    expect(subs).toContainEqual({
      phase: "unattributed",
      sub: "not-instrumented",
      us: 14_200 * MS,
    });
    const longest = slices.toSorted((a, b) => b.endUs - b.startUs - (a.endUs - a.startUs))[0]!;
    expect(longest).toMatchObject({ span: 1, phase: "tools", sub: "cold-start" });
    const modelUs = phases.prefill - 15 * S * MS + phases.decode;
    expect(modelUs).toBe(800 * MS);
    expect(modelUs / wallUs).toBeLessThan(0.01);
  });

  it("G7: 28 s without children are not instrumented, and nobody is blamed", () => {
    const result = attributed([
      ms("turn", null, "turn", 0, 28_000),
      ms("agent.run", "turn", "agent", 0, 28_000),
    ]);
    expect(phasesMs(result)).toEqual({ unattributed: 28_000 });
    expect(subsMs(result)).toEqual({ "unattributed not-instrumented": 28_000 });
    expect(result.holes).toEqual([{ startUs: 0, endUs: 28_000 * MS, span: 1 }]);
  });
});
