/**
 * By class, the lower the sooner, as vLLM counts `priority`. With ageing, a wait of `ageingUs` is worth one class:
 *
 *     rank = arrivedUs + priority · ageingUs          the smallest first
 *
 * Everybody who waits ages alike, so the order of two requests never changes and a heap of fixed ranks is enough. Bound: a
 * request of class p is overtaken by one of class q only if that came less than (p − q) · ageingUs after it.
 * Without ageing the order is strict: an endless stream of a better class lets the others wait for ever, which
 * `Scheduler.overtaken` shows.
 */
import { assert, EventHeap, type HeapEntry } from "../../core/index.ts";
import type { EngineRequest } from "../request.ts";
import type { QueueOrder } from "./queue-order.ts";

interface Entry extends HeapEntry {
  readonly request: EngineRequest;
}

/** Entries of requests that have left the heap's set: it is rebuilt once they are this many and the majority. */
const STALE_MIN = 64;

export class PriorityOrder implements QueueOrder {
  readonly name = "priority";
  readonly #ageingUs: number;
  readonly #waiting = new Set<EngineRequest>();
  #heap = new EventHeap<Entry>();
  #turns = 0;

  /** @param ageingUs µs of waiting that are worth one class; 0 for strict priority. */
  constructor(ageingUs: number) {
    assert(ageingUs >= 0, "ageing is a time from 0");
    this.#ageingUs = ageingUs;
  }

  get size(): number {
    return this.#waiting.size;
  }

  push(request: EngineRequest): void {
    this.#turns += 1;
    request.turn = this.#turns;
    this.putBack(request);
  }

  putBack(request: EngineRequest): void {
    this.#waiting.add(request);
    this.#heap.push({ request, atUs: this.#rank(request), sequence: request.turn });
  }

  peek(): EngineRequest | undefined {
    for (;;) {
      const first = this.#heap.peek();
      if (first === undefined || this.#waiting.has(first.request)) return first?.request;
      this.#heap.pop();
    }
  }

  shift(): EngineRequest | undefined {
    const first = this.peek();
    if (first === undefined) return undefined;
    this.#heap.pop();
    this.#waiting.delete(first);
    return first;
  }

  /** The entry stays in the heap until it comes up, or until such entries are the majority. */
  remove(request: EngineRequest): boolean {
    if (!this.#waiting.delete(request)) return false;
    if (this.#heap.size > 2 * this.#waiting.size + STALE_MIN) {
      this.#heap = new EventHeap<Entry>();
      for (const left of this.#waiting) {
        this.#heap.push({ request: left, atUs: this.#rank(left), sequence: left.turn });
      }
    }
    return true;
  }

  [Symbol.iterator](): Iterator<EngineRequest> {
    return this.#waiting[Symbol.iterator]();
  }

  compare(a: EngineRequest, b: EngineRequest): number {
    return this.#rank(a) - this.#rank(b) || a.turn - b.turn;
  }

  #rank(request: EngineRequest): number {
    if (this.#ageingUs === 0) return request.priority;
    return request.arrivedUs + request.priority * this.#ageingUs;
  }
}
