import { describe, expect, it } from "vitest";
import { playPlanted } from "../../../test/support/planted-prefetch.ts";
import { runtimeWorld } from "../../../test/support/runtime-world.ts";
import { Random } from "../../clock/index.ts";
import { evaluatePrefetch, type LoggedTurn, Prefetcher } from "../index.ts";

const MS = 1_000;

/** Turns as `onTurn` tells them: search, then read what it found. */
function supportLog(turns: number, hitRate: number): LoggedTurn[] {
  const random = new Random(1, "log");
  return Array.from({ length: turns }, () => {
    const url = `u${random.int(1e9)}`;
    const read = random.next() < hitRate ? url : `other${random.int(1e9)}`;
    const search = { tool: "search", args: { q: "a" }, result: { url }, tookUs: 300 * MS };
    return {
      input: "?",
      steps: [
        { thinkUs: 500 * MS, calls: [search] },
        { thinkUs: 500 * MS, calls: [{ tool: "read", args: { url: read }, tookUs: 400 * MS }] },
        { thinkUs: 500 * MS, calls: [] },
      ],
    };
  });
}

describe("learning", () => {
  const world = runtimeWorld();
  const tools = [
    world.timed("search", 300, { prefetch: true }),
    world.timed("read", 400, { prefetch: true }),
  ];

  it("sets aside and counts lines that are no turn", () => {
    const lines = [
      ...supportLog(5, 1).map((turn) => JSON.stringify(turn)),
      "",
      "{",
      "null",
      "[]",
      { steps: [] },
      { steps: [{ thinkUs: -1, calls: [] }] },
      { steps: [{ thinkUs: 1, calls: [{ tool: "a b", args: {}, tookUs: 1 }] }] },
      { steps: [{ thinkUs: 1, calls: [{ tool: "a", args: "text", tookUs: 1 }] }] },
      { kind: "turn", spans: [{ nonsense: true }] },
    ];
    expect(Prefetcher.learn(lines)).toMatchObject({ turns: 5, setAside: 8 });
  });

  it("reads turn documents whose spans carry arguments", () => {
    const span = (kind: string, id: string, parentId: string, at: [number, number]) => ({
      kind,
      id,
      parentId,
      startUs: at[0],
      endUs: at[1],
      attributes: {},
    });
    const call = {
      ...span("tool-call", "c", "s", [500, 800]),
      attributes: {
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q":"a"}',
        "gen_ai.tool.call.result": "plain text",
      },
    };
    const spans = [call, span("step", "s", "t", [0, 800]), span("model-call", "m", "s", [0, 500])];
    const turns = Array.from({ length: 4 }, () => ({ kind: "turn", spans }));
    const learned = Prefetcher.learn(turns);
    expect(learned).toMatchObject({ turns: 4, setAside: 0 });
    expect(learned.model.contexts[0]!.next[0]).toMatchObject({ call: "search#0", came: 4 });
  });

  it("forecasts before it is turned on what a planted habit is worth", () => {
    const budget = { wasteShare: 0.5, callsPerTurn: 8 };
    const forecast = evaluatePrefetch(supportLog(2_000, 0.8), { tools, learns: true, budget });
    // Of 1,500 + 700 ms a hit saves 300 + 400: search always, read four times in five.
    expect(forecast.saved.share).toBeGreaterThan(0.27);
    expect(forecast.saved.low).toBeLessThan((300 + 0.8 * 400) / 2_200);
    expect(forecast.saved.high).toBeGreaterThan(0.98 * ((300 + 0.8 * 400) / 2_200));
    expect(forecast.hitRate.value).toBeCloseTo(0.9, 1);
    expect(forecast.wasteShare).toBeCloseTo(0.1, 1);
    expect(forecast).toMatchObject({ turns: 2_000, calls: 4_000, setAside: 0 });
    const none = evaluatePrefetch(supportLog(500, 0.8), { tools, budget: { concurrency: 0 } });
    expect(none).toMatchObject({ started: 0, saved: { share: 0 } });
    expect(evaluatePrefetch([], { tools, learns: true })).toMatchObject({ turns: 0, calls: 0 });
  });

  it("does not forecast a saving from noise", () => {
    const forecast = evaluatePrefetch(supportLog(2_000, 0), { tools, learns: true });
    const read = forecast.guesses.filter(({ key }) => key.includes("read"));
    expect(read.every(({ hits }) => hits === 0)).toBe(true);
    expect(forecast.wasteShare).toBeLessThan(0.02);
  });

  it.each(["rule", "learned"] as const)(
    "by %s saves what the formula says, within its budget",
    async (by) => {
      const fixed = () => 1_000 * MS;
      const planted = { title: "", hitRate: 0.8, think: fixed, tool: fixed, by };
      const { withUs, withoutUs, plantedUs, report } = await playPlanted(
        { ...planted, budget: { wasteShare: 0.25 } },
        200,
      );
      expect(Math.abs(withUs / plantedUs - 1)).toBeLessThan(0.03);
      expect(1 - withUs / withoutUs).toBeGreaterThan(0.36);
      expect(report.wasteShare).toBeLessThanOrEqual(0.25);
      // Measured call by call, it is the difference of the walls.
      expect(report.savedUs).toBe(withoutUs - withUs);
    },
  );
});
