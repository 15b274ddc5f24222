/**
 * Continuous (iteration-level) batching: after every step finished requests leave and waiting ones may enter (Orca, Yu et
 * al., OSDI 2022). Two ways to place prompts:
 *
 * - whole: a step either computes whole waiting prompts or one token of every running answer, prompts first, as vLLM
 *   did it at first. A long prompt stops everybody's answers for one step.
 * - chunked: running answers go first, and what is left of the step's token budget is filled with pieces of prompts
 *   (Sarathi-Serve, Agrawal et al., OSDI 2024; the default of today's vLLM).
 *
 * If memory runs out, the youngest running request is thrown out, put at the head of the queue, and computed again later.
 * A request enters only if the memory holds all that it has so far: admission by the next chunk alone lets two requests
 * throw each other out for ever.
 */
import { assert } from "../core/index.ts";
import { Batch } from "./batch.ts";
import type { KvMemory } from "./kv-memory.ts";
import type { EngineRequest } from "./request.ts";
import { type EngineSink, QueueScheduler, type Scheduler } from "./scheduler.ts";

export interface ContinuousOptions {
  /** Most requests under way at a time. */
  readonly sequencesMax: number;
  /** Most tokens computed in a step. A whole prompt that is longer runs in a step of its own. */
  readonly tokensMax: number;
  readonly prompts: "whole" | "chunked";
}

export class ContinuousBatcher extends QueueScheduler implements Scheduler {
  readonly name: string;
  readonly #options: ContinuousOptions;
  readonly #batch = new Batch();
  /** In order of admission; the last is the youngest. */
  #running: EngineRequest[] = [];
  #inFlight = false;
  /** Somebody was aborted while a step was in flight. Memory that it may be writing to is held until it ends. */
  #abortedInFlight = false;
  readonly #preempted: EngineRequest[] = [];

  constructor(kv: KvMemory, options: ContinuousOptions) {
    super(kv);
    this.#options = options;
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
    if (this.#options.prompts === "chunked") this.#planChunked(nowUs);
    else this.#planWhole(nowUs);
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
    this.#sweep();
    for (const request of batch.requests) {
      if (request.state === "finished") sink.onFinish(request, nowUs);
    }
  }

  check(): void {
    this.kv.check(this.#running);
    let computed = 0;
    for (const request of this.#running) {
      assert(request.state === "running" || this.#inFlight, "who runs is running");
      computed += request.computed;
    }
    assert(computed === this.live, "live tokens are those of running requests");
    assert(this.#running.length <= this.#options.sequencesMax, "no more run than may");
  }

  /** Whole prompts if any can enter, otherwise one token for everybody. */
  #planWhole(nowUs: number): void {
    for (;;) {
      const head = this.queue.peek();
      if (head === undefined || !this.#hasPlace()) break;
      const cached = this.kv.match(head);
      const tokens = head.known - cached;
      if (this.#batch.size > 0 && this.#batch.tokens + tokens > this.#options.tokensMax) break;
      if (!this.#admit(head, cached, nowUs)) break;
      this.#batch.addPrefill(head, tokens);
    }
    if (this.#batch.size > 0) return;
    // The list shrinks from its end while memory is made, never before the index.
    for (let i = 0; i < this.#running.length; i += 1) {
      const request = this.#running[i]!;
      if (this.#makeRoom(request, request.computed + 1)) this.#batch.addDecode(request);
    }
  }

  /** Running requests in order of admission, then the queue's head for as long as budget and memory last. */
  #planChunked(nowUs: number): void {
    let budget = this.#options.tokensMax;
    for (let i = 0; i < this.#running.length && budget > 0; i += 1) {
      const request = this.#running[i]!;
      const tokens = Math.min(request.known - request.computed, budget);
      if (!this.#makeRoom(request, request.computed + tokens)) break;
      this.#add(request, tokens);
      budget -= tokens;
    }
    if (this.#preempted.length > 0) return;
    while (budget > 0 && this.#hasPlace()) {
      const head = this.queue.peek();
      if (head === undefined || !this.#admit(head, this.kv.match(head), nowUs)) break;
      const tokens = Math.min(head.known - head.computed, budget);
      this.#add(head, tokens);
      budget -= tokens;
    }
  }

  #add(request: EngineRequest, tokens: number): void {
    if (tokens === 1 && request.generated > 0 && request.computed > 0)
      this.#batch.addDecode(request);
    else this.#batch.addPrefill(request, tokens);
  }

  #hasPlace(): boolean {
    return this.#running.length < this.#options.sequencesMax;
  }

  #admit(head: EngineRequest, cached: number, nowUs: number): boolean {
    if (!this.kv.admit(head, head.known, cached)) return false;
    this.queue.shift();
    head.state = "running";
    head.computed = cached;
    this.live += cached;
    if (head.preemptions > 0) {
      this.prefix.reusedTokens += cached;
    } else {
      head.scheduledUs = nowUs;
      head.cachedTokens = cached;
      this.prefix.queriedTokens += head.promptTokens;
      this.prefix.hitTokens += cached;
    }
    this.#running.push(head);
    return true;
  }

  /** Room for `tokens` tokens of a running request, at the cost of the youngest. Answers false if that was itself. */
  #makeRoom(request: EngineRequest, tokens: number): boolean {
    while (!this.kv.reserve(request, tokens)) {
      const victim = this.#running.pop();
      assert(victim !== undefined, "a running request is in the list");
      this.#preempt(victim);
      if (victim === request) return false;
    }
    return true;
  }

  #preempt(victim: EngineRequest): void {
    this.#leave(victim, true);
    victim.computed = 0;
    victim.preemptions += 1;
    victim.state = "waiting";
    this.queue.unshift(victim);
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
