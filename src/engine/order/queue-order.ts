/**
 * Who is let in next. An order is a plain object that holds what waits and names the next one; it decides nothing about
 * memory or budgets, so every order works under every scheduler.
 *
 * Invariant of all orders: who was put in comes out once, by `shift` or by `remove`.
 */
import { Fifo } from "../../core/index.ts";
import type { EngineRequest } from "../request.ts";

export const ORDER_NAMES = ["first-come", "priority", "shortest-uncached", "fair-share"] as const;
export type OrderName = (typeof ORDER_NAMES)[number];

export interface QueueOrder {
  readonly name: OrderName;
  readonly size: number;
  /** A request that has just come. */
  push(request: EngineRequest): void;
  /** One that was taken out and has to wait again: it has lost its memory, not its place. */
  putBack(request: EngineRequest): void;
  /** Whose turn it is at `nowUs`; undefined if nobody waits. */
  peek(nowUs: number): EngineRequest | undefined;
  /** Takes out the one that `peek` has just named. */
  shift(): EngineRequest | undefined;
  /** Takes out an aborted one; O(n). Answers whether it was there. */
  remove(request: EngineRequest): boolean;
  [Symbol.iterator](): Iterator<EngineRequest>;
  /** Told, if it wants to know, what has been spent on a request: prompt tokens as it is let in, then each output token. */
  charge?(request: EngineRequest, promptTokens: number, outputTokens: number): void;
  /**
   * For an order that goes on after admission: below zero if `a` comes before `b`. Running requests are then served in this
   * order, and the last of them is thrown out first. Without it both go by admission.
   */
  compare?(a: EngineRequest, b: EngineRequest): number;
}

/** First come, first served; who was thrown out goes back to the head. */
export class FirstCome implements QueueOrder {
  readonly name = "first-come";
  readonly #queue = new Fifo<EngineRequest>();

  get size(): number {
    return this.#queue.size;
  }

  push(request: EngineRequest): void {
    this.#queue.push(request);
  }

  putBack(request: EngineRequest): void {
    this.#queue.unshift(request);
  }

  peek(): EngineRequest | undefined {
    return this.#queue.peek();
  }

  shift(): EngineRequest | undefined {
    return this.#queue.shift();
  }

  remove(request: EngineRequest): boolean {
    return this.#queue.remove(request);
  }

  [Symbol.iterator](): Iterator<EngineRequest> {
    return this.#queue[Symbol.iterator]();
  }
}
