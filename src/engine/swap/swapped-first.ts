/**
 * Who has a copy in host memory comes back before anybody new is let in, the last one thrown out first, whatever the order
 * of the others: that memory is small, and those in it have had their turn. An order that goes on after admission
 * (`compare`) stays as it is, since in it somebody new may be the better one.
 */
import { Fifo } from "../../core/index.ts";
import type { QueueOrder } from "../order/queue-order.ts";
import type { EngineRequest } from "../request.ts";

export function swappedFirst(order: QueueOrder): QueueOrder {
  // First come, first served puts everybody that was thrown out at its head anyway.
  if (order.compare !== undefined || order.name === "first-come") return order;
  return new SwappedFirst(order);
}

class SwappedFirst implements QueueOrder {
  readonly name: QueueOrder["name"];
  readonly charge?: NonNullable<QueueOrder["charge"]>;
  readonly #order: QueueOrder;
  readonly #swapped = new Fifo<EngineRequest>();

  constructor(order: QueueOrder) {
    this.name = order.name;
    this.#order = order;
    if (order.charge !== undefined) this.charge = order.charge.bind(order);
  }

  get size(): number {
    return this.#swapped.size + this.#order.size;
  }

  push(request: EngineRequest): void {
    this.#order.push(request);
  }

  putBack(request: EngineRequest): void {
    if (request.hostTokens > 0) this.#swapped.unshift(request);
    else this.#order.putBack(request);
  }

  peek(nowUs: number): EngineRequest | undefined {
    return this.#swapped.peek() ?? this.#order.peek(nowUs);
  }

  shift(): EngineRequest | undefined {
    return this.#swapped.shift() ?? this.#order.shift();
  }

  remove(request: EngineRequest): boolean {
    return this.#swapped.remove(request) || this.#order.remove(request);
  }

  *[Symbol.iterator](): Iterator<EngineRequest> {
    yield* this.#swapped;
    yield* this.#order;
  }
}
