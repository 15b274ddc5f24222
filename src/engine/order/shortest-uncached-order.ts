/**
 * Whose prompt has the fewest tokens left to compute, what the prefix cache holds not counted, goes first (TensorRT-LLM's
 * `shortest_uncached_first`). It spares short prompts the wait behind long ones, at the cost of the long.
 *
 * Two bounds. Starvation: who has waited `starvationUs` goes before all who came later, whatever their length. Work: only
 * the oldest LOOK_MAX are compared; who stands behind them waits until one of them has left.
 */
import { assert, Fifo } from "../../core/index.ts";
import type { KvMemory } from "../kv-memory.ts";
import type { EngineRequest } from "../request.ts";
import type { QueueOrder } from "./queue-order.ts";

/** SGLang gives up comparing cache hits at the same length of queue. */
const LOOK_MAX = 128;

export class ShortestUncachedOrder implements QueueOrder {
  readonly name = "shortest-uncached";
  readonly #kv: KvMemory;
  readonly #starvationUs: number;
  /** The oldest, by arrival, and the uncached tokens of each as of `#measuredUs`. */
  readonly #near: EngineRequest[] = [];
  readonly #uncached: number[] = [];
  readonly #far = new Fifo<EngineRequest>();
  #measuredUs = Number.NaN;
  #next = 0;
  #turns = 0;

  /** @param starvationUs µs of waiting after which age counts more than length. */
  constructor(kv: KvMemory, starvationUs: number) {
    assert(starvationUs >= 0, "a bound on starvation is a time from 0");
    this.#kv = kv;
    this.#starvationUs = starvationUs;
  }

  get size(): number {
    return this.#near.length + this.#far.size;
  }

  push(request: EngineRequest): void {
    this.#turns += 1;
    request.turn = this.#turns;
    if (this.#near.length < LOOK_MAX && this.#far.size === 0) this.#insert(request);
    else this.#far.push(request);
  }

  /** May lengthen the part that is compared, by no more than can run at a time. */
  putBack(request: EngineRequest): void {
    this.#insert(request);
  }

  peek(nowUs: number): EngineRequest | undefined {
    const oldest = this.#near[0];
    if (oldest === undefined) return undefined;
    this.#next = 0;
    if (nowUs - oldest.arrivedUs >= this.#starvationUs) return oldest;
    this.#measure(nowUs);
    for (let i = 1; i < this.#uncached.length; i += 1) {
      if (this.#uncached[i]! < this.#uncached[this.#next]!) this.#next = i;
    }
    return this.#near[this.#next];
  }

  shift(): EngineRequest | undefined {
    const request = this.#near[this.#next];
    if (request !== undefined) this.#drop(this.#next);
    return request;
  }

  remove(request: EngineRequest): boolean {
    const at = this.#near.indexOf(request);
    if (at < 0) return this.#far.remove(request);
    this.#drop(at);
    return true;
  }

  *[Symbol.iterator](): Iterator<EngineRequest> {
    yield* this.#near;
    yield* this.#far;
  }

  /** Once a step: within one nothing new can be found, and what is lost shows when the request is matched again. */
  #measure(nowUs: number): void {
    if (this.#measuredUs === nowUs) return;
    this.#measuredUs = nowUs;
    for (const [i, request] of this.#near.entries()) {
      this.#uncached[i] = request.known - this.#kv.match(request);
    }
  }

  #insert(request: EngineRequest): void {
    let at = this.#near.length;
    while (at > 0 && this.#near[at - 1]!.turn > request.turn) at -= 1;
    this.#near.splice(at, 0, request);
    this.#uncached.splice(at, 0, 0);
    this.#measuredUs = Number.NaN;
  }

  #drop(at: number): void {
    this.#near.splice(at, 1);
    this.#uncached.splice(at, 1);
    if (this.#near.length < LOOK_MAX) {
      const next = this.#far.shift();
      if (next !== undefined) this.#insert(next);
    }
  }
}
