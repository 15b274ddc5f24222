import { describe, expect, it } from "vitest";
import { sampleRecord } from "../../../test/support/sample-record.ts";
import type { OtlpSpan } from "../../trace/otlp/otlp-span.ts";
import { callSpans } from "./call-spans.ts";

function value(span: OtlpSpan, key: string): unknown {
  const found = span.attributes.find((one) => one.key === key)?.value;
  return found === undefined ? undefined : Object.values(found)[0];
}

/** Microseconds of each phase, by the innermost span at each instant. */
function phases(spans: readonly OtlpSpan[]): Record<string, number> {
  const us = (nano: string): number => Number(BigInt(nano) / 1_000n);
  const cuts = [
    ...new Set(spans.flatMap((one) => [us(one.startTimeUnixNano), us(one.endTimeUnixNano)])),
  ].sort((a, b) => a - b);
  const depth = (span: OtlpSpan): number => {
    const parent = spans.find((one) => one.spanId === span.parentSpanId);
    return parent === undefined ? 0 : 1 + depth(parent);
  };
  const sums: Record<string, number> = {};
  for (let i = 1; i < cuts.length; i += 1) {
    const [from, to] = [cuts[i - 1]!, cuts[i]!];
    const inner = spans
      .filter((one) => us(one.startTimeUnixNano) <= from && us(one.endTimeUnixNano) >= to)
      .sort((a, b) => depth(b) - depth(a))[0]!;
    const phase = String(value(inner, "manx.phase"));
    sums[phase] = (sums[phase] ?? 0) + to - from;
  }
  return sums;
}

describe("callSpans", () => {
  it("shows what the time of a call went into, and its phases add up to it", () => {
    const record = sampleRecord();
    const spans = callSpans(record, "current");
    expect(spans.map(({ name }) => name)).toEqual([
      "chat smart",
      "queue",
      "POST",
      "wait for head",
      "POST",
      "connect",
      "wait for head",
      "prefill",
      "decode",
    ]);
    // Connect, wait and prefill of what was delivered; all else until then went into getting there.
    expect(phases(spans)).toEqual({ prefill: 150_000, decode: 300_000, orchestration: 50_000 });
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    for (const { traceId, parentSpanId } of spans.slice(1)) {
      expect(traceId).toBe(record.trace!.traceId);
      expect(spans.some(({ spanId }) => spanId === parentSpanId)).toBe(true);
    }
  });

  it("writes 64-bit times exactly, as text", () => {
    const [root] = callSpans(sampleRecord(), "current");
    expect(root!.startTimeUnixNano).toBe(`${Date.UTC(2026, 10, 29)}000000`);
    expect(root!.endTimeUnixNano).toBe(`${Date.UTC(2026, 10, 29) + 500}000000`);
  });

  it("has the GenAI attributes once, under the names that are asked for", () => {
    const spans = callSpans(sampleRecord(), "current");
    const [root, ...others] = spans;
    expect(value(root!, "gen_ai.provider.name")).toBe("openai");
    expect(value(root!, "gen_ai.usage.input_tokens")).toBe("100");
    expect(value(root!, "gen_ai.usage.cache_read.input_tokens")).toBe("64");
    expect(value(root!, "gen_ai.response.time_to_first_chunk")).toBe(0.2);
    expect(
      others.flatMap((one) => one.attributes).some(({ key }) => key.startsWith("gen_ai")),
    ).toBe(false);
    const [old] = callSpans(sampleRecord(), "old");
    expect(value(old!, "gen_ai.system")).toBe("openai");
    expect(value(old!, "gen_ai.usage.prompt_tokens")).toBe("100");
    expect(value(old!, "gen_ai.usage.completion_tokens")).toBe("20");
    expect(value(old!, "gen_ai.provider.name")).toBeUndefined();
  });

  it("shows each attempt with why it began and how it ended", () => {
    const attempts = callSpans(sampleRecord(), "current").filter(({ name }) => name === "POST");
    const [first, second] = attempts;
    expect(attempts.map(({ status }) => status.code)).toEqual([2, 0]);
    expect(value(first!, "error.type")).toBe("status");
    expect(value(first!, "http.response.status_code")).toBe("503");
    expect(value(first!, "manx.connection")).toBe("reused");
    expect(value(first!, "server.port")).toBe("443");
    expect(value(second!, "http.request.resend_count")).toBe("1");
    expect(value(second!, "manx.attempt.cause")).toBe("failover");
    expect(value(second!, "server.port")).toBe("8000");
  });

  it("says that nobody can tell prefill from decode where it does not stream", () => {
    const spans = callSpans(sampleRecord({ isStream: false, stream: undefined }), "current");
    expect(phases(spans)).toMatchObject({ prefill: 5_000, unattributed: 445_000 });
  });

  it("marks what has failed, and nothing that the caller gave up", () => {
    const failed = sampleRecord({ outcome: "timeout_gap", error: "MANX_UPSTREAM_TIMEOUT" });
    expect(callSpans(failed, "current")[0]!.status).toEqual({
      code: 2,
      message: "MANX_UPSTREAM_TIMEOUT",
    });
    const left = sampleRecord({ outcome: "client_cancelled" });
    expect(callSpans(left, "current")[0]!.status).toEqual({ code: 0 });
  });

  it("has none for a call whose trace is not recorded here", () => {
    expect(callSpans(sampleRecord({ trace: undefined }), "current")).toEqual([]);
  });
});
