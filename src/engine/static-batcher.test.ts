import { describe, expect, it } from "vitest";
import { StepLog } from "../../test/support/step-log.ts";
import { ContiguousKv } from "./kv-memory.ts";
import { StaticBatcher } from "./static-batcher.ts";

const make = (sequencesMax: number, fillWaitUs = 0): StaticBatcher =>
  new StaticBatcher(new ContiguousKv(400, 100), { sequencesMax, fillWaitUs });

describe("StaticBatcher", () => {
  it("pads prompts to the longest, lets nobody in on the way, and ends all responses together", () => {
    const log = new StepLog(make(2));
    log.add("short", { promptTokens: 10, outputTokens: 2 });
    log.add("long", { promptTokens: 40, outputTokens: 5 });
    log.add("late", { promptTokens: 1, outputTokens: 1 });
    const scheduler = make(2);
    const priced = new StepLog(scheduler);
    priced.add("short", { promptTokens: 10, outputTokens: 2 });
    priced.add("long", { promptTokens: 40, outputTokens: 5 });
    expect(scheduler.plan(1)!.prefillTokens).toBe(80);
    log.runToEnd();
    expect(log.rows.map((row) => Object.keys(row.work).join())).toEqual([
      "short,long",
      "short,long",
      "long",
      "long",
      "long",
      "late",
    ]);
    expect(log.outputs.short).toEqual([1, 2]);
    expect(log.finished).toEqual(["short", "long", "late"]);
  });

  it("goes on paying for a member that has ended", () => {
    const scheduler = make(2);
    const log = new StepLog(scheduler);
    log.add("short", { promptTokens: 10, outputTokens: 1 });
    log.add("long", { promptTokens: 10, outputTokens: 3 });
    log.step();
    expect(scheduler.liveTokens).toBe(10);
    expect(scheduler.kv.reservedTokens).toBe(200);
    const batch = scheduler.plan(2)!;
    expect([batch.size, batch.decodeSequences]).toEqual([1, 2]);
  });

  it("waits for a fuller batch, but not for ever", () => {
    const scheduler = make(4, 50);
    const log = new StepLog(scheduler);
    log.add("only", { promptTokens: 5, outputTokens: 1 });
    expect(scheduler.plan(10)).toBeUndefined();
    expect(scheduler.wakeUs()).toBe(51);
    expect(scheduler.plan(51)!.size).toBe(1);
  });
});
