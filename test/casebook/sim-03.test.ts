/** SIM-03 — undo in the same step, and head of line; its priority parts wait for a scheduler with priorities. */
import { describe, expect, it } from "vitest";
import { ContinuousBatcher, PagedKv } from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

describe("SIM-03", () => {
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
