/**
 * Continuous (iteration-level) batching: after every step finished requests leave and waiting ones may enter (Orca, Yu et
 * al., OSDI 2022). Two ways to place prompts:
 *
 * - whole: a step either computes whole waiting prompts or one token of every running answer, prompts first, as vLLM
 *   did it at first. A long prompt stops everybody's answers for one step.
 * - chunked: running answers go first, and what is left of the step's token budget is filled with pieces of prompts
 *   (Sarathi-Serve, Agrawal et al., OSDI 2024; the default of today's vLLM).
 *
 * If memory runs out, the youngest running request is thrown out, put at the head of the queue, and computed again later;
 * under an order that goes on after admission, the last in that order. A request enters only if the memory holds all that it has so far: admission by the next chunk alone lets two requests
 * throw each other out for ever.
 */
import { assert } from "../core/index.ts";
import { Batch } from "./batch.ts";
import type { KvMemory } from "./kv-memory.ts";
import type { QueueOrder } from "./order/queue-order.ts";
import type { EngineRequest } from "./request.ts";
import { type EngineSink, QueueScheduler, type Scheduler } from "./scheduler.ts";

export interface ContinuousOptions {
  /** Most requests under way at a time. */
  readonly sequencesMax: number;
  /** Most tokens computed in a step. A whole prompt that is longer runs in a step of its own. */
  readonly tokensMax: number;
  readonly prompts: "whole" | "chunked";
  /**
   * Chunked only: what a request takes as it enters. Default "known": room for all that it has so far. "step": room for
   * its first piece, all of it having to fit at that moment all the same (vLLM's `scheduler_reserve_full_isl`).
   */
  readonly admission?: "known" | "step";
  /**
   * Chunked only: a step is composed while the one before it runs, as vLLM's asynchronous scheduling does to keep the GPU
   * busy. It knows neither who arrives nor who ends meanwhile: a newcomer waits one step longer, and place and memory of
   * one that has ended come free one step later. Default false.
   */
  readonly ahead?: boolean;
  /** Who is let in next. Default: first come, first served. */
  readonly order?: QueueOrder;
  /**
   * Under an order by priority: one that waits without place or memory throws out the last of those that run, if that is of
   * a worse class. Default false: it waits until somebody ends.
   */
  readonly priorityPreempts?: boolean;
}

export class ContinuousBatcher extends QueueScheduler implements Scheduler {
  readonly name: string;
  readonly #options: ContinuousOptions;
  readonly #batch = new Batch();
  /** In order of admission, or in the queue's order if that goes on; the last is the first to be thrown out. */
  readonly #running: EngineRequest[] = [];
  readonly #isRanked: boolean;
  #inFlight = false;
  /** Somebody was aborted while a step was in flight. Memory that it may be writing to is held until it ends. */
  #abortedInFlight = false;
  readonly #preempted: EngineRequest[] = [];
  /** Thrown out in this plan for a better class. They do not come back in the same step, even where shared memory let them. */
  readonly #displaced: EngineRequest[] = [];
  /** `ahead` only. When the step now ending was begun, so when the next one was composed; undefined after a pause. */
  #composedUs: number | undefined;
  /** `ahead` only. Some of the running list have ended, and keep their place and memory until the next step is composed. */
  #ended = false;

  constructor(kv: KvMemory, options: ContinuousOptions) {
    super(kv, options.order);
    this.#options = options;
    this.#isRanked = this.queue.compare !== undefined;
    assert(
      options.ahead !== true || this.queue.name === "first-come",
      "a step composed ahead knows no other order than first come, first served",
    );
    this.name = options.prompts === "chunked" ? "chunked" : "continuous";
  }

  get running(): number {
    return this.#running.length;
  }

  abort(request: EngineRequest): boolean {
    if (request.state === "waiting") {
      request.state = "aborted";
      return this.queue.remove(request);
    }
    if (request.state !== "running") return false;
    request.state = "aborted";
    if (this.#inFlight) this.#abortedInFlight = true;
    else this.#sweep();
    return true;
  }

  plan(nowUs: number): Batch | undefined {
    assert(!this.#inFlight, "one step at a time");
    this.#batch.reset();
    this.#displaced.length = 0;
    if (this.#options.prompts === "whole") this.#planWhole(nowUs);
    else if (this.#options.ahead === true) this.#planAhead(nowUs);
    else this.#planChunked(nowUs, nowUs);
    if (this.#batch.size === 0) {
      assert(this.#running.length === 0, "running requests always have a next step");
      return undefined;
    }
    this.#inFlight = true;
    return this.#batch;
  }

  wakeUs(): undefined {
    return undefined;
  }

  commit(batch: Batch, nowUs: number, sink: EngineSink): void {
    this.#inFlight = false;
    for (const request of this.#preempted) sink.onPreempt?.(request, nowUs);
    this.#preempted.length = 0;
    let ended = this.#abortedInFlight;
    this.#abortedInFlight = false;
    for (let i = 0; i < batch.size; i += 1) {
      const request = batch.requests[i]!;
      if (request.state !== "running") continue;
      this.advance(request, batch.newTokens[i]!, nowUs, sink);
      if (request.generated < request.outputTokens) continue;
      request.state = "finished";
      ended = true;
    }
    if (!ended) return;
    if (this.#options.ahead === true) this.#ended = true;
    else this.#sweep();
    for (const request of batch.requests) {
      if (request.state === "finished") sink.onFinish(request, nowUs);
    }
  }

  check(): void {
    this.kv.check(this.#running);
    let computed = 0;
    for (const request of this.#running) {
      const leaving = this.#inFlight || this.#ended;
      assert(request.state === "running" || leaving, "who runs is running");
      computed += request.computed;
    }
    for (let i = this.#isRanked ? 1 : this.#running.length; i < this.#running.length; i += 1) {
      const inOrder = this.queue.compare!(this.#running[i - 1]!, this.#running[i]!) < 0;
      assert(inOrder, "who runs is in the queue's order");
    }
    assert(computed === this.live, "live tokens are those of running requests");
    assert(this.#running.length <= this.#options.sequencesMax, "no more run than may");
  }

  /** Whole prompts if any can enter, otherwise one token for everybody. */
  #planWhole(nowUs: number): void {
    for (;;) {
      const head = this.queue.peek(nowUs);
      if (head === undefined || this.#displaced.includes(head)) break;
      const cached = this.#hasPlace() ? this.kv.match(head) : 0;
      const tokens = head.known - cached;
      if (this.#batch.size > 0 && this.#batch.tokens + tokens > this.#options.tokensMax) break;
      if (this.#hasPlace() && this.#admit(head, cached, nowUs))
        this.#batch.addPrefill(head, tokens);
      else if (!this.#displaceFor(head)) break;
    }
    if (this.#batch.size > 0) return;
    // The list shrinks from its end while memory is made, never before the index.
    for (let i = 0; i < this.#running.length; i += 1) {
      const request = this.#running[i]!;
      if (this.#makeRoom(request, request.computed + 1)) this.#batch.addDecode(request);
    }
  }

  /** With the knowledge of a step ago; if that gave nothing to do, the pipeline is empty and all is known. */
  #planAhead(nowUs: number): void {
    if (this.#composedUs !== undefined) this.#planChunked(nowUs, this.#composedUs);
    this.#ended = false;
    this.#sweep();
    if (this.#batch.size === 0) this.#planChunked(nowUs, nowUs);
    this.#composedUs = this.#batch.size === 0 ? undefined : nowUs;
  }

  /** Who runs, then the queue's head for as long as budget and memory last. Of the queue it sees what came by `seenUs`. */
  #planChunked(nowUs: number, seenUs: number): void {
    const preemptedBefore = this.#preempted.length;
    if (this.#isRanked) {
      // A better class may be in the middle of a long prompt; answers under way must not wait for it.
      this.#goOn("decodes");
      this.#goOn("prefills");
    } else {
      this.#goOn("all");
    }
    if (this.#preempted.length === preemptedBefore) this.#admitChunks(nowUs, seenUs);
  }

  /** The next tokens of running requests, in their order. */
  #goOn(which: "all" | "decodes" | "prefills"): void {
    const { tokensMax } = this.#options;
    // The list shrinks from its end while memory is made, at most to the index.
    for (let i = 0; i < this.#running.length; i += 1) {
      const budget = tokensMax - this.#batch.tokens;
      if (budget <= 0) break;
      const request = this.#running[i]!;
      if (request.state !== "running") continue;
      if (which !== "all" && request.isDecoding !== (which === "decodes")) continue;
      const tokens = Math.min(request.known - request.computed, budget);
      if (this.#makeRoom(request, request.computed + tokens)) this.#batch.add(request, tokens);
    }
  }

  #admitChunks(nowUs: number, seenUs: number): void {
    const { tokensMax, admission } = this.#options;
    for (;;) {
      const budget = tokensMax - this.#batch.tokens;
      const head = budget > 0 ? this.queue.peek(nowUs) : undefined;
      if (head === undefined || head.arrivedUs > seenUs || this.#displaced.includes(head)) break;
      const cached = this.#hasPlace() ? this.kv.match(head) : 0;
      const tokens = Math.min(head.known - cached, budget);
      const taken = admission === "step" ? cached + tokens : head.known;
      if (this.#hasPlace() && this.#admit(head, cached, nowUs, taken))
        this.#batch.add(head, tokens);
      else if (!this.#displaceFor(head)) break;
    }
  }

  #hasPlace(): boolean {
    return this.#running.length < this.#options.sequencesMax;
  }

  /** `taken`: tokens, the cached ones included, to take room for now. */
  #admit(head: EngineRequest, cached: number, nowUs: number, taken = head.known): boolean {
    if (!this.kv.admit(head, taken, cached, head.known)) return false;
    head.computed = cached;
    this.live += cached;
    if (head.preemptions > 0) {
      this.prefix.reusedTokens += cached;
    } else {
      head.cachedTokens = cached;
      this.prefix.queriedTokens += head.promptTokens;
      this.prefix.hitTokens += cached;
    }
    this.letIn(head, nowUs);
    this.#enter(head);
    return true;
  }

  #enter(request: EngineRequest): void {
    const running = this.#running;
    running.push(request);
    if (!this.#isRanked) return;
    let at = running.length - 1;
    for (; at > 0 && this.queue.compare!(running[at - 1]!, request) > 0; at -= 1) {
      running[at] = running[at - 1]!;
    }
    running[at] = request;
  }

  /**
   * Throws the last of the running out for one of a better class that waits, if enough can be thrown out for that to get
   * in. What it was to compute in this step is taken back. Answers whether the waiting one may try again.
   */
  #displaceFor(head: EngineRequest): boolean {
    if (this.#options.priorityPreempts !== true || !this.#isRanked) return false;
    const yields = (other: EngineRequest): boolean =>
      other.priority > head.priority && this.queue.compare!(head, other) < 0;
    let tokens = this.kv.totalTokens - this.kv.reservedTokens;
    for (let i = this.#running.length - 1; i >= 0 && yields(this.#running[i]!); i -= 1) {
      tokens += this.#running[i]!.reservedTokens;
    }
    const victim = this.#running.at(-1);
    if (victim === undefined || !yields(victim) || tokens < head.known) return false;
    this.#running.pop();
    this.#batch.takeBack(victim);
    this.#preempt(victim);
    this.#displaced.push(victim);
    return true;
  }

  /** Room for `tokens` tokens of a running request, at the cost of the last. Answers false if that was itself. */
  #makeRoom(request: EngineRequest, tokens: number): boolean {
    while (!this.kv.reserve(request, tokens)) {
      const victim = this.#running.pop();
      assert(victim !== undefined, "a running request is in the list");
      if (this.#isRanked) this.#batch.takeBack(victim);
      if (victim.state === "running") this.#preempt(victim);
      else this.#leave(victim);
      if (victim === request) return false;
    }
    return true;
  }

  #preempt(victim: EngineRequest): void {
    this.#leave(victim, true);
    victim.computed = 0;
    victim.preemptions += 1;
    victim.state = "waiting";
    this.queue.putBack(victim);
    this.#preempted.push(victim);
  }

  /** Takes all that have ended or been aborted out of the running list. */
  #sweep(): void {
    let kept = 0;
    for (const request of this.#running) {
      if (request.state === "running") {
        this.#running[kept] = request;
        kept += 1;
      } else {
        this.#leave(request);
      }
    }
    this.#running.length = kept;
  }

  #leave(request: EngineRequest, again = false): void {
    this.live -= request.computed;
    this.kv.release(request, again);
  }
}
