import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  durationText,
  EventHeap,
  Fifo,
  formatUs,
  isManxError,
  lookUp,
  ManxError,
  nearestName,
  parseDurationUs,
  parseRatePerS,
  parseSizeBytes,
  renderError,
  sizeText,
  toManxError,
} from "./index.ts";

describe("durations and rates", () => {
  it("read numbers with units, and whole microseconds come out", () => {
    expect(parseDurationUs("800ms", "--x")).toBe(800_000);
    expect(parseDurationUs("0.8 s", "--x")).toBe(800_000);
    expect(parseDurationUs("1.5m", "--x")).toBe(90_000_000);
    expect(parseDurationUs("250us", "--x")).toBe(250);
    expect(parseRatePerS("20/s", "--x")).toBe(20);
    expect(parseRatePerS("90/m", "--x")).toBe(1.5);
  });

  it("refuse bare numbers, signs, unknown units and nothing at all", () => {
    for (const bad of ["800", "-1s", "2 parsecs", "", "s", "1e3s", "NaNs"]) {
      expect(() => parseDurationUs(bad, "--slo")).toThrow(
        expect.objectContaining({ code: "MANX_DURATION", where: "--slo" }),
      );
    }
    for (const bad of ["20", "0/s", "-1/s", "20/day", "/s"]) {
      expect(() => parseRatePerS(bad, "--rate")).toThrow(
        expect.objectContaining({ code: "MANX_RATE" }),
      );
    }
  });

  it("are written so that they are read back exactly, sizes too", () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.integer({ min: 1, max: 2 ** 30 }), (us, bytes) => {
        expect(parseDurationUs(durationText(us), "--x")).toBe(us);
        expect(parseSizeBytes(sizeText(bytes), "--x")).toBe(bytes);
      }),
    );
    expect(parseSizeBytes("2GiB", "--x", 2)).toBe(2 ** 31);
    expect([durationText(1_500_000), sizeText(32 * 2 ** 20)]).toEqual(["1500ms", "32MiB"]);
    for (const bad of ["32", "0B", "2GiB", "-1KiB", "1MB"]) {
      expect(() => parseSizeBytes(bad, "--x")).toThrow(
        expect.objectContaining({ code: "MANX_FLAG_VALUE" }),
      );
    }
  });

  it("are shown with three digits and a unit", () => {
    const shown = [850, 1_234, 12_345, 380_400, 2_850_000, 38_400_000, 125_000_000].map(formatUs);
    expect(shown).toEqual([
      "850 µs",
      "1.23 ms",
      "12.3 ms",
      "380 ms",
      "2.85 s",
      "38.4 s",
      "2 min 05 s",
    ]);
  });
});

describe("ManxError", () => {
  it("shows what, where, why and what to try", () => {
    const error = new ManxError("MANX_DURATION", {
      where: "--slo",
      expected: 'a duration such as "800ms"',
      got: '"800"',
    });
    expect(renderError(error)).toBe(
      [
        "error MANX_DURATION: not a duration",
        "  at --slo",
        '  expected a duration such as "800ms", got "800"',
        '  try: write a number with a unit, such as "800ms", "2s" or "5m"',
      ].join("\n"),
    );
    expect(error.exit).toBe(2);
  });

  it("tell a log all of a mistake in usage, and of anything else the sentence alone", () => {
    const parts = { what: "not so", where: "--slo", expected: "a", got: "b" };
    const usage = new ManxError("MANX_DURATION", parts);
    expect(usage.message).toBe("not so (at --slo, expected a, got b)");
    expect(usage.toJSON()).toMatchObject({ what: "not so", message: usage.message });
    expect(renderError(usage).match(/expected a/g)).toHaveLength(1);
    // What it has got may be a time that was measured, or have come from afar.
    expect(new ManxError("MANX_DEADLINE", parts).message).toBe("not so");
  });

  it("wraps what is thrown elsewhere and keeps its own, without leaking the cause into JSON", () => {
    const own = new ManxError("MANX_URL");
    expect(toManxError(own)).toBe(own);
    const wrapped = toManxError(new Error("boom", { cause: "secret" }));
    expect([isManxError(wrapped), wrapped.code, wrapped.message]).toEqual([
      true,
      "MANX_INTERNAL",
      "boom",
    ]);
    expect(JSON.stringify(wrapped)).not.toContain("secret");
  });
});

describe("names", () => {
  it("finds what was meant, and offers nothing far-fetched", () => {
    expect(nearestName("h100-sxn", ["a100-sxm", "h100-sxm", "l40s"])).toBe("h100-sxm");
    expect(nearestName("b200", ["a100-sxm", "h200-sxm"])).toBe("h200-sxm");
    expect(nearestName("lama", ["qwen2.5-7b", "llama-3.1-8b"])).toBe("llama-3.1-8b");
    expect(nearestName("zebra", ["a100-sxm", "h100-sxm"])).toBeUndefined();
    expect(nearestName("gpt-4o", ["qwen2.5-7b", "llama-3.1-8b"])).toBeUndefined();
    expect(() => lookUp({ h100: 1, a100: 2 }, "h10", "GPU")).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN", hint: 'did you mean "h100"?' }),
    );
    expect(() => lookUp({ h100: 1 }, "toString", "GPU")).toThrow(/unknown GPU/);
  });
});

describe("EventHeap", () => {
  it("gives entries out by time, and equal times in order of sequence", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), (times) => {
        const heap = new EventHeap<{ atUs: number; sequence: number }>();
        const entries = times.map((atUs, sequence) => ({ atUs, sequence }));
        for (const entry of entries) heap.push(entry);
        const out: unknown[] = [];
        for (let next = heap.pop(); next !== undefined; next = heap.pop()) out.push(next);
        expect(out).toEqual(
          [...entries].sort((a, b) => a.atUs - b.atUs || a.sequence - b.sequence),
        );
      }),
    );
  });
});

describe("Fifo", () => {
  it("behaves as an array does under any sequence of operations", () => {
    const operation = fc.oneof(
      fc.record({ kind: fc.constantFrom("push", "unshift", "remove"), value: fc.nat(9) }),
      fc.record({ kind: fc.constant("shift"), value: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const fifo = new Fifo<number>(40);
        const model: number[] = [];
        for (const { kind, value } of operations) {
          if (kind === "push" && fifo.push(value)) model.push(value);
          if (kind === "unshift" && fifo.unshift(value)) model.unshift(value);
          if (kind === "shift") expect(fifo.shift()).toBe(model.shift());
          if (kind === "remove") {
            const at = model.indexOf(value);
            expect(fifo.remove(value)).toBe(at >= 0);
            if (at >= 0) model.splice(at, 1);
          }
          expect([...fifo]).toEqual(model);
          expect(fifo.peek()).toBe(model[0]);
          expect(fifo.size).toBeLessThanOrEqual(40);
        }
      }),
    );
  });
});
