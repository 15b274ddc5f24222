/** TR-01 — Hex, base64, base64 of hex, byte arrays, snake_case, enum names. */
import { describe, expect, it } from "vitest";
import { turnRecord } from "../../src/trace/index.ts";
import { type OtlpRead, readOtlp, readTurns } from "../../src/trace/otlp/index.ts";

const TRACE = "5b8efff798038103d269b633813fc60c";
const SPAN = "eee19b7ec3c1b174";
const TIMES = {
  startTimeUnixNano: "1544712660000000000",
  endTimeUnixNano: "1544712661000000000",
};

function read(...spans: Record<string, unknown>[]): OtlpRead {
  return readOtlp({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
}

const SPELLINGS: [string, Record<string, unknown>][] = [
  ["(a) upper-case hex", { traceId: TRACE.toUpperCase(), spanId: SPAN.toUpperCase(), ...TIMES }],
  [
    "(b) base64 of the bytes",
    { traceId: "W47/95gDgQPSabYzgT/GDA==", spanId: "7uGbfsPBsXQ=", ...TIMES },
  ],
  [
    "(c) base64 of the hex text",
    {
      traceId: "NWI4ZWZmZjc5ODAzODEwM2QyNjliNjMzODEzZmM2MGM=",
      spanId: "ZWVlMTliN2VjM2MxYjE3NA==",
      ...TIMES,
    },
  ],
  [
    "(d) bytes",
    {
      traceId: { type: "Buffer", data: [...Buffer.from(TRACE, "hex")] },
      spanId: [238, 225, 155, 126, 195, 193, 177, 116],
      ...TIMES,
    },
  ],
  [
    "(e) snake_case and names of enums",
    {
      trace_id: TRACE,
      span_id: SPAN,
      start_time_unix_nano: TIMES.startTimeUnixNano,
      end_time_unix_nano: TIMES.endTimeUnixNano,
      kind: "SPAN_KIND_CLIENT",
      status: { code: "STATUS_CODE_ERROR" },
    },
  ],
];

describe("TR-01: ids", () => {
  it.each(SPELLINGS)("as %s are the same", (name, span) => {
    const { spans, rejectedCount } = read(span);
    expect(rejectedCount).toBe(0);
    expect(spans[0]).toMatchObject({ traceId: TRACE, spanId: SPAN, parentId: null });
    expect(spans[0]!.flaws).toEqual(name.startsWith("(e)") ? [] : ["odd-id"]);
    if (name.startsWith("(e)")) expect(spans[0]).toMatchObject({ kind: 3, status: 2 });
  });

  it.each(SPELLINGS)("as %s join parent, child and link into one tree", (_, parent) => {
    const spanId = parent.spanId ?? parent.span_id;
    const traceId = parent.traceId ?? parent.trace_id;
    const child = {
      traceId: TRACE,
      spanId: "00000000000000ab",
      parentSpanId: spanId,
      links: [{ traceId, spanId }],
      ...TIMES,
    };
    const [turn] = readTurns(read(child, parent).spans);
    const { spans, findings } = turnRecord(turn!);
    expect(spans.map(({ id, parentId }) => [id, parentId])).toEqual([
      [SPAN, null],
      ["00000000000000ab", SPAN],
    ]);
    expect(spans[1]!.links).toEqual([{ spanId: SPAN, relation: "related" }]);
    const isPlain = traceId === TRACE;
    expect(findings.some(({ code }) => code === "odd-id")).toBe(!isPlain);
  });

  it.each([undefined, "", "0000000000000000", "AAAAAAAAAAA=", [], { data: [] }])(
    "say that there is no parent by %j",
    (parentSpanId) => {
      const { spans } = read({ traceId: TRACE, spanId: SPAN, parentSpanId, ...TIMES });
      expect(spans[0]!.parentId).toBeNull();
    },
  );

  it.each([
    [
      "(f) all zeros",
      { traceId: "0".repeat(32), spanId: SPAN },
      /trace id is missing or all zeros/,
    ],
    [
      "(f) all zeros",
      { traceId: TRACE, spanId: "0".repeat(16) },
      /span id is missing or all zeros/,
    ],
    ["(g) of 16 characters", { traceId: TRACE.slice(16), spanId: SPAN }, /trace id is no 16 bytes/],
    ["of no form", { traceId: TRACE, spanId: "not an id!" }, /span id is no 8 bytes/],
    ["of a parent in no form", { traceId: TRACE, spanId: SPAN, parentSpanId: 7 }, /parent's id/],
  ])("%s are refused with a reason", (_, ids, reason) => {
    const { spans, rejected } = read({ ...ids, ...TIMES });
    expect(spans).toEqual([]);
    expect(rejected).toEqual([
      { where: "resourceSpans.0.scopeSpans.0.spans.0", reason: expect.stringMatching(reason) },
    ]);
  });

  it("(h) one bad span among ten: nine are kept", () => {
    const good = Array.from({ length: 9 }, (_, i) => ({
      traceId: TRACE,
      spanId: `00000000000000a${i}`,
      ...TIMES,
    }));
    const { spans, rejectedCount } = read(
      ...good.slice(0, 4),
      { traceId: TRACE, ...TIMES },
      ...good.slice(4),
    );
    expect([spans.length, rejectedCount]).toEqual([9, 1]);
  });

  it("are read under the old name of the scope too", () => {
    const spans = [{ traceId: TRACE, spanId: SPAN, ...TIMES }];
    const old = [{ instrumentationLibrary: { name: "lib" }, spans }];
    const result = readOtlp({ resourceSpans: [{ instrumentationLibrarySpans: old }] });
    expect(result.spans).toMatchObject([{ spanId: SPAN, scope: "lib" }]);
  });

  it("in upper case, with numbers for times and a parent that is not in the file, as in the protocol's example", () => {
    const span = {
      traceId: TRACE.toUpperCase(),
      spanId: SPAN.toUpperCase(),
      parentSpanId: "EEE19B7EC3C1B173",
      startTimeUnixNano: 1_544_712_660_000_000_000,
      endTimeUnixNano: 1_544_712_661_000_000_000,
      kind: 2,
    };
    const [turn] = readTurns(read(span).spans);
    const { spans, flags, wallUs } = turnRecord(turn!);
    expect(spans.map(({ id, kind }) => [id, kind])).toEqual([
      ["ffffffffffffffff", "turn"],
      ["eee19b7ec3c1b173", "missing-parent"],
      [SPAN, "other"],
    ]);
    expect([wallUs, flags.incomplete]).toEqual([1_000_000, true]);
  });
});
