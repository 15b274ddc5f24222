/** TR-07 — Parallel children make self time negative. */
import { describe, expect, it } from "vitest";
import { attribute, coverageOf, PHASES, TurnTree, turnRecord } from "../../src/trace/index.ts";
import { span } from "../support/span-forest.ts";

const S = 1_000_000;

const SPANS = [
  span("P", null, "turn", 0, 9 * S),
  ...["a", "b", "c", "d"].map((id) => span(id, "P", "tool-call", 1 * S, 7 * S)),
  span("e", "P", "tool-call", 6 * S, 8 * S),
  span("overruns", "P", "tool-call", 8.5 * S, 10 * S),
];

describe("TR-07: parallel children", () => {
  it("leave their parent the time outside of their union: 1.5 s, not -18.5 s", () => {
    expect(coverageOf(new TurnTree(SPANS), 0)).toEqual({
      selfUs: 1.5 * S,
      coveredUs: 7.5 * S,
      busyUs: (4 * 6 + 2 + 0.5) * S,
      parallelism: 26.5 / 7.5,
    });
  });

  it("make shares that add up to 100 % of wall time", () => {
    const { phases, wallUs, slices } = attribute(new TurnTree(SPANS));
    expect(wallUs).toBe(9 * S);
    expect(PHASES.reduce((sum, phase) => sum + phases[phase] / wallUs, 0)).toBeCloseTo(1, 12);
    expect(phases.tools).toBe(7.5 * S);
    const ownUs = slices.filter((one) => one.span === 0).map((one) => one.endUs - one.startUs);
    expect(ownUs.reduce((sum, us) => sum + us, 0)).toBe(1.5 * S);
  });

  it("show their busy time apart", () => {
    const { work } = turnRecord({ traceId: "t", spans: SPANS, startedUnixUs: null });
    expect(work).toEqual({ busyUs: 26.5 * S, coveredUs: 7.5 * S, parallelism: 26.5 / 7.5 });
  });
});
