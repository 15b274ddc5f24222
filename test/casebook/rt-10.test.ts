/** RT-10: a guardrail that runs beside the generation trips before anything of it is out, tool calls above all. */
import { describe, expect, it } from "vitest";
import { type Check, call, guardWorld, prose, rule } from "../support/guard-world.ts";

const MS = 1_000;
const LIMIT_US = 500 * MS;
const rules = [
  rule("g1", { stage: "request", budgetUs: LIMIT_US }),
  rule("g2", { stage: "request", budgetUs: LIMIT_US }),
];

/** The book's model: call R at 100 ms, text from 120 ms, call W at 150 ms, its end at `endMs`. */
function play(g1: Check, endMs = 400) {
  const world = guardWorld({ rules }, (name) => {
    return name === "g1" ? g1 : { verdict: "clean", afterUs: 50 * MS };
  });
  world.begin("do it");
  const at = (ms: number, run: () => void): void => void world.clock.at(ms * MS, run);
  at(100, () => world.push("R", [call("R {}", "call 0")]));
  at(120, () => world.push("text", [prose("text")]));
  at(150, () => world.push("W", [call("W {}", "call 1")]));
  at(endMs, () => {
    if (!world.machine.isOver) world.end();
  });
  world.clock.runSync(2_000 * MS);
  return world;
}

describe("RT-10: the guard trips at 300 ms", () => {
  const world = play({ verdict: "flag", afterUs: 300 * MS });

  it("neither call nor text has reached the user, and the model is stopped in the same instant", () => {
    expect(world.text()).toBe("");
    expect(world.overUs).toBe(300 * MS);
  });

  it("the refusal names the guard and carries both results", () => {
    expect(world.refusal).toEqual({ stage: "request", rule: "g1", why: "flag" });
    expect(world.machine.results).toEqual([
      { rule: "g2", stage: "request", verdict: "clean", tookUs: 50 * MS },
      { rule: "g1", stage: "request", verdict: "flag", tookUs: 300 * MS },
    ]);
  });
});

describe("RT-10: the guard passes at 300 ms", () => {
  it("all of it takes as long as the slower of the two, not their sum, and text is held no longer than the guard", () => {
    for (const [endMs, totalMs] of [
      [400, 400],
      [200, 300],
    ] as const) {
      const world = play({ verdict: "clean", afterUs: 300 * MS }, endMs);
      expect(world.text()).toBe("RtextW");
      expect(world.released.map(({ atUs }) => atUs)).toEqual([300 * MS, 300 * MS, 300 * MS]);
      expect(world.finishedUs).toBe(totalMs * MS);
    }
  });
});

describe("RT-10: the guard throws or hangs", () => {
  it.each<[string, Check, number]>([
    ["throws", { verdict: "failed", afterUs: 20 * MS }, 20 * MS],
    ["hangs", { verdict: "clean", afterUs: Number.POSITIVE_INFINITY }, LIMIT_US],
  ])("%s: it is closed by default, and the result says so", (_, g1, atUs) => {
    const world = play(g1, 600);
    expect([world.text(), world.overUs]).toEqual(["", atUs]);
    expect(world.refusal).toEqual({ stage: "request", rule: "g1", why: "failed" });
    expect(world.machine.results.at(-1)).toMatchObject({ rule: "g1", verdict: "failed" });
    expect(world.machine.tax.path).toBe("failed");
  });
});

describe("RT-10: an output guard on a text of 2 s", () => {
  it("releases in windows, and shows nothing that was not checked", () => {
    const checked: string[] = [];
    const world = guardWorld(
      { rules: [rule("out")], windowChars: 100, overlapChars: 20 },
      (_, text) => {
        checked.push(text);
        return { verdict: "clean", afterUs: 30 * MS };
      },
    );
    world.begin();
    for (let i = 0; i < 100; i += 1) world.clock.at(i * 20 * MS, () => world.push("abcdefgh ."));
    world.clock.at(2_000 * MS, () => world.end());
    const seen: [number, number][] = [];
    for (let ms = 100; ms <= 2_100; ms += 100) {
      world.clock.runSync(ms * MS);
      const reach = checked.reduce((sum, text, i) => sum + text.length - (i === 0 ? 0 : 20), 0);
      seen.push([world.text().length, reach]);
    }
    for (const [released, reach] of seen) expect(released).toBeLessThanOrEqual(reach);
    expect(world.text()).toHaveLength(1_000);
    expect(world.released[0]!.atUs).toBeLessThan(400 * MS);
    expect(checked.length).toBeLessThanOrEqual(12);
  });
});
