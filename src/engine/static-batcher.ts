/**
 * Static batching, as serving frameworks did it before continuous batching: a batch is formed, its prompts are padded to
 * the longest, and nobody joins or leaves until the longest answer has ended. Shorter members keep their place, their
 * memory and their share of every step, and their responses end with the batch.
 */
import { assert } from "../core/index.ts";
import { Batch } from "./batch.ts";
import type { KvMemory } from "./kv-memory.ts";
import type { QueueOrder } from "./order/queue-order.ts";
import type { EngineRequest } from "./request.ts";
import { type EngineSink, QueueScheduler, type Scheduler } from "./scheduler.ts";

export interface StaticOptions {
  /** Most members of a batch. */
  readonly sequencesMax: number;
  /** How long the first in the queue waits for a fuller batch. 0 starts with whoever is there. */
  readonly fillWaitUs: number;
  /** Default: first come, first served. Nobody is thrown out of a batch, whatever the order. */
  readonly order?: QueueOrder;
}

export class StaticBatcher extends QueueScheduler implements Scheduler {
  readonly name = "static";
  readonly #options: StaticOptions;
  readonly #batch = new Batch();
  #members: EngineRequest[] = [];
  #longestPrompt = 0;
  #wakeUs: number | undefined;

  constructor(kv: KvMemory, options: StaticOptions) {
    super(kv, options.order);
    this.#options = options;
  }

  get running(): number {
    return this.#members.length;
  }

  abort(request: EngineRequest): boolean {
    if (request.state === "waiting") {
      request.state = "aborted";
      return this.queue.remove(request);
    }
    if (request.state !== "running") return false;
    if (isActive(request)) this.live -= request.computed;
    // Its place cannot be given to anybody before the batch ends, so it stays and computes nothing more.
    request.state = "aborted";
    return true;
  }

  plan(nowUs: number): Batch | undefined {
    this.#wakeUs = undefined;
    if (this.#members.length === 0 && !this.#form(nowUs)) return undefined;
    this.#batch.reset();
    for (const request of this.#members) this.#addStep(request);
    return this.#batch;
  }

  wakeUs(): number | undefined {
    return this.#wakeUs;
  }

  commit(batch: Batch, nowUs: number, sink: EngineSink): void {
    for (let i = 0; i < batch.size; i += 1) {
      const request = batch.requests[i]!;
      if (!isActive(request)) continue;
      this.advance(request, batch.newTokens[i]!, nowUs, sink);
      // From here on it only keeps its place: what it holds is no longer of use to anybody.
      if (!isActive(request)) this.live -= request.computed;
    }
    if (this.#members.every((request) => !isActive(request))) this.#dissolve(nowUs, sink);
  }

  check(): void {
    this.kv.check(this.#members);
    let computed = 0;
    for (const request of this.#members) if (isActive(request)) computed += request.computed;
    assert(computed === this.live, "live tokens are those of answers under way");
  }

  /** Members from the head of the queue, each with memory for its whole length: there is no way out later. */
  #form(nowUs: number): boolean {
    const first = this.queue.peek(nowUs);
    if (first === undefined) return false;
    const fullUs = first.arrivedUs + this.#options.fillWaitUs;
    if (this.queue.size < this.#options.sequencesMax && nowUs < fullUs) {
      this.#wakeUs = fullUs;
      return false;
    }
    this.#longestPrompt = 0;
    while (this.#members.length < this.#options.sequencesMax) {
      const request = this.queue.peek(nowUs);
      if (request === undefined || !this.kv.reserve(request, request.longestTokens)) break;
      this.letIn(request, nowUs);
      this.#longestPrompt = Math.max(this.#longestPrompt, request.promptTokens);
      this.#members.push(request);
    }
    assert(this.#members.length > 0, "an empty memory holds the first request");
    return true;
  }

  /** What a member costs this step, padding included, and the work that it really gets. */
  #addStep(request: EngineRequest): void {
    if (!isActive(request)) {
      this.#batch.countDecode(request.computed + 1);
    } else if (request.computed === 0) {
      this.#batch.requests.push(request);
      this.#batch.newTokens.push(request.promptTokens);
      this.#batch.countPrefill(this.#longestPrompt, 0);
    } else {
      this.#batch.addDecode(request);
    }
  }

  #dissolve(nowUs: number, sink: EngineSink): void {
    const members = this.#members;
    this.#members = [];
    for (const request of members) {
      this.kv.release(request);
      if (request.state !== "running") continue;
      request.state = "finished";
      sink.onFinish(request, nowUs);
    }
    assert(this.live === 0, "an empty batch has no live tokens");
  }
}

/** Still has tokens to compute. */
function isActive(request: EngineRequest): boolean {
  return request.state === "running" && request.generated < request.outputTokens;
}
