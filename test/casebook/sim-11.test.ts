/** SIM-11 — Hit rates and counters after pre-emption; same-step sharing. */
import { describe, expect, it } from "vitest";
import { ContinuousBatcher, PrefixKv, RadixKv } from "../../src/engine/index.ts";
import { StepLog } from "../support/step-log.ts";

const options = { sequencesMax: 8, tokensMax: 64, prompts: "chunked" } as const;

describe("SIM-11", () => {
  it("(a) counts what a thrown-out request gets back apart from hits", () => {
    const scheduler = new ContinuousBatcher(new PrefixKv(8 * 4, 4), options);
    const log = new StepLog(scheduler);
    log.add("R1", { promptTokens: 12, outputTokens: 8 });
    log.add("R2", { promptTokens: 12, outputTokens: 8 });
    log.runToEnd();
    expect(log.preempted).toEqual(["R2"]);
    expect(scheduler.prefix).toEqual({ queriedTokens: 24, hitTokens: 0, reusedTokens: 12 });
    expect(log.requests.R2!.generated).toBe(8);
  });

  it.each([
    ["prefix", () => new PrefixKv(32, 1)],
    ["radix", () => new RadixKv(32, 1)],
  ])("(b) lets nobody take over in the step that computes it: %s", (_, memory) => {
    const scheduler = new ContinuousBatcher(memory(), options);
    const log = new StepLog(scheduler);
    log.add("ABCD", { promptTokens: 4, outputTokens: 1, prefixIds: [1, 2, 3, 4] });
    log.add("ABCE", { promptTokens: 4, outputTokens: 1, prefixIds: [1, 2, 3, 5] });
    log.step();
    expect(log.rows[0]!.work).toEqual({ ABCD: 4, ABCE: 4 });
    log.add("ABCF", { promptTokens: 4, outputTokens: 1, prefixIds: [1, 2, 3, 6] });
    log.step();
    expect(log.rows[1]!.work).toEqual({ ABCF: 1 });
  });

  it("(a) counts no hits in a radix tree either; what R2 left is one leaf, and goes as a whole", () => {
    const scheduler = new ContinuousBatcher(new RadixKv(34, 4), options);
    const log = new StepLog(scheduler);
    log.add("R1", { promptTokens: 12, outputTokens: 8 });
    log.add("R2", { promptTokens: 12, outputTokens: 8 });
    log.runToEnd();
    expect(log.preempted).toEqual(["R2"]);
    expect(scheduler.prefix).toEqual({ queriedTokens: 24, hitTokens: 0, reusedTokens: 0 });
    expect(log.requests.R2!.generated).toBe(8);
  });

  it("(c, d) keeps the first output's time, and counts a pre-empted wait before it", () => {
    const scheduler = new ContinuousBatcher(new PrefixKv(8 * 4, 4), options);
    const log = new StepLog(scheduler);
    log.add("R1", { promptTokens: 12, outputTokens: 8 });
    log.add("R2", { promptTokens: 12, outputTokens: 8 });
    log.runToEnd();
    const { R2 } = log.outputs;
    expect(log.requests.R2!.firstTokenUs).toBe(1);
    expect(log.requests.R2!.scheduledUs).toBe(1);
    expect(Math.max(...R2!.slice(1).map((step, i) => step - R2![i]!))).toBeGreaterThan(1);
  });
});
