/**
 * The critical path against CRISP's and the Jaeger UI's on the same 160 random traces. With CRISP's view of overlaps the
 * walk differs from it where one sibling ends exactly when another one begins and a third does something then, too, and
 * where CRISP takes out spans that stick out of their parent on both sides.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { criticalPath, type PathOptions, TurnTree } from "../../src/trace/index.ts";
import { span } from "../support/span-forest.ts";

interface Row {
  readonly spans: readonly (readonly [
    id: string,
    parent: string | null,
    startUs: number,
    us: number,
  ])[];
  readonly crisp: Readonly<Record<string, number>>;
  readonly jaeger: Readonly<Record<string, number>>;
}

const rows = gunzipSync(readFileSync("data/critical-paths/random.jsonl.gz"))
  .toString("utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

function pathTimes({ spans }: Row, options: PathOptions): Record<string, number> {
  const tree = new TurnTree(
    spans.map(([id, parent, startUs, us]) => span(id, parent, "other", startUs, startUs + us)),
  );
  const times: Record<string, number> = {};
  for (const { span: index, startUs, endUs } of criticalPath(tree, options)) {
    const { id } = tree.spans[index]!;
    times[id] = (times[id] ?? 0) + endUs - startUs;
  }
  return times;
}

function isEqual(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): boolean {
  return Object.keys({ ...a, ...b }).every((id) => (a[id] ?? 0) === (b[id] ?? 0));
}

describe("the critical path of 160 random traces", () => {
  const parent = rows.map((row) => pathTimes(row, { lagUs: 0, overlaps: "parent" }));
  const covered = rows.map((row) => pathTimes(row, { lagUs: 0 }));

  it("is CRISP's, span by span, in 133, and the Jaeger UI's in 86, as far as those two agree at all", () => {
    expect(rows).toHaveLength(160);
    expect(rows.filter(({ crisp }, i) => isEqual(parent[i]!, crisp))).toHaveLength(133);
    expect(rows.filter(({ jaeger }, i) => isEqual(parent[i]!, jaeger))).toHaveLength(86);
    expect(rows.filter(({ crisp, jaeger }) => isEqual(crisp, jaeger))).toHaveLength(79);
  });

  it("sums to the root's duration, as theirs do", () => {
    const sum = (times: Readonly<Record<string, number>>): number =>
      Object.values(times).reduce((before, us) => before + us, 0);
    for (const [i, { spans, crisp, jaeger }] of rows.entries()) {
      const wallUs = spans[0]![3];
      expect([crisp, jaeger, parent[i]!, covered[i]!].map(sum)).toEqual([
        wallUs,
        wallUs,
        wallUs,
        wallUs,
      ]);
    }
  });

  it("leaves the root less of its own if overlaps count for the children that ran", () => {
    for (const [i, { spans }] of rows.entries()) {
      const root = spans[0]![0];
      expect(covered[i]![root] ?? 0).toBeLessThanOrEqual(parent[i]![root] ?? 0);
    }
  });
});
