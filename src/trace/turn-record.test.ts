import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { span, spanForest } from "../../test/support/span-forest.ts";
import { parseTurn, turnJsonSchema, turnSchema } from "./document/index.ts";
import { PHASES, type Span, turnRecord } from "./index.ts";

const published = JSON.parse(readFileSync("schema/turn.schema.json", "utf8"));
const isPublished = new Ajv2020({ strict: false, validateFormats: false }).compile(published);

const UNIX_US = Date.UTC(2026, 10, 29) * 1_000;

function record(spans: readonly Span[], startedUnixUs: number | null = UNIX_US) {
  return turnRecord({ traceId: "t", spans, startedUnixUs });
}

/** As a reader gets it. */
const sent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("a turn document", () => {
  it("is what its published schema says (npm run schema makes it), and reads back the same", () => {
    expect(published).toEqual(turnJsonSchema());
    fc.assert(
      fc.property(spanForest, (spans) => {
        const made = record(spans);
        const text = sent(made);
        expect(isPublished(text), JSON.stringify(isPublished.errors)).toBe(true);
        expect(parseTurn(text, "turn.json")).toEqual(made);
      }),
      { numRuns: 200 },
    );
  });

  it("has steps whose phases sum to their own time inside the turn", () => {
    fc.assert(
      fc.property(spanForest, (spans) => {
        for (const { startUs, endUs, phases } of record(spans).steps) {
          const sumUs = PHASES.reduce((sum, phase) => sum + phases[phase], 0);
          expect(sumUs).toBe(endUs - startUs);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("tells steps apart: the first called a tool, the second answered", () => {
    const output = (atUs: number) => ({ events: [{ name: "output-start", atUs }] });
    const { steps, decision, flags } = record([
      span("turn", null, "turn", 0, 1_000),
      span("one", "turn", "step", 0, 600),
      span("m1", "one", "model-call", 0, 300, output(200)),
      span("t1", "one", "tool-call", 300, 600),
      span("two", "turn", "step", 600, 1_000),
      span("m2", "two", "model-call", 600, 1_000, output(700)),
    ]);
    expect(
      steps.map(({ spanId, phases }) => [spanId, phases.prefill, phases.decode, phases.tools]),
    ).toEqual([
      ["one", 200, 100, 300],
      ["two", 100, 300, 0],
    ]);
    expect(decision).toBe("tools");
    expect(flags).toEqual({
      cold: [],
      notInstrumented: false,
      truncated: false,
      incomplete: false,
    });
  });

  it("counts from the root's start, and says when that was", () => {
    const made = record([
      span("turn", null, "turn", 500, 1_500, { events: [{ name: "e", atUs: 900 }] }),
      span("tool", "turn", "tool-call", 400, 1_200),
    ]);
    expect(made.startedUnixUs).toBe(UNIX_US + 500);
    expect(made.startedAt).toBe("2026-11-29T00:00:00.000Z");
    expect(made.spans.map(({ startUs, endUs }) => [startUs, endUs])).toEqual([
      [0, 1_000],
      [-100, 700],
    ]);
    expect(made.spans[0]!.events).toEqual([{ name: "e", atUs: 400 }]);
    expect(made.path[0]).toEqual({
      spanId: "tool",
      startUs: 0,
      endUs: 700,
      phase: "tools",
      sub: null,
    });
    expect(record([span("turn", null, "turn", 0, 1)], null).startedAt).toBeNull();
  });

  it("says what was cold, cut off, incomplete, and in what it was measured", () => {
    const made = turnRecord(
      {
        traceId: "t",
        startedUnixUs: 0,
        dropped: { spans: 0, attributes: 0, events: 2, links: 0, cut: 0 },
        spans: [
          span("turn", null, "turn", 0, 1_000),
          span("first", "turn", "tool-call", 0, 10, { cold: "deploy" }),
          span("pool", "turn", "startup", 10, 20),
          span("orphan", "who?", "tool-call", 20, 30),
        ],
      },
      { environment: { "service.name": "support" } },
    );
    expect(made.flags).toEqual({
      cold: ["deploy", "startup"],
      notInstrumented: false,
      truncated: true,
      incomplete: true,
    });
    expect(made.environment).toEqual({
      "service.name": "support",
      "manx.version": expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it("shows busy time apart from wall time", () => {
    const tools = [1, 2, 3, 4].map((i) => span(`t${i}`, "turn", "tool-call", 0, 100 * i));
    expect(record([span("turn", null, "turn", 0, 400), ...tools]).work).toEqual({
      busyUs: 1_000,
      coveredUs: 400,
      parallelism: 2.5,
    });
  });
});

describe("findings", () => {
  const codes = (spans: readonly Span[]): [string, string | null][] =>
    record(spans).findings.map(({ code, spanId }) => [code, spanId]);

  it("name what is wrong with spans", () => {
    expect(
      codes([
        span("turn", null, "turn", 0, 1_000),
        span("model", "turn", "model-call", 0, 300),
        span("failed", "turn", "model-call", 0, 100, { status: "error" }),
        span("late", "turn", "tool-call", 300, 1_400),
        span("log", "turn", "other", 300, 1_500, { detached: true }),
        span("backwards", "turn", "tool-call", 500, 400),
        span("open", "turn", "tool-call", 900, 1_000, { unfinished: true }),
        span("open", "turn", "tool-call", 900, 950),
        span("a", "b", "other", 0, 1),
        span("b", "a", "other", 0, 1),
      ]),
    ).toEqual([
      ["duplicate-span", null],
      ["unreachable-span", null],
      ["not-separable", "model"],
      ["late-child", "late"],
      ["reversed-time", "backwards"],
      ["unfinished", "open"],
    ]);
  });

  it("name the stretches of which nothing is known, and what came before", () => {
    const { findings, flags } = record([
      span("turn", null, "turn", 0, 5_000_000),
      span("first", "turn", "tool-call", 0, 1_000_000),
      span("agent.run", "turn", "agent", 2_000_000, 5_000_000),
    ]);
    // One stretch, since it is one after the other; most of it lies in the span without children.
    expect(findings).toEqual([
      {
        code: "not-instrumented",
        text: 'nothing inside "agent.run" says what happened',
        spanId: "agent.run",
        startUs: 1_000_000,
        endUs: 5_000_000,
      },
    ]);
    expect(flags.notInstrumented).toBe(true);
    expect(
      record([
        span("turn", null, "turn", 0, 900_000),
        span("a", "turn", "tool-call", 300_000, 400_000),
      ]).findings.map(({ text }) => text),
    ).toEqual([
      'nothing says what happened in "turn" before its first span',
      'nothing says what happened in "turn" after "a"',
    ]);
  });

  it("are bounded", () => {
    const open = Array.from({ length: 500 }, (_, i) =>
      span(`s${i}`, "turn", "tool-call", i, i + 1, { unfinished: true }),
    );
    expect(record([span("turn", null, "turn", 0, 500), ...open]).findings).toHaveLength(100);
  });
});

describe("parseTurn refuses", () => {
  const good = sent(
    record([span("turn", null, "turn", 0, 300), span("tool", "turn", "tool-call", 0, 200)]),
  ) as Record<string, unknown> & { path: { spanId: string }[]; phases: Record<string, number> };

  it.each([
    ["nothing", null, /schemaVersion/],
    ["another version", { ...good, schemaVersion: 2 }, /schemaVersion/],
    ["a wrong shape", { ...good, spans: [], wallUs: "1" }, /wallUs.*spans|spans.*wallUs/],
    [
      "phases that do not add up",
      { ...good, phases: { ...good.phases, tools: 1 } },
      /101.*|phases/,
    ],
    ["a path with a gap", { ...good, path: good.path.slice(1) }, /path\.0/],
    ["a path that ends early", { ...good, path: good.path.slice(0, 1) }, /path/],
    [
      "a path over strangers",
      { ...good, path: good.path.map((one) => ({ ...one, spanId: "x" })) },
      /path\.0/,
    ],
  ])("%s", (_, value, message) => {
    let text = "";
    try {
      parseTurn(value, "turn.json");
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "MANX_TRACE_FORMAT" });
      const { where, got } = thrown as { where: string; got: string };
      text = `${where} ${got}`;
    }
    expect(text).toMatch(/^turn\.json/);
    expect(text).toMatch(message);
  });

  it("nothing that is whole", () => expect(turnSchema.safeParse(good).success).toBe(true));
});
