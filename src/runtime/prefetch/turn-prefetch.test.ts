import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FINISH, play, runtimeWorld, wholeCall } from "../../../test/support/runtime-world.ts";
import { Prefetcher, Slots } from "../index.ts";

describe("prefetching under chance", () => {
  it("loses no place and no result, and wastes no more than its budget", async () => {
    const message = fc.array(
      fc.record({
        tool: fc.constantFrom("a", "b", "w"),
        q: fc.integer({ min: 0, max: 2 }),
        atMs: fc.integer({ min: 0, max: 400 }),
      }),
      { maxLength: 4 },
    );
    const steps = fc.array(fc.record({ calls: message, breaks: fc.boolean() }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), async (all, concurrency) => {
        const world = runtimeWorld();
        const slots = new Slots({ concurrency, perResource: { a: 1 } });
        const tools = [
          world.timed("a", 150, { prefetch: true }),
          world.timed("b", 250, { prefetch: { cacheable: true } }),
          world.timed("w", 50, { effect: "idempotent" }),
        ];
        const rules = ["a", "b", "a"].map((name, i) => ({ tool: name, args: { q: i } }));
        const budget = { wasteShare: 1, missUs: 0, pressureMax: 1, concurrency: 3 };
        const prefetcher = new Prefetcher({ tools, rules, budget });
        const turn = world.turn(tools, { prefetch: prefetcher, limits: slots });
        for (const { calls, breaks } of all) {
          const startMs = world.nowMs();
          const step = turn.step("openai-chat");
          const frames = [...calls]
            .sort((x, y) => x.atMs - y.atMs)
            .map(({ tool, q, atMs }, i) => [startMs + atMs, wholeCall(i, tool, { q })] as const);
          play(world, step, breaks ? frames : [...frames, [startMs + 420, FINISH]]);
          const results = step.results();
          await world.clock.run();
          const settled = await results;
          expect(settled).toHaveLength(calls.length);
          if (!breaks) expect(settled.every(({ status }) => status === "ok")).toBe(true);
          const { wastedCost, askedCost } = prefetcher.report;
          expect(wastedCost).toBeLessThanOrEqual(askedCost + 1e-6);
        }
        await turn.close();
        await world.clock.run();
        expect([slots.used, slots.waiting, turn.running]).toEqual([0, 0, 0]);
        const { begun, hits, thrownAway } = prefetcher.report;
        expect(begun).toBe(hits + Object.values(thrownAway).reduce((sum, n) => sum + n, 0));
      }),
      { numRuns: 150 },
    );
  });
});
