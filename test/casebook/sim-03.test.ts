/** SIM-03 — Priority inversion, undo in the same step, head-of-line. */
import { describe, expect, it } from "vitest";
import {
  buildOrder,
  ContinuousBatcher,
  type ContinuousOptions,
  PagedKv,
  SCHEDULING_DEFAULTS,
} from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

/** Strict priority unless `ageingUs` says otherwise; a step takes 1 µs. */
function byPriority(
  options: Partial<ContinuousOptions> & { readonly ageingUs?: number },
  kv = new PagedKv(100_000, 4),
): { log: StepLog; scheduler: ContinuousBatcher } {
  const { ageingUs = 0, ...more } = options;
  const scheduler = new ContinuousBatcher(kv, {
    sequencesMax: 8,
    tokensMax: 64,
    prompts: "chunked",
    order: buildOrder({ ...SCHEDULING_DEFAULTS, order: "priority", ageingUs }, kv),
    ...more,
  });
  return { log: new StepLog(scheduler), scheduler };
}

function fullHouse(priorityPreempts: boolean): StepLog {
  const { log } = byPriority({ sequencesMax: 2, priorityPreempts });
  log.add("L1", { promptTokens: 4, outputTokens: 100, priority: 10 });
  log.add("L2", { promptTokens: 4, outputTokens: 100, priority: 10 });
  for (let step = 1; step <= 5; step += 1) log.step();
  log.add("H", { promptTokens: 4, outputTokens: 3, priority: 0 });
  return log.runToEnd();
}

describe("SIM-03", () => {
  it("(a) with pre-emption lets H in at step 6, in the place of the latest of the lowest class", () => {
    const log = fullHouse(true);
    expect(log.rows[5]!.work).toEqual({ H: 4, L1: 1 });
    expect(log.preempted).toEqual(["L2"]);
    expect(log.outputs.H).toEqual([6, 7, 8]);
    // L2 is back, and computes again all that it had, once H has gone.
    expect(log.rows[8]!.work).toEqual({ L1: 1, L2: 9 });
    expect(log.outputs.L2).toHaveLength(100);
  });

  it("(a) without pre-emption lets H in when the first L ends", () => {
    const log = fullHouse(false);
    expect(log.preempted).toEqual([]);
    expect(log.outputs.L1!.at(-1)).toBe(100);
    expect(log.outputs.H![0]).toBe(101);
  });

  it("(b) throws out the lowest class, whatever came first, and skips nobody", () => {
    const { log } = byPriority({}, new PagedKv(16, 4));
    log.add("C", { promptTokens: 4, outputTokens: 4, priority: 9 });
    log.add("B", { promptTokens: 4, outputTokens: 4, priority: 5 });
    log.add("A", { promptTokens: 4, outputTokens: 4, priority: 0 });
    log.step();
    expect(log.rows[0]!.work).toEqual({ A: 4, B: 4, C: 4 });
    log.step();
    // The fourth block is A's second one, and C's is B's.
    expect(log.preempted).toEqual(["C"]);
    expect(log.rows[1]!.work).toEqual({ A: 1, B: 1 });
    log.runToEnd();
    expect(log.finished).toEqual(["A", "B", "C"]);
  });

  it("(b) takes back what the victim was to compute in the same step", () => {
    const { log } = byPriority({ tokensMax: 4, priorityPreempts: true }, new PagedKv(16, 4));
    log.add("low", { promptTokens: 4, outputTokens: 8, priority: 9 });
    log.step();
    log.add("high", { promptTokens: 12, outputTokens: 1, priority: 0 });
    log.step();
    // Four tokens, not three: the budget that the victim had taken is free again.
    expect(log.rows[1]!.work).toEqual({ high: 4 });
    expect(log.preempted).toEqual(["low"]);
    log.runToEnd();
    expect(log.finished).toEqual(["high", "low"]);
  });

  it("(b) throws nobody out for one that would not fit even then", () => {
    const { log } = byPriority({ priorityPreempts: true }, new PagedKv(24, 4));
    log.add("mid", { promptTokens: 12, outputTokens: 8, priority: 1 });
    log.add("low", { promptTokens: 4, outputTokens: 4, priority: 9 });
    log.step();
    log.add("high", { promptTokens: 20, outputTokens: 1, priority: 1 });
    log.runToEnd();
    expect(log.preempted).toEqual([]);
  });

  it("(c) with passing allowed lets the small ones by, and X in within a bounded number of steps", () => {
    const run = (passesMax: number): string[] => {
      const kv = new PagedKv(6 * 4, 4);
      const options = { sequencesMax: 8, tokensMax: 64, prompts: "chunked", passesMax } as const;
      const log = new StepLog(new ContinuousBatcher(kv, options));
      log.add("holder", { promptTokens: 8, outputTokens: 4 });
      log.step();
      log.add("X", { promptTokens: 24, outputTokens: 1 });
      for (let i = 0; i < 30; i += 1) log.add(`s${i}`, { promptTokens: 4, outputTokens: 2 });
      return log.runToEnd().finished;
    };
    expect(run(0)[1]).toBe("X");
    const finished = run(4);
    expect(finished[0]).toBe("s0");
    // It was passed in four steps, by at most three a step; then all wait for it.
    const passedBy = finished.slice(0, finished.indexOf("X")).filter((name) => name !== "holder");
    expect(passedBy.length).toBeGreaterThanOrEqual(4);
    expect(passedBy.length).toBeLessThanOrEqual(12);
  });

  it("(d) starves the lower class under strict priority, and says so", () => {
    const { log, scheduler } = byPriority({ sequencesMax: 1 });
    log.add("low", { promptTokens: 4, outputTokens: 2, priority: 10 });
    log.add("high 0", { promptTokens: 4, outputTokens: 2 });
    for (let i = 1; i <= 200; i += 1) {
      log.add(`high ${i}`, { promptTokens: 4, outputTokens: 2 });
      log.step();
      log.step();
    }
    expect(log.outputs.low).toEqual([]);
    expect(scheduler.overtaken(400)).toEqual({ requests: 1, longestUs: 399 });
  });

  it("(d) ends the wait with ageing: ten classes of 5 µs each are made up for after 50", () => {
    const { log } = byPriority({ sequencesMax: 1, ageingUs: 5 });
    log.add("low", { promptTokens: 4, outputTokens: 2, priority: 10 });
    for (let i = 0; i <= 200; i += 1) {
      log.add(`high ${i}`, { promptTokens: 4, outputTokens: 2 });
      log.step();
      log.step();
    }
    // Those that came less than 50 µs after it go first: 26 of two steps each.
    expect(log.outputs.low![0]).toBe(51);
  });

  it("(b) throws out the youngest, who then has no work in that step, and skips nobody", () => {
    const kv = new PagedKv(12, 4);
    const log = new StepLog(
      new ContinuousBatcher(kv, { sequencesMax: 8, tokensMax: 64, prompts: "chunked" }),
    );
    for (const name of ["A", "B", "C"]) log.add(name, { promptTokens: 4, outputTokens: 4 });
    log.step();
    log.step();
    expect(log.preempted).toEqual(["C", "B"]);
    expect(log.rows[1]!.work).toEqual({ A: 1 });
    log.runToEnd();
    expect(log.finished.sort()).toEqual(["A", "B", "C"]);
  });

  it("(c) lets small requests wait behind one that does not fit: strict first come, first served", () => {
    const kv = new PagedKv(6 * 4, 4);
    const log = new StepLog(
      new ContinuousBatcher(kv, { sequencesMax: 8, tokensMax: 64, prompts: "chunked" }),
    );
    log.add("holder", { promptTokens: 12, outputTokens: 1 });
    log.add("X", { promptTokens: 24, outputTokens: 1 });
    log.add("y", { promptTokens: 4, outputTokens: 1 });
    log.add("z", { promptTokens: 4, outputTokens: 1 });
    log.runToEnd();
    expect(log.rows.map((row) => Object.keys(row.work))).toEqual([["holder"], ["X"], ["y", "z"]]);
  });
});
