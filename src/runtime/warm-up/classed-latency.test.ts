import { describe, expect, it } from "vitest";
import { ClassedLatency } from "./classed-latency.ts";

describe("latencies of cold and warm calls", () => {
  it("never share a percentile, not even when two processes are put together", () => {
    const one = new ClassedLatency();
    const other = new ClassedLatency();
    for (let i = 0; i < 99; i += 1) one.record(800_000, { temperature: "warm" });
    other.record(90_000_000, { temperature: "cold", cause: "deploy" });
    other.record(2_000_000, { temperature: "partly", cause: "idle-recycle" });
    other.record(1, "warm-up");
    one.merge(other);
    expect(one.quantile(1, "warm")).toMatchObject({ value: 800_000, n: 99 });
    expect(one.quantile(0.5, "cold")).toMatchObject({ value: 90_000_000, n: 1 });
    expect(one.quantile(0.5, "partly").n).toBe(1);
    expect(one.coldShare).toBeCloseTo(2 / 101);
    expect(one.causes).toEqual({ deploy: 1, "idle-recycle": 1 });
    expect(one.warmUps).toBe(1);
  });

  it("refuse a percentile over several kinds", () => {
    for (const kind of ["all", undefined, "toString"]) {
      expect(() => new ClassedLatency().quantile(0.99, kind as never)).toThrow(
        expect.objectContaining({ code: "MANX_WARM_UP_INVALID" }),
      );
    }
    expect(new ClassedLatency().coldShare).toBeNaN();
  });

  it("count causes within a bound", () => {
    const latency = new ClassedLatency();
    for (let i = 0; i < 100; i += 1) latency.record(1, { temperature: "cold", cause: `c${i}` });
    expect(Object.keys(latency.causes)).toHaveLength(17);
    expect(latency.causes.other).toBe(84);
  });
});
