import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { warmWorld as world } from "../../../test/support/warm-world.ts";
import { Random } from "../../clock/index.ts";
import type { WarmItem } from "./warm-item.ts";

const S = 1_000_000;

describe("the report", () => {
  it("says what of the process's start nobody has declared", async () => {
    const { clock, item, warmUp } = world({ startUs: 14 * S });
    const up = warmUp(
      { a: item("a", 5), b: item("b", 3, { needs: ["a"] }) },
      { processStartUs: 0 },
    );
    const started = up.start();
    await clock.run();
    expect(await started).toMatchObject({
      processUs: 22 * S,
      attributedUs: 8 * S,
      unattributedUs: 14 * S,
    });
  });

  it("has the time of runs that failed among what is known", async () => {
    const { clock, item, warmUp } = world();
    const up = warmUp({ a: item("a", 5, { fails: (run) => run === 1 }) });
    void up.start();
    await clock.run();
    expect(up.report()).toMatchObject({ readyUs: 10.25 * S, attributedUs: 10 * S });
    expect(up.report().items[0]).toMatchObject({ tookUs: 5 * S, attempts: 2 });
  });

  it("holds for any graph: ready at the critical path, which no item's saving exceeds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000 }), async (seed) => {
        const random = new Random(seed, "graph");
        const { clock, item, warmUp } = world();
        const items: Record<string, WarmItem> = {};
        for (let i = 0; i < 1 + random.int(12); i += 1) {
          const needs = Array.from(
            { length: i === 0 ? 0 : random.int(3) },
            () => `i${random.int(i)}`,
          );
          items[`i${i}`] = item(`i${i}`, 1 + random.int(9), { needs });
        }
        const started = warmUp(items).start();
        await clock.run();
        const report = await started;
        expect(report.readyUs).toBe(report.criticalPathUs);
        // Something runs at each instant, and runs beside each other count once.
        expect(report.attributedUs).toBe(report.criticalPathUs);
        expect(report.unattributedUs).toBe(0);
        for (const { savingUs, tookUs } of report.items) {
          expect(savingUs).toBeGreaterThanOrEqual(0);
          expect(savingUs).toBeLessThanOrEqual(tookUs);
        }
      }),
      { numRuns: 60 },
    );
  });
});
