import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { type GraphOptions, type GraphOutcome, type GraphTask, runGraph } from "./run-graph.ts";

const MS = 1_000;

function world() {
  const clock = new SimClock();
  const starts: string[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const task = (
    name: string,
    ms: number,
    needs: readonly string[] = [],
    more: Partial<GraphTask> = {},
  ): GraphTask => ({
    needs,
    run: async (_, { signal }) => {
      starts.push(name);
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      try {
        await clock.sleepUntil(clock.nowUs() + ms * MS, signal);
      } finally {
        atOnce -= 1;
      }
      return name;
    },
    ...more,
  });
  const run = async (
    tasks: Record<string, GraphTask>,
    options: GraphOptions = {},
  ): Promise<GraphOutcome> => {
    const outcome = runGraph(tasks, { clock, ...options });
    await clock.run();
    return outcome;
  };
  return { clock, starts, task, run, most: () => mostAtOnce };
}

/** Tasks 0 … n−1, each with needs among those before it; names are shuffled so that the order given is no help. */
const graphs = fc
  .array(fc.tuple(fc.nat(400), fc.array(fc.nat(), { maxLength: 4 })), {
    minLength: 1,
    maxLength: 25,
  })
  .map((rows) =>
    rows.map(([ms, picks], i) => ({
      name: `t${i}`,
      ms: ms + 1,
      needs: i === 0 ? [] : [...new Set(picks.map((pick) => `t${pick % i}`))],
    })),
  );

describe("a graph of tasks", () => {
  it("takes exactly as long as its critical path", async () => {
    await fc.assert(
      fc.asyncProperty(graphs, async (rows) => {
        const { task, run } = world();
        const tasks = [...rows]
          .reverse()
          .map(({ name, ms, needs }) => [name, task(name, ms, needs)]);
        const outcome = await run(Object.fromEntries(tasks));
        const ends = new Map<string, number>();
        for (const { name, ms, needs } of rows) {
          ends.set(name, ms + Math.max(0, ...needs.map((need) => ends.get(need)!)));
        }
        expect(outcome.isWhole).toBe(true);
        expect(outcome.wallUs).toBe(Math.max(...ends.values()) * MS);
        expect(outcome.criticalPathUs).toBe(outcome.wallUs);
        expect(outcome.sumUs).toBe(rows.reduce((sum, { ms }) => sum + ms, 0) * MS);
      }),
      { numRuns: 60 },
    );
  });

  it("never runs more at once than it may, never idles while one could run, and runs each once", async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.integer({ min: 1, max: 4 }), async (rows, concurrency) => {
        const { task, run, most, starts } = world();
        const tasks = rows.map(({ name, ms, needs }) => [name, task(name, ms, needs)] as const);
        const outcome = await run(Object.fromEntries(tasks), { limits: { concurrency } });
        expect(most()).toBeLessThanOrEqual(concurrency);
        expect([...starts].sort()).toEqual(rows.map(({ name }) => name).sort());
        // Graham's bound for any schedule that never idles without need.
        const bound = outcome.sumUs / concurrency + outcome.criticalPathUs * (1 - 1 / concurrency);
        expect(outcome.wallUs).toBeLessThanOrEqual(bound + 1);
      }),
      { numRuns: 60 },
    );
  });

  it("gives a task what it needs, and keeps the rest when one fails", async () => {
    const { task, run, clock } = world();
    const outcome = await run({
      user: { run: () => ({ id: 7 }) },
      orders: task("orders", 300, ["user"], {
        run: async () => {
          await clock.sleepUntil(300 * MS);
          throw new Error("no data base");
        },
      }),
      weather: {
        needs: ["user"],
        run: ({ user }) => `sun for ${(user as unknown as { id: number }).id}`,
      },
      mail: task("mail", 1, ["orders", "weather"]),
      report: task("report", 1, ["mail"]),
    });
    expect(outcome.values).toEqual({ user: { id: 7 }, weather: "sun for 7" });
    expect(outcome.tasks).toMatchObject({
      orders: { status: "failed", error: new Error("no data base"), endUs: 300 * MS },
      mail: { status: "skipped", because: "orders", startUs: null },
      report: { status: "skipped", because: "mail" },
    });
    expect(outcome.isWhole).toBe(false);
  });

  it("calls off what can no longer matter, and never begins what nobody wants", async () => {
    const { task, run, starts } = world();
    const outcome = await run(
      {
        at: task("at", 50),
        bad: {
          needs: ["at"],
          run: () => {
            throw new Error("no");
          },
        },
        late: task("late", 1, ["at"]),
        slow: task("slow", 5_000),
        joined: task("joined", 1, ["bad", "slow", "late"]),
        other: task("other", 100),
        unwanted: task("unwanted", 9_000),
      },
      { outputs: ["joined", "other"] },
    );
    expect(starts).toEqual(["at", "slow", "other"]);
    expect(outcome.tasks).toMatchObject({
      slow: { status: "cancelled", endUs: 50 * MS },
      late: { status: "skipped", because: null, startUs: null },
      joined: { status: "skipped", because: "bad" },
      unwanted: { status: "skipped", because: null },
      other: { status: "ok" },
    });
    expect(outcome.wallUs).toBe(100 * MS);
  });

  it("bounds a resource, and lets the others pass", async () => {
    const { task, run } = world();
    const db = { resource: "db" };
    const outcome = await run(
      {
        a: task("a", 100, [], db),
        b: task("b", 100, [], db),
        c: task("c", 100, [], db),
        d: task("d", 100),
      },
      { limits: { perResource: { db: 1 } } },
    );
    expect(Object.values(outcome.tasks).map(({ startUs }) => startUs! / MS)).toEqual([
      0, 100, 200, 0,
    ]);
  });

  it("ends with its deadline, whatever runs or waits", async () => {
    const { task, run, clock } = world();
    const outcome = await run(
      {
        a: task("a", 900, [], { within: "100ms" }),
        b: task("b", 900, [], { resource: "x" }),
        c: task("c", 900, [], { resource: "x" }),
        d: task("d", 1, ["b"]),
        deaf: { run: () => new Promise(() => {}) },
      },
      { deadline: "500ms", limits: { perResource: { x: 1 } } },
    );
    const ends = Object.values(outcome.tasks).map(({ status, endUs }) => [status, endUs / MS]);
    expect(ends).toEqual([
      ["timeout", 100],
      ["timeout", 500],
      ["timeout", 500],
      ["skipped", 500],
      ["timeout", 500],
    ]);
    expect(clock.nowUs()).toBeLessThanOrEqual(520 * MS);
    const none = await run({ a: task("a", 1) }, { deadline: 0 });
    expect(none.tasks.a).toMatchObject({ status: "timeout" });
  });

  it("of ten thousand in a chain, or beside each other, works", async () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `t${i}`);
    const chain = names.map((name, i) => [
      name,
      { needs: i === 0 ? [] : [`t${i - 1}`], run: () => i },
    ]);
    expect((await runGraph(Object.fromEntries(chain))).isWhole).toBe(true);
    const broken = chain.map(([name, task], i) => [
      name,
      i > 0 ? task : { run: () => Promise.reject(new Error("x")) },
    ]);
    expect((await runGraph(Object.fromEntries(broken))).tasks.t9999).toMatchObject({
      status: "skipped",
    });
    const wide = names.map((name, i) => [name, { run: () => Promise.resolve(i) }]);
    expect((await runGraph(Object.fromEntries(wide))).isWhole).toBe(true);
  });

  it.each([
    ["a cycle", { a: ["b"], b: ["c"], c: ["b"] }, undefined, "b → c → b"],
    ["a need that is not there", { user: [], b: ["usre"] }, undefined, '"usre"'],
    ["a task that needs itself", { a: ["a"] }, undefined, "a → a"],
    ["an output that is not there", { a: [] }, ["x"], '"x"'],
  ])("with %s is refused", async (_, needs, outputs, got) => {
    const tasks = Object.entries(needs).map(([name, own]) => [name, { needs: own, run: () => 1 }]);
    const options = outputs === undefined ? {} : { outputs };
    await expect(runGraph(Object.fromEntries(tasks), options)).rejects.toMatchObject({
      code: "MANX_GRAPH_INVALID",
      got,
    });
  });
});
