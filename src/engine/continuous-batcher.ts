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
  /** `ahead` only. When the step now ending was begun, so when the next one was composed; undefined after a pause. */
  #composedUs: number | undefined;
  /** `ahead` only. Some of the running list have ended, and keep their place and memory until the next step is composed. */
  #ended = false;

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

  /** With the knowledge of a step ago; if that gave nothing to do, the pipeline is empty and all is known. */
  #planAhead(nowUs: number): void {
    if (this.#composedUs !== undefined) this.#planChunked(nowUs, this.#composedUs);
    this.#ended = false;
    this.#sweep();
    if (this.#batch.size === 0) this.#planChunked(nowUs, nowUs);
    this.#composedUs = this.#batch.size === 0 ? undefined : nowUs;
  }

  /**
   * Running requests in order of admission, then the queue's head for as long as budget and memory last. Of the queue
   * it sees what arrived by `seenUs`.
   */
  #planChunked(nowUs: number, seenUs: number): void {
    let budget = this.#options.tokensMax;
    const preemptedBefore = this.#preempted.length;
    for (let i = 0; i < this.#running.length && budget > 0; i += 1) {
      const request = this.#running[i]!;
      if (request.state !== "running") continue;
      const tokens = Math.min(request.known - request.computed, budget);
      if (!this.#makeRoom(request, request.computed + tokens)) break;
      this.#add(request, tokens);
      budget -= tokens;
    }
    if (this.#preempted.length > preemptedBefore) return;
    while (budget > 0 && this.#hasPlace()) {
      const head = this.queue.peek();
      if (head === undefined || head.arrivedUs > seenUs) break;
      const cached = this.kv.match(head);
      const tokens = Math.min(head.known - cached, budget);
      const taken = this.#options.admission === "step" ? cached + tokens : head.known;
      if (!this.#admit(head, cached, nowUs, taken)) break;
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

  /** `taken`: tokens, the cached ones included, to take room for now. */
  #admit(head: EngineRequest, cached: number, nowUs: number, taken = head.known): boolean {
    if (!this.kv.admit(head, taken, cached, head.known)) return false;
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
