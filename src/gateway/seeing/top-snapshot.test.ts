import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketQuantile } from "./bucket-quantile.ts";
import { parseScrapedPage } from "./scrape-page.ts";
import { look, takeTop } from "./top-snapshot.ts";

const LABELS = 'route="messages",model="m",upstream="u"';

/** @param counts of TTFT up to 0.1, 0.2 and more seconds, not cumulative. */
function page(counts: readonly [number, number, number], more = ""): string {
  const [low, middle, high] = counts;
  const n = low + middle + high;
  return `process_start_time_seconds 1000
manx_gateway_info{version="1.2.3"} 1
manx_gateway_in_flight 3
manx_gateway_requests_total{route="messages",model="m",status="200",outcome="ok"} ${n}
manx_gateway_breaker_state{model="m",upstream="u",target="u"} 2
manx_gateway_e2e_seconds_count{${LABELS}} ${n}
manx_gateway_ttft_seconds_bucket{${LABELS},le="0.1"} ${low}
manx_gateway_ttft_seconds_bucket{${LABELS},le="0.2"} ${low + middle}
manx_gateway_ttft_seconds_bucket{${LABELS},le="+Inf"} ${n}
manx_gateway_ttft_seconds_count{${LABELS}} ${n}
${more}`;
}

describe("takeTop", () => {
  it("shows what happened between two looks, and how things stand at the second", () => {
    const before = look(page([1_000, 0, 0]), 0, 2_000_000);
    const stalled = `manx_gateway_stalled_streams_total{${LABELS}} 5\n`;
    const now = look(page([1_000, 90, 10], stalled), 10_000_000, 2_010_000);
    const { rows, ...top } = takeTop(now, before);
    expect(top).toMatchObject({ windowS: 10, isSinceStart: false, version: "1.2.3", inFlight: 3 });
    expect(top.requestsPerS).toBe(10);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ model: "m", upstream: "u", callsPerS: 10, breaker: "open" });
    expect(rows[0]!.stalledShare).toBe(0.05);
    expect(rows[0]!.ttftP50.n).toBe(100);
    expect(rows[0]!.ttftP50.valueS).toBeCloseTo(0.1 + (0.1 * 50) / 90);
    expect(rows[0]!.ttftP99).toEqual({ valueS: Number.POSITIVE_INFINITY, n: 100, beyond: 1 });
    expect(rows[0]!.itlP99.n).toBe(0);
  });

  it("shows all since the start with one look, or after a restart in between", () => {
    const now = look(page([10, 0, 0]), 5e6, 1_100_000);
    expect(takeTop(now)).toMatchObject({ isSinceStart: true, windowS: 100, requestsPerS: 0.1 });
    const other = page([500, 0, 0]).replace("seconds 1000", "seconds 900");
    expect(takeTop(now, look(other, 0, 1_000_000))).toMatchObject({ isSinceStart: true });
  });

  it("counts a counter that has begun anew from there", () => {
    const before = look(page([500, 0, 0]), 0, 1_000_000);
    const now = look(page([20, 0, 0]), 10e6, 1_010_000);
    expect(takeTop(now, before).rows[0]!.callsPerS).toBe(2);
  });
});

describe("parseScrapedPage", () => {
  it("reads labels of any text, exemplars and all, and leaves out what is none", () => {
    const text = [
      'manx_a{x="a\\"b\\\\c\\n}",y="1, 2"} 5 # {trace_id="z"} 0.1 1.5',
      "manx_b 1e3",
      'manx_c{le="+Inf"} +Inf',
      "manx_d nonsense",
      "manx_e{x=} 1 2 3 4",
      "other 7",
      `manx_f{x="${"y".repeat(20_000)}"} 1`,
    ].join("\n");
    const samples = Object.fromEntries(parseScrapedPage(text, "manx_"));
    expect(samples).toEqual({
      manx_a: [{ labels: { x: 'a"b\\c\n}', y: "1, 2" }, value: 5 }],
      manx_b: [{ labels: {}, value: 1_000 }],
      manx_c: [{ labels: { le: "+Inf" }, value: Number.POSITIVE_INFINITY }],
      manx_e: [{ labels: {}, value: 1 }],
    });
  });
});

describe("bucketQuantile", () => {
  it("lies in the bucket of the true quantile, and says how many lie beyond", () => {
    const bounds = [1, 2, 5, 10, Number.POSITIVE_INFINITY];
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.001, max: 9.999, noNaN: true }), {
          minLength: 1,
          maxLength: 300,
        }),
        fc.constantFrom(0.5, 0.9, 0.99),
        (values, q) => {
          const counts = new Map(
            bounds.map((bound) => [bound, values.filter((value) => value <= bound).length]),
          );
          const { valueS, n, beyond } = bucketQuantile(q, counts);
          const sorted = [...values].sort((a, b) => a - b);
          const truth = sorted[Math.max(0, Math.ceil(q * n - 1e-9) - 1)]!;
          const bucket = (value: number): number => bounds.findIndex((bound) => value <= bound);
          expect(bucket(valueS)).toBe(bucket(truth));
          expect(n).toBe(values.length);
          expect(beyond).toBe(Math.floor(n - q * n + 1e-9));
        },
      ),
    );
    expect(bucketQuantile(0.5, new Map()).valueS).toBeNaN();
  });
});
