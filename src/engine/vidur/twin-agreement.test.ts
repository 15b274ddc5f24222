/**
 * The twin's own schedulers beside the reference policies, where their rules agree: ample memory or one memory rule, and
 * limits that mean the same to both. This carries what parity shows of the reference over to the schedulers that the twin runs.
 *
 * Members are compared as sets, since the order inside a step has no meaning to the twin. Time counts in whole units, which
 * are seconds to one side and microseconds to the other, so that both add exactly.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ContinuousBatcher } from "../continuous-batcher.ts";
import { ContiguousKv, type KvMemory, PagedKv } from "../kv-memory.ts";
import { EngineRequest } from "../request.ts";
import type { Scheduler } from "../scheduler.ts";
import { StaticBatcher } from "../static-batcher.ts";
import { ChunkedMixedReference } from "./chunked-mixed.ts";
import { PrefillFirstReference } from "./prefill-first.ts";
import { ReferenceEngine } from "./reference-engine.ts";
import type { ReferenceShape } from "./reference-request.ts";
import type { ReferenceScheduler } from "./reference-scheduler.ts";
import { StaticReference } from "./static-reference.ts";
import { WholeMixedReference } from "./whole-mixed.ts";

const CONTEXT = 256;
const BLOCK_TOKENS = 16;
const BLOCKS = 4_096;
const TOKENS = BLOCKS * BLOCK_TOKENS;

/** The rule of early vLLM that the reference keeps: growing needs a free block even if the last one has room. */
class CautiousPagedKv extends PagedKv implements KvMemory {
  constructor(blocks: number) {
    super(blocks * BLOCK_TOKENS, BLOCK_TOKENS);
  }

  override reserve(request: EngineRequest, tokens: number): boolean {
    if (request.reservedTokens > 0 && this.freeBlocks === 0) return false;
    return super.reserve(request, tokens);
  }
}

/** Members with their tokens, by id; then first-token and last-token time of each request. */
interface Course {
  readonly steps: readonly string[];
  readonly restarts: number;
  readonly times: readonly (readonly [number, number])[];
}

function price(tokens: number): number {
  return 3 + tokens;
}

function members(ids: readonly number[], tokens: readonly number[]): string {
  const pairs = ids.map((id, i) => [id, tokens[i]!] as const).sort(([a], [b]) => a - b);
  return pairs.map((pair) => pair.join(":")).join(" ");
}

function referenceCourse(
  scheduler: ReferenceScheduler,
  requests: readonly ReferenceShape[],
): Course {
  const cost = { priceS: (batch: { tokens: number }) => price(batch.tokens) };
  const engine = new ReferenceEngine({ scheduler, requests, cost });
  const steps: string[] = [];
  for (let step = engine.step(); step !== undefined; step = engine.step()) {
    const { requests: inStep, newTokens } = step.batch;
    const ids = inStep.map((request) => request.id);
    steps.push(members(ids, newTokens));
  }
  const restarts = engine.requests.reduce((sum, one) => sum + one.restarts, 0);
  const times = engine.requests.map((one) => [one.firstTokenS, one.completedS] as const);
  return { steps, restarts, times };
}

function twinCourse(scheduler: Scheduler, shapes: readonly ReferenceShape[]): Course {
  const requests = shapes.map((shape) => new EngineRequest(shape, shape.arrivedS, shape.id));
  const sink = { onToken: () => undefined, onFinish: () => undefined };
  const steps: string[] = [];
  let now = 0;
  for (let arrived = 0; ; ) {
    while (arrived < requests.length && requests[arrived]!.arrivedUs <= now) {
      scheduler.enqueue(requests[arrived]! as EngineRequest);
      arrived += 1;
    }
    const batch = scheduler.plan(now);
    if (batch === undefined) {
      if (arrived === requests.length) break;
      now = requests[arrived]!.arrivedUs;
      continue;
    }
    const ids = batch.requests.map((request) => (request as EngineRequest<number>).tag);
    steps.push(members(ids, batch.newTokens));
    now += price(batch.newTokens.reduce((sum, tokens) => sum + tokens, 0));
    scheduler.commit(batch, now, sink);
    scheduler.check();
  }
  const restarts = requests.reduce((sum, one) => sum + one.preemptions, 0);
  const times = requests.map((one) => [one.firstTokenUs, one.lastTokenUs] as const);
  return { steps, restarts, times };
}

/** In order of arrival, several at once now and then, idle times between. */
function workload(prompt: fc.Arbitrary<number>): fc.Arbitrary<ReferenceShape[]> {
  const gap = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 }), fc.constant(2_000));
  const one = fc.record({ gap, prompt, output: fc.integer({ min: 1, max: 40 }) });
  return fc.array(one, { minLength: 1, maxLength: 40 }).map((rows) => {
    let arrivedS = 0;
    return rows.map((row, id) => {
      arrivedS += row.gap;
      return { id, arrivedS, promptTokens: row.prompt, outputTokens: row.output };
    });
  });
}

const anyPrompt = fc.integer({ min: 1, max: 200 });
const sequences = fc.integer({ min: 1, max: 12 });

function limits(sequencesMax: number) {
  return { blocks: BLOCKS, blockTokens: BLOCK_TOKENS, watermarkShare: 0, sequencesMax };
}

describe("the twin's scheduler composes the reference's steps", () => {
  it("chunked", () => {
    const chunk = fc.integer({ min: 1, max: 300 });
    fc.assert(
      fc.property(workload(anyPrompt), sequences, chunk, (requests, sequencesMax, tokensMax) => {
        const options = { sequencesMax, tokensMax, prompts: "chunked" } as const;
        const twin = new ContinuousBatcher(new PagedKv(TOKENS, BLOCK_TOKENS), options);
        const reference = new ChunkedMixedReference({
          ...limits(sequencesMax),
          chunkTokens: tokensMax,
        });
        expect(twinCourse(twin, requests)).toEqual(referenceCourse(reference, requests));
      }),
    );
  });

  it("prefill first, if prompts are of one length, so that padding adds nothing", () => {
    const one = fc.integer({ min: 1, max: 200 });
    const workloads = one.chain((length) => workload(fc.constant(length)));
    fc.assert(
      fc.property(
        workloads,
        sequences,
        fc.integer({ min: 200, max: 900 }),
        (requests, n, tokens) => {
          const options = { sequencesMax: n, tokensMax: tokens, prompts: "whole" } as const;
          const twin = new ContinuousBatcher(new PagedKv(TOKENS, BLOCK_TOKENS), options);
          const reference = new PrefillFirstReference({ ...limits(n), paddedTokensMax: tokens });
          expect(twinCourse(twin, requests)).toEqual(referenceCourse(reference, requests));
        },
      ),
    );
  });

  it("prefill first under shortage, if its memory too asks for a free block per decode", () => {
    let restarts = 0;
    const anyBlocks = fc.integer({ min: 16, max: 40 });
    fc.assert(
      fc.property(workload(anyPrompt), sequences, anyBlocks, (requests, sequencesMax, blocks) => {
        const options = { sequencesMax, tokensMax: TOKENS, prompts: "whole" } as const;
        const twin = new ContinuousBatcher(new CautiousPagedKv(blocks), options);
        const reference = new PrefillFirstReference({
          ...limits(sequencesMax),
          blocks,
          paddedTokensMax: TOKENS,
        });
        const course = referenceCourse(reference, requests);
        restarts += course.restarts;
        expect(twinCourse(twin, requests)).toEqual(course);
      }),
    );
    expect(restarts).toBeGreaterThan(10);
  });

  it("whole prompts beside decodes, if the budget never binds and memory is contiguous", () => {
    fc.assert(
      fc.property(workload(anyPrompt), sequences, (requests, sequencesMax) => {
        const options = { sequencesMax: 99, tokensMax: TOKENS, prompts: "chunked" } as const;
        const twin = new ContinuousBatcher(
          new ContiguousKv(sequencesMax * CONTEXT, CONTEXT),
          options,
        );
        const reference = new WholeMixedReference({
          ...limits(99),
          blocks: (sequencesMax * CONTEXT) / BLOCK_TOKENS,
          contextTokensMax: CONTEXT,
        });
        expect(twinCourse(twin, requests)).toEqual(referenceCourse(reference, requests));
      }),
    );
  });

  it("static", () => {
    fc.assert(
      fc.property(workload(anyPrompt), sequences, (requests, sequencesMax) => {
        const options = { sequencesMax, fillWaitUs: 0 };
        const twin = new StaticBatcher(new ContiguousKv(TOKENS, CONTEXT), options);
        const reference = new StaticReference({
          ...limits(sequencesMax),
          contextTokensMax: CONTEXT,
        });
        expect(twinCourse(twin, requests)).toEqual(referenceCourse(reference, requests));
      }),
    );
  });
});
