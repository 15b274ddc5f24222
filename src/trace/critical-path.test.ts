import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { span, spanForest } from "../../test/support/span-forest.ts";
import { criticalPath, type Span, TurnTree } from "./index.ts";

/** `[id, from, to]` in order of time. */
function path(spans: readonly Span[], lagUs = 0): [string, number, number][] {
  const tree = new TurnTree(spans);
  return criticalPath(tree, { lagUs }).map(({ span: index, startUs, endUs }) => [
    tree.spans[index]!.id,
    startUs,
    endUs,
  ]);
}

describe("the critical path", () => {
  it("gives each instant to a deepest span that ran then, and to a parent only where no child ran", () => {
    fc.assert(
      fc.property(spanForest, (spans) => {
        // Links and lost attempts are recorded reasons to leave a running span aside.
        const plain = spans.map((one) => ({
          ...one,
          links: [],
          kind: one.kind === "attempt" ? ("other" as const) : one.kind,
        }));
        const tree = new TurnTree(plain);
        const wrong: string[] = [];
        for (const { span: index, startUs, endUs } of criticalPath(tree, { lagUs: 0 })) {
          for (let atUs = startUs + 0.5; atUs < endUs; atUs += 1) {
            const runs = (one: number): boolean =>
              tree.startsUs[one]! < atUs && atUs < tree.endsUs[one]!;
            for (let up = index; up >= 0; up = tree.parents[up]!) {
              if (!runs(up)) wrong.push(`${up} did not run at ${atUs}`);
            }
            const kids = tree.children(index).filter((kid) => tree.spans[kid]!.detached !== true);
            if (kids.some(runs)) wrong.push(`${index} had a child at ${atUs}`);
          }
        }
        expect(wrong).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  /** Tasks that begin when the last of what they need has ended; the wall time is the longest chain. */
  const dag = fc.array(
    fc.record({
      us: fc.integer({ min: 1, max: 50 }),
      needs: fc.array(fc.nat(), { maxLength: 3 }),
      lagUs: fc.integer({ min: 0, max: 5 }),
    }),
    { minLength: 1, maxLength: 30 },
  );
  type Tasks = typeof dag extends fc.Arbitrary<infer Value> ? Value : never;

  function planted(tasks: Tasks, hasLag: boolean): { spans: Span[]; chainUs: number } {
    const endsUs: number[] = [];
    const chainsUs: number[] = [];
    const spans = tasks.map(({ us, needs, lagUs }, i) => {
      const known = i === 0 ? [] : needs.map((need) => need % i);
      const readyUs = Math.max(0, ...known.map((need) => endsUs[need]!));
      const last = known.filter((need) => endsUs[need] === readyUs);
      const startUs = readyUs + (hasLag && known.length > 0 ? lagUs : 0);
      endsUs.push(startUs + us);
      chainsUs.push(us + Math.max(0, ...last.map((need) => chainsUs[need]!)));
      return span(`t${i}`, "turn", "tool-call", startUs, startUs + us, {
        after: known.map((need) => `t${need}`),
      });
    });
    const wallUs = Math.max(...endsUs);
    const chainUs = Math.max(...chainsUs.filter((_, i) => endsUs[i] === wallUs));
    return { spans: [span("turn", null, "turn", 0, wallUs), ...spans], chainUs };
  }

  const busyUs = (sections: [string, number, number][]): number =>
    sections.filter(([id]) => id !== "turn").reduce((sum, [, from, to]) => sum + to - from, 0);

  it("is the longest chain of a planted graph, with its links and without", () => {
    fc.assert(
      fc.property(dag, (tasks) => {
        const { spans, chainUs } = planted(tasks, false);
        expect(chainUs).toBe(spans[0]!.endUs);
        expect(busyUs(path(spans))).toBe(chainUs);
        expect(busyUs(path(spans.map((one) => ({ ...one, links: [] }))))).toBe(chainUs);
      }),
      { numRuns: 1_000 },
    );
  });

  it("follows recorded links over waits, and is never longer than the wall", () => {
    fc.assert(
      fc.property(dag, (tasks) => {
        const { spans } = planted(tasks, true);
        const sections = path(spans);
        expect(busyUs(sections)).toBeLessThanOrEqual(spans[0]!.endUs);
        const tree = new TurnTree(spans);
        const walked = sections.map(([id]) => id).filter((id) => id !== "turn");
        // Each task on the path names the one before it, or needs nothing.
        for (const [i, id] of walked.entries()) {
          const needs = tree.spans[tree.indexOf(id)!]!.links.map(({ spanId }) => spanId);
          if (i > 0) expect(needs).toContain(walked[i - 1]);
          else expect(needs).toEqual([]);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("goes from a tool that began early to the stream that asked for it", () => {
    const spans = [
      span("step", null, "step", 0, 1_000),
      span("model", "step", "model-call", 0, 600),
      span("a", "step", "tool-call", 400, 700),
      span("b", "step", "tool-call", 550, 1_000, { after: ["model"] }),
    ];
    expect(path(spans)).toEqual([
      ["model", 0, 550],
      ["b", 550, 1_000],
    ]);
    // Without the link it cannot be told who asked: the last finisher of those that ran.
    expect(path(spans.map((one) => ({ ...one, links: [] })))).toEqual([
      ["model", 0, 400],
      ["a", 400, 550],
      ["b", 550, 1_000],
    ]);
  });

  it("takes what ended just before for the reason, and what merely ran beside not", () => {
    const spans = [
      span("turn", null, "turn", 0, 100),
      span("first", "turn", "tool-call", 0, 38),
      span("second", "turn", "tool-call", 40, 100),
      span("beside", "turn", "tool-call", 0, 60),
    ];
    expect(path(spans, 2)).toEqual([
      ["first", 0, 38],
      ["turn", 38, 40],
      ["second", 40, 100],
    ]);
    expect(path(spans, 1).map(([id]) => id)).toEqual(["beside", "second"]);
  });

  it("leaves out what nobody waited for, and cuts what outlives its parent", () => {
    const spans = [
      span("turn", null, "turn", 0, 100),
      span("log", "turn", "other", 10, 300, { detached: true }),
      span("late", "turn", "tool-call", 60, 150),
    ];
    expect(path(spans)).toEqual([
      ["turn", 0, 60],
      ["late", 60, 100],
    ]);
  });

  it.each([
    ["deep", (i: number) => `s${i - 1}`, (i: number) => [i, 80_000 - i]],
    ["wide and one after the other", () => "s0", (i: number) => [4 * i - 4, 4 * i]],
    ["wide and all at once", () => "s0", (i: number) => [i, 40_000 + ((i * 7_919) % 20_011)]],
  ] as const)("of 20,000 spans, %s, is walked without recursion", (_, parentOf, timesOf) => {
    const spans = [span("s0", null, "turn", 0, 80_000)];
    for (let i = 1; i < 20_000; i += 1) {
      const [startUs, endUs] = timesOf(i);
      spans.push(
        span(`s${i}`, parentOf(i), "tool-call", startUs!, endUs!, { after: [`s${i - 1}`] }),
      );
    }
    const sections = criticalPath(new TurnTree(spans));
    expect(sections.reduce((sum, { startUs, endUs }) => sum + endUs - startUs, 0)).toBe(80_000);
  });
});
