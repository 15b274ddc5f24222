/** TR-02 — Nanoseconds and 64-bit integers. */
import { describe, expect, it } from "vitest";
import { turnRecord } from "../../src/trace/index.ts";
import { type OtlpReadSpan, readOtlp, readTurns, writeOtlp } from "../../src/trace/otlp/index.ts";
import { span } from "../support/span-forest.ts";

const IDS = { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" };

/** As it comes: numbers are read by JSON.parse, as a receiver would. */
function read(times: string, attributes = "[]"): OtlpReadSpan | undefined {
  const text = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${IDS.traceId}","spanId":"${IDS.spanId}",${times},"attributes":${attributes}}]}]}]}`;
  return readOtlp(JSON.parse(text)).spans[0];
}

describe("TR-02: nanoseconds", () => {
  it("(a) as text are exact: 399 ns, not 512", () => {
    const one = read(
      '"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000400"',
    )!;
    expect(one.endNs - one.startNs).toBe(399n);
    expect(one.flaws).toEqual([]);
  });

  it("(b) as numbers are within 256 ns, and said to be imprecise", () => {
    const one = read(
      '"startTimeUnixNano":1700000000000000001,"endTimeUnixNano":1700000000000000400',
    )!;
    expect(Math.abs(Number(one.startNs - 1_700_000_000_000_000_001n))).toBeLessThanOrEqual(256);
    expect(Math.abs(Number(one.endNs - 1_700_000_000_000_000_400n))).toBeLessThanOrEqual(256);
    expect(one.flaws).toEqual(["imprecise-time"]);
  });

  it("(c) that are milliseconds by mistake are told as such, and lie not in 1970", () => {
    const one = read('"startTimeUnixNano":1700000000000,"endTimeUnixNano":"1700000000250"')!;
    expect(one.startNs).toBe(1_700_000_000_000_000_000n);
    expect(one.endNs - one.startNs).toBe(250_000_000n);
    expect(one.flaws).toEqual(["unit-guessed"]);
    const { findings } = turnRecord(readTurns([one])[0]!);
    expect(findings).toContainEqual(expect.objectContaining({ code: "unit-guessed" }));
  });

  it("(d) that end before they begin are of length 0, with a warning", () => {
    const one = read(
      '"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000000"',
    )!;
    expect(one.endNs - one.startNs).toBe(0n);
    expect(one.flaws).toEqual(["reversed-time"]);
  });

  it("(f) are written from ms without a detour over doubles", () => {
    const spans = [span("s", null, "turn", 0, 1_000)];
    const turn = turnRecord({ traceId: IDS.traceId, spans, startedUnixUs: 1_767_225_600_001_000 });
    const written = writeOtlp([turn]).resourceSpans[0]!.scopeSpans[0]!.spans[0]!;
    expect(written.startTimeUnixNano).toBe("1767225600001000000");
    expect(written.endTimeUnixNano).toBe("1767225600002000000");
  });

  it("as two halves of 32 bits are put together", () => {
    const ns = 1_700_000_000_000_000_400n;
    const halves = `{"low":${Number(ns & 0xffff_ffffn) | 0},"high":${Number(ns >> 32n)}}`;
    const one = read(`"startTimeUnixNano":${halves},"endTimeUnixNano":${halves}`)!;
    expect([one.startNs, one.endNs]).toEqual([ns, ns]);
  });

  it.each(["0", "-5", '"12 ns"', "null", "1e40", '"99999999999999999999"'])(
    "that are no time, such as %s, set the span aside",
    (value) => {
      expect(read(`"startTimeUnixNano":${value},"endTimeUnixNano":${value}`)).toBeUndefined();
    },
  );
});

describe("TR-02: 64-bit integers", () => {
  const TIMES = '"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000000000"';

  it.each([
    ['{"intValue":"25"}', 25],
    ['{"intValue":25}', 25],
    ['{"doubleValue":25}', 25],
    ['{"stringValue":"22118"}', 22_118],
  ])("(e) %s is the number of tokens %d", (value, tokens) => {
    const one = read(TIMES, `[{"key":"gen_ai.usage.prompt_tokens","value":${value}}]`)!;
    const [turn] = readTurns([one]);
    expect(turn!.spans[0]!.attributes).toEqual({ "gen_ai.usage.input_tokens": tokens });
  });

  it("that a double cannot hold keep their digits", () => {
    const one = read(TIMES, '[{"key":"id","value":{"intValue":"9007199254740993"}}]')!;
    expect(one.attributes).toEqual({ id: "9007199254740993" });
  });
});
