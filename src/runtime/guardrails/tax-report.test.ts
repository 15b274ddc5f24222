/** Sums of what guards cost: they merge, survive a file, and hold against the safety budget (golden scenario 5). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallPath, GuardReport } from "./guard-report.ts";
import { TaxReport, taxReport } from "./tax-report.ts";

const MS = 1_000;

function report(parts: Partial<GuardReport>): GuardReport {
  return {
    ...{ path: "clean", refusal: null, rounds: 1, checks: [], checksLeftOut: 0 },
    ...{ firstHeldUs: 0, lastHeldUs: 0, refusedUs: 0 },
    ...parts,
  };
}

const paths: CallPath[] = ["clean", "flagged", "refused", "reformulated", "failed", "cut"];
const reports = fc.array(
  fc.record({
    path: fc.constantFrom(...paths),
    firstHeldUs: fc.option(fc.nat(2_000_000)),
    lastHeldUs: fc.option(fc.nat(2_000_000)),
    refusedUs: fc.nat(3_000_000),
    checks: fc.array(
      fc.record({
        rail: fc.constantFrom("a", "b"),
        stage: fc.constantFrom("request" as const, "output" as const),
        verdict: fc.constantFrom(
          "clean" as const,
          "flag" as const,
          "unsure" as const,
          "failed" as const,
        ),
        tookUs: fc.nat(900_000),
        parts: fc.record({ queueUs: fc.nat(1_000) }, { requiredKeys: [] }),
      }),
      { maxLength: 4 },
    ),
  }),
  { maxLength: 40 },
);

describe("a tax report", () => {
  it("merges: the parts of a list say what the whole says, also by way of a file", () => {
    fc.assert(
      fc.property(reports, fc.nat(40), (list, at) => {
        const all = list.map(report);
        const one = taxReport(all.slice(0, at));
        one.merge(TaxReport.fromJSON(JSON.parse(JSON.stringify(taxReport(all.slice(at))))));
        const whole = taxReport(all);
        expect(one.paths).toEqual(whole.paths);
        const byName = (of: TaxReport) =>
          [...of.rails].sort((a, b) => (a.stage + a.rail < b.stage + b.rail ? -1 : 1));
        expect(byName(one)).toEqual(byName(whole));
        expect(whole.paths.reduce((sum, { calls }) => sum + calls, 0)).toBe(all.length);
      }),
      { numRuns: 60 },
    );
  });

  it("keeps the rare path apart from everybody's, each with its n", () => {
    const list = Array.from({ length: 990 }, () =>
      report({ firstHeldUs: 4 * MS, lastHeldUs: 1 * MS }),
    );
    for (let i = 0; i < 10; i += 1) {
      list.push(report({ path: "reformulated", firstHeldUs: 900 * MS, refusedUs: 1_500 * MS }));
    }
    const [clean, again] = taxReport(list).paths;
    expect([clean!.path, clean!.calls, clean!.tax.p99.n]).toEqual(["clean", 990, 990]);
    expect(clean!.tax.p99.value / MS).toBeCloseTo(4, 1);
    expect([again!.path, again!.tax.p50.n]).toEqual(["reformulated", 10]);
    expect(again!.tax.p50.value / MS).toBeCloseTo(2_400, -1);
  });

  it("has a bound on names", () => {
    const check = { stage: "output", verdict: "clean", tookUs: 1, parts: {} } as const;
    const whole = taxReport(
      Array.from({ length: 1_000 }, (_, i) => report({ checks: [{ rail: `r${i}`, ...check }] })),
    );
    expect(whole.rails).toHaveLength(257);
    expect(whole.rails.reduce((sum, { checks }) => sum + checks, 0)).toBe(1_000);
  });
});

describe("the budget of safety (golden scenario 5)", () => {
  it("an external check of 250 ms in line overspends a tenth of 2 s: 125 %, fail", () => {
    const inLine = Array.from({ length: 400 }, () =>
      report({ firstHeldUs: 250 * MS, lastHeldUs: 250 * MS }),
    );
    const review = taxReport(inLine).review(2_000 * MS);
    expect(review.budgetUs).toBe(200 * MS);
    expect(review.usedShare).toBeCloseTo(1.25, 3);
    expect([review.verdict, review.used.n]).toEqual(["fail", 400]);
  });

  it("nothing measured is no pass", () => {
    expect(new TaxReport().review(2_000 * MS).verdict).toBe("fail");
  });
});
