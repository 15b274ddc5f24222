/** SIM-08 — Who starves? A decodes from step 0; B (5,120 tokens) arrives at step 1, C (32) at step 2. */
import { describe, expect, it } from "vitest";
import { ContinuousBatcher, PagedKv } from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

function scene(prompts: "whole" | "chunked"): StepLog {
  const kv = new PagedKv(1_000_000, 16);
  const log = new StepLog(new ContinuousBatcher(kv, { sequencesMax: 64, tokensMax: 512, prompts }));
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
