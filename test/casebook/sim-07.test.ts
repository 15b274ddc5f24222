/** SIM-07 — Blocks leak or are freed twice: aborts in every state, conservation checked after every step. */
import { describe, expect, it } from "vitest";
import { Random } from "../../src/clock/index.ts";
import {
  ContiguousKv,
  ContinuousBatcher,
  EngineRequest,
  PagedKv,
  PrefixKv,
  type Scheduler,
  StaticBatcher,
} from "../../src/engine/index.ts";

const options = { sequencesMax: 6, tokensMax: 16, fillWaitUs: 0 };
const SCHEDULERS: Readonly<Record<string, () => Scheduler>> = {
  chunked: () => new ContinuousBatcher(new PagedKv(96, 4), { ...options, prompts: "chunked" }),
  whole: () => new ContinuousBatcher(new PagedKv(96, 4), { ...options, prompts: "whole" }),
  contiguous: () =>
    new ContinuousBatcher(new ContiguousKv(96, 32), { ...options, prompts: "whole" }),
  prefix: () => new ContinuousBatcher(new PrefixKv(96, 4, 8), { ...options, prompts: "chunked" }),
  static: () => new StaticBatcher(new PagedKv(96, 4), options),
};

/** A life of 300 random requests with aborts between plan and commit, after commit, twice, and of the unknown. */
function abuse(scheduler: Scheduler, seed: number): void {
  const random = new Random(seed, "aborts");
  const ended = new Map<EngineRequest, string>();
  const all: EngineRequest[] = [];
  const end = (request: EngineRequest, how: string): void => {
    expect(ended.has(request)).toBe(false);
    ended.set(request, how);
  };
  const abortSome = (): void => {
    if (all.length === 0 || random.next() > 0.25) return;
    const request = all[random.int(all.length)]!;
    if (scheduler.abort(request)) end(request, "aborted");
    expect(scheduler.abort(request)).toBe(false);
  };
  const sink = {
    onToken: (request: EngineRequest) => {
      expect(request.state).not.toBe("aborted");
    },
    onFinish: (request: EngineRequest) => {
      expect(request.generated).toBe(request.outputTokens);
      end(request, "finished");
    },
  };
  for (let step = 0; ; step += 1) {
    expect(step).toBeLessThan(20_000);
    while (all.length < 300 && random.next() < 0.4) {
      const promptTokens = 1 + random.int(16);
      // Three families of prompts, so that a prefix memory has something to share.
      const family = 1 + random.int(3);
      const prefixIds = [family * 10, family * 10 + 1];
      const shape = { promptTokens, outputTokens: 1 + random.int(16), prefixIds };
      const request = new EngineRequest(shape, step, undefined);
      all.push(request);
      scheduler.enqueue(request);
    }
    abortSome();
    const batch = scheduler.plan(step);
    if (batch === undefined && all.length === 300) break;
    abortSome();
    if (batch !== undefined) scheduler.commit(batch, step, sink);
    scheduler.check();
  }
  expect(ended.size).toBe(300);
  expect(new Set(ended.values())).toEqual(new Set(["aborted", "finished"]));
  expect([scheduler.waiting, scheduler.running, scheduler.liveTokens]).toEqual([0, 0, 0]);
  expect(scheduler.kv.reservedTokens).toBe(0);
}

describe("SIM-07: after any aborts the memory is whole and everybody has ended once", () => {
  for (const [name, make] of Object.entries(SCHEDULERS)) {
    it(name, () => {
      for (let seed = 0; seed < 25; seed += 1) abuse(make(), seed);
    });
  }
});
