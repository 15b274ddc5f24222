import { describe, expect, it } from "vitest";
import { StepLog } from "../../test/support/step-log.ts";
import { ContinuousBatcher } from "./continuous-batcher.ts";
import type { ContinuousOptions } from "./continuous-options.ts";
import { PagedKv } from "./kv-memory.ts";
import { PrefixKv } from "./prefix-kv.ts";

const OPTIONS: ContinuousOptions = { sequencesMax: 2, tokensMax: 8, prompts: "chunked" };

function logOf(options: Partial<ContinuousOptions>, kv = new PagedKv(1_000, 4)): StepLog {
  return new StepLog(new ContinuousBatcher(kv, { ...OPTIONS, ...options }));
}

describe("a step composed ahead", () => {
  it("lets a newcomer in one step later than a step composed in time", () => {
    const firstTokenAt = (ahead: boolean): number => {
      const log = logOf({ ahead });
      log.add("A", { promptTokens: 4, outputTokens: 20 });
      log.step();
      log.add("B", { promptTokens: 4, outputTokens: 2 });
      return log.runToEnd().outputs.B![0]!;
    };
    expect([firstTokenAt(false), firstTokenAt(true)]).toEqual([2, 3]);
  });

  it("gives the place of one that has ended away one step later", () => {
    const firstTokenAt = (ahead: boolean): number => {
      const log = logOf({ ahead });
      log.add("A", { promptTokens: 4, outputTokens: 20 });
      log.add("B", { promptTokens: 4, outputTokens: 3 });
      log.add("C", { promptTokens: 4, outputTokens: 2 });
      return log.runToEnd().outputs.C![0]!;
    };
    expect([firstTokenAt(false), firstTokenAt(true)]).toEqual([4, 5]);
  });

  it("knows all again after a pause", () => {
    const log = logOf({ ahead: true });
    log.add("A", { promptTokens: 4, outputTokens: 1 });
    log.runToEnd();
    log.add("B", { promptTokens: 4, outputTokens: 1 });
    expect(log.runToEnd().outputs).toEqual({ A: [1], B: [2] });
  });

  it("does not wait for one that came while the last of the others was computed", () => {
    const log = logOf({ ahead: true });
    log.add("A", { promptTokens: 4, outputTokens: 1 });
    log.step();
    log.add("B", { promptTokens: 4, outputTokens: 1 });
    expect(log.runToEnd().outputs.B).toEqual([2]);
  });

  it("takes memory from one that has ended before it throws out one that runs", () => {
    // Ten blocks. B ends with step 2 and holds its five while step 3 is composed, in which A needs a sixth.
    const log = logOf({ ahead: true, tokensMax: 64 }, new PagedKv(40, 4));
    log.add("A", { promptTokens: 19, outputTokens: 8 });
    log.add("B", { promptTokens: 18, outputTokens: 2 });
    log.runToEnd();
    expect(log.preempted).toEqual([]);
    expect(log.outputs.A).toHaveLength(8);
  });
});

describe("what admission takes", () => {
  it("is the first piece only, though all of the prompt has to fit", () => {
    const kv = new PagedKv(40, 4);
    const log = logOf({ admission: "step" }, kv);
    log.add("A", { promptTokens: 32, outputTokens: 2 });
    log.step();
    expect(kv.reservedTokens).toBe(8);
    log.runToEnd();

    const full = new PagedKv(40, 4);
    const crowded = logOf({ admission: "step", tokensMax: 20 }, full);
    crowded.add("A", { promptTokens: 12, outputTokens: 9 });
    crowded.add("B", { promptTokens: 32, outputTokens: 1 });
    crowded.step();
    expect(crowded.rows[0]!.work).toEqual({ A: 12 });
    expect(crowded.runToEnd().preempted).toEqual([]);
  });

  it("is the whole prompt by default", () => {
    const kv = new PagedKv(40, 4);
    const log = logOf({}, kv);
    log.add("A", { promptTokens: 32, outputTokens: 2 });
    log.step();
    expect(kv.reservedTokens).toBe(32);
  });
});

describe("a request thrown out twice", () => {
  it("finds all that it has left behind, not only what it left the first time", () => {
    const kv = new PrefixKv(64, 4);
    const log = logOf({ tokensMax: 64 }, kv as never);
    const request = log.add("A", { promptTokens: 8, outputTokens: 20 });
    const throwOut = (): number => {
      request.computed = request.known - 1;
      kv.release(request as never, true);
      return kv.match(request as never);
    };
    kv.admit(request as never, 8, kv.match(request as never));
    request.generated = 2;
    kv.reserve(request as never, 9);
    expect(throwOut()).toBe(8);
    kv.admit(request as never, 10, 8);
    request.generated = 10;
    kv.reserve(request as never, 17);
    expect(throwOut()).toBe(16);
    kv.check([]);
  });
});
