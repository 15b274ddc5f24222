/** SIM-08 — Who starves? A decodes from step 0; B (5,120 tokens) arrives at step 1, C (32) at step 2. */
import { describe, expect, it } from "vitest";
import { ContinuousBatcher, type ContinuousOptions, PagedKv } from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

function scene(prompts: "whole" | "chunked", more: Partial<ContinuousOptions> = {}): StepLog {
  const kv = new PagedKv(1_000_000, 16);
  const options = { sequencesMax: 64, tokensMax: 512, prompts, ...more };
  const log = new StepLog(new ContinuousBatcher(kv, options));
  log.add("A", { promptTokens: 8, outputTokens: 60 });
  log.step();
  return log;
}

describe("SIM-08", () => {
  it("answers first: A has a token in every step, B takes eleven, C gets what B leaves in the last", () => {
    const log = scene("chunked");
    log.add("B", { promptTokens: 5_120, outputTokens: 2 });
    log.step();
    log.add("C", { promptTokens: 32, outputTokens: 2 });
    for (let step = 0; step < 12; step += 1) log.step();
    const rows = log.rows.slice(1);
    expect(rows.every((row) => row.work.A === 1)).toBe(true);
    expect(rows.filter((row) => (row.work.B ?? 0) > 1).length).toBe(11);
    expect(rows[10]!.work).toEqual({ A: 1, B: 10, C: 32 });
    for (const row of log.rows) expect(row.tokens).toBeLessThanOrEqual(512);
  });

  it("a cap of 256 a request: C is served in its first step, and B takes twenty", () => {
    const log = scene("chunked", { requestTokensMax: 256 });
    log.add("B", { promptTokens: 5_120, outputTokens: 2 });
    log.step();
    log.add("C", { promptTokens: 32, outputTokens: 2 });
    for (let step = 0; step < 20; step += 1) log.step();
    const rows = log.rows.slice(1);
    expect(rows[1]!.work).toEqual({ A: 1, B: 256, C: 32 });
    expect(rows.filter((row) => (row.work.B ?? 0) > 1).length).toBe(20);
    expect(rows.every((row) => row.work.A === 1)).toBe(true);
  });

  it("prompts first, in chunks: A gets nothing while B is computed", () => {
    const log = scene("chunked", { mixing: "prefill-first" });
    log.add("B", { promptTokens: 5_120, outputTokens: 2 });
    log.runToEnd();
    expect(log.rows.slice(1, 11).every((row) => row.work.B === 512)).toBe(true);
    expect(log.outputs.A!.slice(0, 2)).toEqual([1, 12]);
  });

  it("prompts first: with a new prompt in every step A starves, and with at most two in a row waits 3", () => {
    const starve = (consecutivePrefillsMax: number): number[] => {
      const log = scene("chunked", { mixing: "prefill-first", consecutivePrefillsMax });
      log.add("B", { promptTokens: 5_120, outputTokens: 2 });
      for (let i = 0; i < 40; i += 1) {
        log.step();
        log.add(`D${i}`, { promptTokens: 512, outputTokens: 1 });
      }
      return log.outputs.A!;
    };
    expect(starve(0)).toEqual([1]);
    const steps = starve(2);
    expect(steps.length).toBeGreaterThan(10);
    expect(Math.max(...steps.slice(1).map((step, i) => step - steps[i]!))).toBe(3);
  });

  it("at most one long prompt at a time: short ones pass those that wait for it", () => {
    const order = (longPrefillsMax: number): string[] => {
      const log = scene("chunked", { longPrefillsMax, longPromptTokens: 1_000 });
      for (const name of ["B1", "B2", "B3"])
        log.add(name, { promptTokens: 1_500, outputTokens: 1 });
      log.add("C", { promptTokens: 32, outputTokens: 1 });
      return log.runToEnd().finished;
    };
    expect(order(0)).toEqual(["B1", "B2", "B3", "C", "A"]);
    expect(order(1)).toEqual(["B1", "C", "B2", "B3", "A"]);
  });

  it("a long prompt counts until it is computed, not while it is answered", () => {
    const log = scene("chunked", { longPrefillsMax: 1, longPromptTokens: 1_000 });
    log.add("B1", { promptTokens: 1_500, outputTokens: 90 });
    log.add("B2", { promptTokens: 1_500, outputTokens: 1 });
    log.runToEnd();
    expect(log.outputs.B2![0]).toBeLessThan(log.outputs.B1!.at(-1)!);
  });

  it("whole prompts first: a new prompt in every step starves A, and the twin shows it", () => {
    const log = scene("whole");
    for (let i = 0; i < 20; i += 1) {
      log.add(`D${i}`, { promptTokens: 512, outputTokens: 2 });
      log.step();
    }
    expect(log.outputs.A).toHaveLength(1);
    log.runToEnd();
    expect(log.finished).toHaveLength(21);
  });
});
