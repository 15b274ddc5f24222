import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { RouteHistogram } from "./route-histogram.ts";

const BOUNDS_S = [0.001, 0.0025, 0.01, 1];

describe("RouteHistogram", () => {
  it("prints what prom-client's own histogram prints of the same values", async () => {
    const value = fc.oneof(fc.nat(2_000_000), fc.constantFrom(0, 1_000, 1_001, 2_500, 1_000_000));
    const record = fc.record({ route: fc.constantFrom("a", "b"), us: value });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 50 }), async (records) => {
        const [ours, theirs] = [new Registry(), new Registry()];
        const histogram = new RouteHistogram(ours, "x_seconds", "help", BOUNDS_S);
        const peer = new Histogram({
          name: "x_seconds",
          help: "help",
          buckets: BOUNDS_S,
          labelNames: ["route"],
          registers: [theirs],
        });
        for (const { route, us } of records) {
          histogram.record(route, us);
          peer.observe({ route }, us / 1_000_000);
        }
        // Labels may come in another order, and a sum of floats in another last digit.
        const read = async (registry: Registry) =>
          (await registry.metrics())
            .trim()
            .split("\n")
            .map((line) => line.replace(/\{(le="[^"]*"),(route="[^"]*")\}/, "{$2,$1}"))
            .map((line) =>
              line.replace(/(_sum\S* )(.*)/, (_, head, sum) => head + Number(sum).toFixed(6)),
            );
        expect(await read(ours)).toEqual(await read(theirs));
      }),
    );
  });

  it("records many at once as it records each", async () => {
    const [one, many] = [new Registry(), new Registry()];
    const values = [0, 5, 1_000, 2_000_000];
    const single = new RouteHistogram(one, "x_seconds", "help", BOUNDS_S);
    for (const us of values) single.record("a", us);
    new RouteHistogram(many, "x_seconds", "help", BOUNDS_S).recordAll("a", values);
    expect(await many.metrics()).toBe(await one.metrics());
  });
});
