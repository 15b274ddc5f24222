/** Rules by hand, and laws that hold for every policy under shortage, by chance. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assert } from "../../core/index.ts";
import { ChunkedMixedReference } from "./chunked-mixed.ts";
import { PrefillFirstReference } from "./prefill-first.ts";
import type { ReferenceBatch } from "./reference-batch.ts";
import { ReferenceEngine } from "./reference-engine.ts";
import { ReferenceRequest } from "./reference-request.ts";
import type { ReferenceScheduler } from "./reference-scheduler.ts";
import { StaticReference } from "./static-reference.ts";
import { WholeMixedReference } from "./whole-mixed.ts";

const AMPLE = { blocks: 1_000, blockTokens: 16, watermarkShare: 0, sequencesMax: 8 };

function request(id: number, promptTokens: number, outputTokens: number): ReferenceRequest {
  return new ReferenceRequest({ id, arrivedS: id, promptTokens, outputTokens });
}

/** `id:tokens` of each member of the next step, which is done at once. */
function step(scheduler: ReferenceScheduler, nowS = 0): string {
  const batch: ReferenceBatch | undefined = scheduler.plan(nowS);
  const pairs = batch?.requests.map((one, i) => `${one.id}:${batch.newTokens[i]}`) ?? [];
  scheduler.check();
  scheduler.commit(nowS + 1);
  scheduler.check();
  return pairs.join(" ");
}

describe("a restart", () => {
  it("turns what was computed into the prompt and keeps the total and the first times", () => {
    const one = request(0, 10, 5);
    one.advance(10, 1);
    one.advance(1, 2);
    one.restart();
    expect([one.promptTokens, one.outputTokens, one.processed, one.isReady]).toEqual([
      12,
      3,
      0,
      false,
    ]);
    one.advance(12, 3);
    expect(one.firstTokenS).toBe(1);
    one.advance(1, 4);
    expect(one.isCompleted).toBe(false);
    one.advance(1, 5);
    expect([one.isCompleted, one.completedS]).toEqual([true, 5]);
  });

  it("in mid-prefill makes output of the unread prompt", () => {
    const one = request(0, 100, 1);
    one.advance(30, 1);
    one.restart();
    expect([one.promptTokens, one.outputTokens]).toEqual([30, 71]);
  });
});

describe("prefill first", () => {
  it("counts the padding of shorter prompts against the step's limit", () => {
    const scheduler = new PrefillFirstReference({ ...AMPLE, paddedTokensMax: 64 });
    for (const [id, prompt] of [10, 40, 2].entries()) scheduler.enqueue(request(id, prompt, 9));
    // 10 + 40 would fit, 2 · 40 does not; 2 · 40 again for the last one.
    expect([step(scheduler), step(scheduler), step(scheduler)]).toEqual(["0:10", "1:40", "2:2"]);
  });

  it("restarts the youngest to make room, and the last one itself", () => {
    const scheduler = new PrefillFirstReference({ ...AMPLE, blocks: 4, paddedTokensMax: 64 });
    scheduler.enqueue(request(0, 32, 30));
    scheduler.enqueue(request(1, 32, 30));
    const restarts: string[] = [];
    let steps = 0;
    // The first takes the third block that both need from the second, and then the last free one. With none left it has to
    // go although its own last block has room.
    for (; scheduler.plan(steps, (one, had) => restarts.push(`${one.id}@${had}`)); steps += 1) {
      scheduler.commit(steps + 1);
      scheduler.check();
    }
    expect(restarts).toEqual(["1@33", "0@50"]);
    expect(steps).toBe(1 + 17);
    expect([scheduler.head?.id, scheduler.waiting, scheduler.ledger.free]).toEqual([0, 2, 4]);
    expect(step(scheduler)).toBe("0:50");
  });
});

describe("chunked, mixed", () => {
  it("goes on with the begun prompt before it lets anybody in", () => {
    const scheduler = new ChunkedMixedReference({ ...AMPLE, chunkTokens: 10 });
    for (const [id, prompt] of [8, 12, 3].entries()) scheduler.enqueue(request(id, prompt, 9));
    expect(step(scheduler)).toBe("0:8 1:2");
    expect(step(scheduler)).toBe("0:1 1:9");
    expect(step(scheduler)).toBe("0:1 1:1 2:3");
  });

  it("lets nobody in while decodes use up the budget", () => {
    const scheduler = new ChunkedMixedReference({ ...AMPLE, chunkTokens: 2 });
    for (const id of [0, 1, 2]) scheduler.enqueue(request(id, 1, 3));
    const steps = Array.from({ length: 4 }, () => step(scheduler));
    expect(steps).toEqual(["0:1 1:1", "0:1 1:1", "0:1 1:1", "2:1"]);
  });
});

type Policy = (blocks: number, sequencesMax: number) => ReferenceScheduler;

const POLICIES: readonly [string, Policy][] = [
  [
    "prefill first",
    (blocks, sequencesMax) =>
      new PrefillFirstReference({ ...AMPLE, blocks, sequencesMax, paddedTokensMax: 200 }),
  ],
  [
    "chunked, mixed",
    (blocks, sequencesMax) =>
      new ChunkedMixedReference({ ...AMPLE, blocks, sequencesMax, chunkTokens: 24 }),
  ],
  [
    "whole, mixed",
    (blocks, sequencesMax) =>
      new WholeMixedReference({ ...AMPLE, blocks, sequencesMax, contextTokensMax: 160 }),
  ],
  [
    "static",
    (blocks, sequencesMax) =>
      new StaticReference({ ...AMPLE, blocks, sequencesMax, contextTokensMax: 160 }),
  ],
];

describe.each(POLICIES)("%s under shortage", (_, policy) => {
  const one = fc.record({
    arrivedS: fc.integer({ min: 0, max: 300 }),
    promptTokens: fc.integer({ min: 1, max: 100 }),
    outputTokens: fc.integer({ min: 1, max: 60 }),
  });
  const requests = fc.array(one, { minLength: 1, maxLength: 25 });
  const blocks = fc.integer({ min: 12, max: 40 });

  it("conserves blocks after every step, and each request yields its tokens once", () => {
    fc.assert(
      fc.property(requests, blocks, fc.integer({ min: 1, max: 8 }), (shapes, count, n) => {
        const scheduler = policy(count, n);
        let lost = 0;
        let restarts = 0;
        let computed = 0;
        let largest = 0;
        const engine = new ReferenceEngine({
          scheduler,
          requests: shapes.map((shape, id) => ({ ...shape, id })),
          cost: { priceS: (batch) => 1 + batch.tokens / 64 },
          onRestart: ({ processed }) => {
            lost += processed;
            restarts += 1;
          },
        });
        for (let step = engine.step(); step !== undefined; step = engine.step()) {
          largest = Math.max(largest, step.batch.size);
          computed += step.batch.tokens;
          assert(step.index < 20_000, "a run ends");
        }
        expect(largest).toBeLessThanOrEqual(n);
        expect(scheduler.ledger.free).toBe(count);
        expect(scheduler.waiting).toBe(0);
        let total = 0;
        for (const request of engine.requests) {
          expect(request.isCompleted).toBe(true);
          expect(request.scheduledS).toBeGreaterThanOrEqual(request.arrivedS);
          expect(request.firstTokenS).toBeGreaterThan(request.scheduledS);
          expect(request.completedS).toBeGreaterThanOrEqual(request.firstTokenS);
          total += request.totalTokens;
          restarts -= request.restarts;
        }
        expect(restarts).toBe(0);
        // Each end of a prefill adds a token that no step computes: one a request, one more for each in vain.
        expect(computed).toBeLessThanOrEqual(total + lost - engine.requests.length);
      }),
    );
  });
});
