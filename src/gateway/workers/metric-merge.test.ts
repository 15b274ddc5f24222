import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeMetrics } from "./metric-merge.ts";

const page = (count: number, state: number, more = ""): string => `# HELP a_total Things
# TYPE a_total counter
a_total{route="x",text="a \\"b\\" } c"} ${count}
# HELP b_state Of a breaker
# TYPE b_state gauge
b_state{target="t"} ${state}
# HELP c_open Open
# TYPE c_open gauge
c_open ${count}
${more}`;

describe("pages of several processes", () => {
  it("add up what counts and take the worst of what is a state", () => {
    const merged = mergeMetrics([page(3, 0), page(4, 2)]);
    expect(merged).toBe(`${page(7, 2).trimEnd()}\n`);
  });

  it("keep series and families that only one of them has", () => {
    const more = "# TYPE d_total counter\nd_total 1\n";
    expect(mergeMetrics([page(1, 1), page(1, 1, more)])).toBe(`${page(2, 1)}${more}`);
  });

  it("are the same page alone", () => {
    expect(mergeMetrics([page(3, 0)])).toBe(page(3, 0));
  });

  it("keep an exemplar, and the end that OpenMetrics wants, once and last", () => {
    const open = (value: number, exemplar: string): string =>
      `# TYPE h histogram\nh_bucket{le="1"} ${value}${exemplar}\nh_bucket{le="+Inf"} ${value}\n# EOF\n`;
    const trace = ' # {trace_id="ab"} 0.5 1.5';
    expect(mergeMetrics([open(1, ""), open(2, trace)])).toBe(open(3, trace));
  });

  it("leave out what is no line of a page, and never loop on it", () => {
    const merged = mergeMetrics([page(1, 0), 'a_total{route="x 5\nnonsense\n\n# FOO\na_total{} x']);
    expect(merged).toContain("c_open 1\n");
    expect(merged).not.toContain("nonsense");
  });

  it("sum to the same whatever the order and the grouping", () => {
    const pages = fc.array(fc.record({ count: fc.nat(1_000), state: fc.nat(2) }), { minLength: 2 });
    fc.assert(
      fc.property(pages, (figures) => {
        const texts = figures.map(({ count, state }) => page(count, state));
        const [first, ...rest] = texts;
        const stepwise = rest.reduce((sum, text) => mergeMetrics([sum, text]), first!);
        expect(mergeMetrics([...texts].reverse())).toBe(mergeMetrics(texts));
        expect(stepwise).toBe(mergeMetrics(texts));
      }),
    );
  });
});
