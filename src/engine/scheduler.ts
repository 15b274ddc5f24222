/**
 * What every scheduler is: a plain object that is told what happened and asked what to do next. It knows no clock, socket
 * or GPU; the same object serves a simulated second in microseconds and a live one in a second.
 *
 *     enqueue ──▶ waiting ──plan──▶ running ──commit──▶ finished
 *                    ▲                 │
 *                    └───pre-emption───┘
 */
import { ManxError } from "../core/index.ts";
import type { Batch } from "./batch.ts";
import type { KvMemory } from "./kv-memory.ts";
import { FirstCome, type QueueOrder } from "./order/queue-order.ts";
import type { EngineRequest } from "./request.ts";
import type { SpeculationTotals } from "./speculation/speculative-scheduler.ts";
import type { HostPool } from "./swap/host-pool.ts";

/** Told, in order, of all that a commit brings about. */
export interface EngineSink {
  /**
   * One more output token exists. Its number is `request.generated`, counted from 1; `inStep` is how many the same step
   * yields for this request, which it is told of one by one: more than one with speculative decoding only.
   */
  onToken(request: EngineRequest, nowUs: number, inStep: number): void;
  /** The response is over and its memory free. */
  onFinish(request: EngineRequest, nowUs: number): void;
  /** Thrown out for lack of memory; it will be computed again, or come back from host memory. */
  onPreempt?(request: EngineRequest, nowUs: number): void;
}

/** What the prefix cache was asked for and gave. All only grow. */
export interface PrefixCounters {
  /** Prompt tokens of requests let in for the first time, and how many of them were taken over. */
  queriedTokens: number;
  hitTokens: number;
  /** Tokens that came back to a request that had been thrown out: no hit of the workload's. */
  reusedTokens: number;
}

/** Who waits although others that came later have been let in, and for how long the longest of them has. */
export interface Overtaken {
  readonly requests: number;
  readonly longestUs: number;
}

export interface Scheduler {
  readonly name: string;
  readonly prefix: Readonly<PrefixCounters>;
  /** Only if it drafts. */
  readonly speculation?: Readonly<SpeculationTotals>;
  readonly waiting: number;
  readonly running: number;
  /** Tokens in the KV memory that belong to answers still under way. */
  readonly liveTokens: number;
  readonly kv: KvMemory;
  /** Only if it swaps: where the KV of those goes that it throws out. */
  readonly host?: HostPool | undefined;
  /** @throws MANX_OVERLOADED beyond `WAITING_MAX`. */
  enqueue(request: EngineRequest): void;
  /** Takes a request out, wherever it is. Answers false if it had already ended. */
  abort(request: EngineRequest): boolean;
  /** The next step's batch, good until `commit`; undefined if there is nothing to do now. */
  plan(nowUs: number): Batch | undefined;
  /** After `plan` gave nothing: when the passing of time alone would change that. */
  wakeUs(): number | undefined;
  /** The step is done. */
  commit(batch: Batch, nowUs: number, sink: EngineSink): void;
  /** What an order other than first come does to the rest; O(waiting). A number that keeps growing is starvation. */
  overtaken?(nowUs: number): Overtaken;
  /** Conservation of requests and memory. @throws MANX_INTERNAL */
  check(): void;
}

/** Requests that a server holds back at most before it refuses more. */
export const WAITING_MAX = 1_000_000;

/** The bookkeeping that all schedulers share. */
export abstract class QueueScheduler {
  readonly kv: KvMemory;
  readonly prefix: PrefixCounters = { queriedTokens: 0, hitTokens: 0, reusedTokens: 0 };
  protected readonly queue: QueueOrder;
  protected live = 0;
  readonly #charges: boolean;
  /** Arrival of the latest that has been let in. */
  #latestUs = Number.NEGATIVE_INFINITY;

  constructor(kv: KvMemory, order: QueueOrder = new FirstCome()) {
    this.kv = kv;
    this.queue = order;
    this.#charges = order.charge !== undefined;
  }

  get waiting(): number {
    return this.queue.size;
  }

  get liveTokens(): number {
    return this.live;
  }

  enqueue(request: EngineRequest): void {
    if (this.queue.size >= WAITING_MAX) {
      throw new ManxError("MANX_OVERLOADED", {
        what: "the engine's queue is full",
        expected: `at most ${WAITING_MAX} waiting requests`,
      });
    }
    this.queue.push(request);
  }

  overtaken(nowUs: number): Overtaken {
    let requests = 0;
    let longestUs = 0;
    for (const { arrivedUs } of this.queue) {
      if (arrivedUs >= this.#latestUs) continue;
      requests += 1;
      longestUs = Math.max(longestUs, nowUs - arrivedUs);
    }
    return { requests, longestUs };
  }

  /** Takes the head of the queue in. */
  protected letIn(head: EngineRequest, nowUs: number): void {
    this.queue.shift();
    head.state = "running";
    if (head.arrivedUs > this.#latestUs) this.#latestUs = head.arrivedUs;
    if (head.preemptions > 0) return;
    head.scheduledUs = nowUs;
    if (this.#charges) this.queue.charge?.(head, head.promptTokens - head.cachedTokens, 0);
  }

  /**
   * Settles one member of a done step: its tokens are computed, and the last of them yields a new one. Tokens beyond
   * what was known are drafts that proved right: they are new ones too.
   */
  protected advance(request: EngineRequest, tokens: number, nowUs: number, sink: EngineSink): void {
    request.computed += tokens;
    this.live += tokens;
    if (request.computed >= request.sealTokens) this.kv.seal(request);
    const inStep = request.computed - request.known + 1;
    for (let told = 0; told < inStep; told += 1) {
      request.generated += 1;
      if (request.generated === 1) request.firstTokenUs = nowUs;
      request.lastTokenUs = nowUs;
      if (this.#charges) this.queue.charge?.(request, 0, 1);
      sink.onToken(request, nowUs, inStep);
    }
  }
}
