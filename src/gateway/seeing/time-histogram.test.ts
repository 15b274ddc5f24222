import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { MetricPage } from "./metric-page.ts";

const BOUNDS_S = [0.001, 0.0025, 0.01, 1];

/** Labels may come in another order, and a sum of floats in another last digit. */
function lines(text: string): string[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.replace(/\{(le="[^"]*"),(route="[^"]*")\}/, "{$2,$1}"))
    .map((line) => line.replace(/(_sum\S* )(.*)/, (_, head, sum) => head + Number(sum).toFixed(6)));
}

describe("TimeHistogram", () => {
  it("prints what prom-client's own histogram prints of the same values", async () => {
    const value = fc.oneof(fc.nat(2_000_000), fc.constantFrom(0, 1_000, 1_001, 2_500, 1_000_000));
    const record = fc.record({ route: fc.constantFrom("a", "b"), us: value });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 50 }), async (records) => {
        const page = new MetricPage();
        const histogram = page.times("x_seconds", "help", BOUNDS_S, ["route"]);
        const theirs = new Registry();
        const peer = new Histogram({
          name: "manx_gateway_x_seconds",
          help: "help",
          buckets: BOUNDS_S,
          labelNames: ["route"],
          registers: [theirs],
        });
        for (const { route, us } of records) {
          histogram.record(histogram.book.at(route), us);
          peer.observe({ route }, us / 1_000_000);
        }
        expect(lines((await page.render()).text)).toEqual(lines(await theirs.metrics()));
      }),
    );
  });

  it("records many at once as it records each", async () => {
    const [one, many] = [new MetricPage(), new MetricPage()];
    const values = [0, 5, 1_000, 2_000_000];
    const single = one.times("x_seconds", "help", BOUNDS_S);
    for (const us of values) single.record(single.book.at(), us);
    const bulk = many.times("x_seconds", "help", BOUNDS_S);
    bulk.recordAll(bulk.book.at(), values);
    expect(await many.render()).toEqual(await one.render());
  });
});
