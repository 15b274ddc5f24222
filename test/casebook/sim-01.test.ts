/** SIM-01 — Thrash and livelock under a full KV pool. */
import { describe, expect, it } from "vitest";
import { Random } from "../../src/clock/index.ts";
import { ContinuousBatcher, PagedKv } from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

function pool(blocks: number, tokensMax: number): StepLog {
  const kv = new PagedKv(blocks * 4, 4);
  return new StepLog(new ContinuousBatcher(kv, { sequencesMax: 8, tokensMax, prompts: "chunked" }));
}

describe("SIM-01: two requests that do not fit together", () => {
  it("ends in 11 steps with one pre-emption, at step 6 and with 5 outputs done", () => {
    const log = pool(8, 64);
    log.add("R1", { promptTokens: 12, outputTokens: 8 });
    log.add("R2", { promptTokens: 12, outputTokens: 8 });
    for (let step = 1; step <= 5; step += 1) log.step();
    expect(log.outputs.R2).toHaveLength(5);
    expect(log.preempted).toEqual([]);
    log.step();
    expect(log.preempted).toEqual(["R2"]);
    log.runToEnd();
    expect(log.rows).toHaveLength(11);
    expect(log.rows[8]!.work).toEqual({ R2: 17 });
    expect(log.computedTokens).toBe(54);
    expect([log.outputs.R1!.length, log.outputs.R2!.length]).toEqual([8, 8]);
  });

  it("with a budget of 8 tokens ends in 15 steps, one pre-emption and 52 tokens", () => {
    const log = pool(8, 8);
    log.add("R1", { promptTokens: 12, outputTokens: 8 });
    log.add("R2", { promptTokens: 12, outputTokens: 8 });
    log.runToEnd();
    expect([log.rows.length, log.preempted.length, log.computedTokens]).toEqual([15, 1, 52]);
  });

  it("always ends at 120 % of the memory, and throws nobody out ten times", () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const random = new Random(seed, "sim-01");
      const log = pool(40, 32);
      for (let i = 0; i < 12; i += 1) {
        log.add(`R${i}`, { promptTokens: 1 + random.int(20), outputTokens: 1 + random.int(24) });
      }
      log.runToEnd();
      expect(log.finished).toHaveLength(12);
      for (const request of Object.values(log.requests)) {
        expect(request.preemptions).toBeLessThan(10);
        expect(request.generated).toBe(request.outputTokens);
      }
    }
  });
});
