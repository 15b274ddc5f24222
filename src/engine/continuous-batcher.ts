/**
 * Continuous (iteration-level) batching: after every step finished requests leave and waiting ones may enter (Orca, Yu et
 * al., OSDI 2022). Two ways to place prompts:
 *
 * - whole: a step either computes whole waiting prompts or one token of every running answer, prompts first, as vLLM
 *   did it at first. A long prompt stops everybody's answers for one step.
 * - chunked: running answers go first, and what is left of the step's token budget is filled with pieces of prompts
 *   (Sarathi-Serve, Agrawal et al., OSDI 2024; the default of today's vLLM). Prefill-first as an option: a step computes
 *   pieces of prompts for as long as there are any, and answers wait (the default of SGLang).
 *
 * If memory runs out, the youngest running request is thrown out, put at the head of the queue, and computed again later,
 * or brought back from host memory; under an order that goes on after admission, the last in that order. A request
 * enters only if the memory holds all that it has so far: admission by the next chunk alone lets two requests throw each
 * other out for ever.
 */
import { assert } from "../core/index.ts";
import { Batch } from "./batch.ts";
import type { ContinuousOptions } from "./continuous-options.ts";
import type { KvMemory } from "./kv-memory.ts";
import { LongPrefills } from "./long-prefills.ts";
import type { EngineRequest } from "./request.ts";
import { type EngineSink, QueueScheduler, type Scheduler } from "./scheduler.ts";
import type { HostPool } from "./swap/host-pool.ts";
import { swappedFirst } from "./swap/swapped-first.ts";

/** Most requests that are passed over in one step: a bound on its work. */
const PASSED_MAX = 64;

interface PassedOver {
  readonly request: EngineRequest;
  /** Members of the batch when it was passed over. */
  readonly before: number;
  readonly forMemory: boolean;
}

export class ContinuousBatcher extends QueueScheduler implements Scheduler {
  readonly name: string;
  readonly host: HostPool | undefined;
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
  readonly #passedOver: PassedOver[] = [];
  readonly #longPrefills: LongPrefills;
  readonly #isWhole: boolean;
  readonly #isPrefillFirst: boolean;
  readonly #requestTokensMax: number;
  #prefillsInRow = 0;
  /** `ahead` only. When the step now ending was begun, so when the next one was composed; undefined after a pause. */
  #composedUs: number | undefined;
  /** `ahead` only. Some of the running list have ended, and keep their place and memory until the next step is composed. */
  #ended = false;

  constructor(kv: KvMemory, options: ContinuousOptions) {
    const { order, host } = options;
    super(kv, order === undefined || host === undefined ? order : swappedFirst(order));
    this.host = host;
    this.#options = options;
    this.#longPrefills = new LongPrefills(
      options.longPromptTokens ?? 0,
      options.longPrefillsMax ?? 0,
    );
    this.#requestTokensMax = options.requestTokensMax || Number.POSITIVE_INFINITY;
    this.#isWhole = options.prompts === "whole";
    this.#isPrefillFirst = this.#isWhole || options.mixing === "prefill-first";
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
      this.host?.forget(request);
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
    if (this.#displaced.length > 0) this.#displaced.length = 0;
    if (this.#isPrefillFirst) this.#planPrefillFirst(nowUs);
    else if (this.#options.ahead === true) this.#planAhead(nowUs);
    else this.#planChunked(nowUs, nowUs);
    if (this.#batch.size === 0) {
      assert(this.#running.length === 0, "running requests always have a next step");
      return undefined;
    }
    this.host?.charge(this.#batch);
    this.#inFlight = true;
    return this.#batch;
  }

  wakeUs(): undefined {
    return undefined;
  }

  commit(batch: Batch, nowUs: number, sink: EngineSink): void {
    this.#inFlight = false;
    if (this.#preempted.length > 0) this.#tellPreempted(nowUs, sink);
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
    this.host?.check(this.queue);
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

  #tellPreempted(nowUs: number, sink: EngineSink): void {
    for (const request of this.#preempted) sink.onPreempt?.(request, nowUs);
    this.#preempted.length = 0;
  }

  /**
   * Prompts if there are any, otherwise one token for everybody; the other way round when answers are due. An answer that
   * comes back from host memory joins the others in their step; while one waits to, no new prompt is let in.
   */
  #planPrefillFirst(nowUs: number): void {
    const { consecutivePrefillsMax: most = 0 } = this.#options;
    const isDue = most > 0 && this.#prefillsInRow >= most;
    const preemptedBefore = this.#preempted.length;
    if (isDue) this.#goOn("decodes");
    if (this.#batch.size === 0) {
      this.#goOn("prefills");
      if (this.#preempted.length === preemptedBefore) this.#admitWaiting(nowUs, nowUs, "prompts");
    }
    const isPrefill = this.#batch.size > 0 && this.#batch.decodeSequences < this.#batch.size;
    this.#prefillsInRow = isPrefill ? this.#prefillsInRow + 1 : 0;
    // Who has been let in with a whole prompt has no other work left.
    if (this.#batch.size === 0) this.#goOn(this.#isWhole ? "all" : "decodes");
    if (this.host === undefined || this.#batch.prefillSequences > 0) return;
    if (this.#preempted.length === preemptedBefore) this.#admitWaiting(nowUs, nowUs, "answers");
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
    if (this.#preempted.length === preemptedBefore) this.#admitWaiting(nowUs, seenUs, "all");
  }

  /** The next tokens of running requests, in their order. */
  #goOn(which: "all" | "decodes" | "prefills"): void {
    const tokensMax = this.#isWhole ? Number.POSITIVE_INFINITY : this.#options.tokensMax;
    // The list shrinks from its end while memory is made, at most to the index.
    let budget = tokensMax - this.#batch.tokens;
    for (let i = 0; i < this.#running.length && budget > 0; i += 1) {
      const request = this.#running[i]!;
      if (request.state !== "running") continue;
      if (which !== "all" && request.isDecoding !== (which === "decodes")) continue;
      const rest = request.known - request.computed;
      const tokens = Math.min(rest, budget, this.#requestTokensMax);
      if (this.#makeRoom(request, request.computed + tokens)) {
        this.#batch.add(request, tokens);
        budget -= tokens;
      }
      // Room for one may have taken others back.
      if (this.#isRanked) budget = tokensMax - this.#batch.tokens;
    }
  }

  /** From the head of the queue, as long as budget, places and memory last, and it is what the step is for. */
  #admitWaiting(nowUs: number, seenUs: number, which: "all" | "answers" | "prompts"): void {
    const { tokensMax, admission } = this.#options;
    for (;;) {
      const budget = tokensMax - this.#batch.tokens;
      if (budget <= 0 && this.#batch.size > 0) break;
      const head = this.queue.peek(nowUs);
      if (head === undefined || head.arrivedUs > seenUs || this.#displaced.includes(head)) break;
      if (which !== "all" && head.returnsToAnswer !== (which === "answers")) break;
      if (!this.#hasPlace()) {
        if (this.#displaceFor(head)) continue;
        break;
      }
      const cached = this.kv.match(head);
      const start = Math.max(cached, head.hostTokens);
      const rest = head.known - start;
      const tokens = this.#share(rest, budget);
      if (tokens === 0) break;
      const isLate = !this.#longPrefills.admits(rest);
      const taken = admission === "step" ? start + tokens : head.known;
      if (!isLate && this.#admit(head, cached, nowUs, taken)) {
        this.#batch.add(head, tokens);
        this.#longPrefills.enter(head, rest);
      } else if (isLate || !this.#displaceFor(head)) {
        if (!this.#passOver(head, !isLate)) break;
      }
    }
    if (this.#passedOver.length > 0) this.#putBackPassed();
  }

  /** Tokens of the step for one with `rest` to compute; 0 if it has to wait for the next. */
  #share(rest: number, budget: number): number {
    if (!this.#isWhole) return Math.min(rest, budget, this.#requestTokensMax);
    return rest <= budget || this.#batch.size === 0 ? rest : 0;
  }

  /** Looks past the head for now. Answers false if it may not be passed again. */
  #passOver(head: EngineRequest, forMemory: boolean): boolean {
    const passesMax = head.hostTokens > 0 ? 0 : (this.#options.passesMax ?? 0);
    if (forMemory && head.passes >= passesMax) return false;
    if (this.#passedOver.length >= PASSED_MAX) return false;
    this.queue.shift();
    this.#passedOver.push({ request: head, before: this.#batch.size, forMemory });
    return true;
  }

  /** From the last to the first, so that an order that puts back at its head has them in line again. */
  #putBackPassed(): void {
    for (const { request, before, forMemory } of this.#passedOver.reverse()) {
      if (forMemory && this.#batch.size > before) request.passes += 1;
      this.queue.putBack(request);
    }
    this.#passedOver.length = 0;
  }

  #hasPlace(): boolean {
    return this.#running.length < this.#options.sequencesMax;
  }

  /** `taken`: tokens, the cached ones included, to take room for now. */
  #admit(head: EngineRequest, cached: number, nowUs: number, taken = head.known): boolean {
    if (!this.kv.admit(head, taken, cached, head.known)) return false;
    head.computed = Math.max(cached, head.hostTokens);
    this.live += head.computed;
    if (head.hostTokens > 0) this.host?.take(head, cached);
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
    this.host?.put(victim);
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
