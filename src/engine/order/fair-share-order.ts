/**
 * A fair share for each tenant by a virtual token counter (VTC: Sheng et al., "Fairness in serving large language models",
 * OSDI 2024). A tenant's counter grows with the tokens served to it; the waiting tenant with the smallest one is next, and
 * its own requests go first come, first served. Who returns from idling is lifted to the smallest counter of those that
 * wait, so that nobody saves up a claim while away.
 *
 * Bound of the paper, for two tenants that always have something waiting: their counters differ by at most
 * 2 · max(longest prompt, outputWeight · tokens of KV memory).
 *
 * Prompt tokens from the prefix cache are not counted: nothing was spent on them. Nor are those that are computed again
 * after a pre-emption, which the tenant has not caused.
 */
import { assert, Fifo } from "../../core/index.ts";
import type { EngineRequest } from "../request.ts";
import type { QueueOrder } from "./queue-order.ts";

interface Tenant {
  served: number;
  readonly queue: Fifo<EngineRequest>;
}

/**
 * Tenants remembered while nothing of theirs waits. Beyond it, those whose counter a return would lift anyway are forgotten,
 * which changes nothing, and then the longest known.
 */
const IDLE_MAX = 4_096;

export class FairShareOrder implements QueueOrder {
  readonly name = "fair-share";
  readonly #outputWeight: number;
  readonly #tenants = new Map<string, Tenant>();
  readonly #waiting = new Set<Tenant>();
  /** What a newcomer starts from: the smallest counter of those that wait, or of the last that did. Never falls. */
  #floor = 0;
  #lastToLeave: Tenant | undefined;
  #size = 0;

  /** @param outputWeight what an output token counts; a prompt token counts 1. */
  constructor(outputWeight: number) {
    assert(outputWeight > 0, "an output token has a weight");
    this.#outputWeight = outputWeight;
  }

  get size(): number {
    return this.#size;
  }

  /** The tenant's counter: weighted tokens, those lifted over included. 0 for one that is not known. */
  served(tenant: string): number {
    return this.#tenants.get(tenant)?.served ?? 0;
  }

  push(request: EngineRequest): void {
    const tenant = this.#tenantOf(request.tenant);
    if (!this.#waiting.has(tenant)) this.#lift(tenant);
    this.#enter(tenant).push(request);
  }

  /** Its tenant has not been idle, so it is not lifted. */
  putBack(request: EngineRequest): void {
    this.#enter(this.#tenantOf(request.tenant)).unshift(request);
  }

  peek(): EngineRequest | undefined {
    return this.#next()?.queue.peek();
  }

  shift(): EngineRequest | undefined {
    const tenant = this.#next();
    if (tenant === undefined) return undefined;
    const request = tenant.queue.shift();
    this.#left(tenant);
    return request;
  }

  remove(request: EngineRequest): boolean {
    const tenant = this.#tenants.get(request.tenant);
    if (tenant === undefined || !tenant.queue.remove(request)) return false;
    this.#left(tenant);
    return true;
  }

  *[Symbol.iterator](): Iterator<EngineRequest> {
    for (const { queue } of this.#waiting) yield* queue;
  }

  charge(request: EngineRequest, promptTokens: number, outputTokens: number): void {
    this.#tenantOf(request.tenant).served += promptTokens + outputTokens * this.#outputWeight;
  }

  #lift(tenant: Tenant): void {
    const measure = this.#next() ?? this.#lastToLeave;
    if (measure !== undefined) this.#floor = Math.max(this.#floor, measure.served);
    tenant.served = Math.max(tenant.served, this.#floor);
  }

  #enter(tenant: Tenant): Fifo<EngineRequest> {
    this.#size += 1;
    this.#waiting.add(tenant);
    return tenant.queue;
  }

  #left(tenant: Tenant): void {
    this.#size -= 1;
    if (tenant.queue.size > 0) return;
    this.#waiting.delete(tenant);
    this.#lastToLeave = tenant;
  }

  /** The smallest counter of those that wait; of equal ones, who began to wait first. */
  #next(): Tenant | undefined {
    let least: Tenant | undefined;
    for (const tenant of this.#waiting) {
      if (least === undefined || tenant.served < least.served) least = tenant;
    }
    return least;
  }

  #tenantOf(name: string): Tenant {
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      if (this.#tenants.size - this.#waiting.size >= IDLE_MAX) this.#forget();
      tenant = { served: this.#floor, queue: new Fifo<EngineRequest>() };
      this.#tenants.set(name, tenant);
    }
    return tenant;
  }

  /** Makes room by a quarter, so that the search is paid for by many newcomers. */
  #forget(): void {
    const keep = (IDLE_MAX / 4) * 3;
    for (const lifted of [true, false]) {
      for (const [name, tenant] of this.#tenants) {
        if (this.#tenants.size - this.#waiting.size <= keep) return;
        if (this.#waiting.has(tenant) || (lifted && tenant.served > this.#floor)) continue;
        this.#tenants.delete(name);
      }
    }
  }
}
