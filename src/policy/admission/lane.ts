/**
 * One lane: who waits in it and in what order, and how many places and tokens it holds.
 *
 *     lane ── class 0 ── tenants by counter ── first come, first served
 *          ── class 1 ── …
 *
 * Each tenant has a line in each class where something of it waits. A class orders the lines of tenants that may go now;
 * the lines of tenants held back by a limit of their own are in no order until they are let in again. The bits of
 * `#classes` tell which classes have a line in order, so the next one is found without a search.
 */

import type { LaneOptions } from "./admission-options.ts";
import type { AdmissionRequest } from "./decision.ts";
import { type Placed, PlacedHeap } from "./placed-heap.ts";
import type { Tenant } from "./tenant.ts";

/** Classes of priority, 0 to 15. */
export const CLASSES = 16;

/** A request in hand, from the offer to its end. */
export interface Entry extends Placed {
  readonly request: AdmissionRequest;
  readonly tenant: Tenant;
  readonly lane: Lane;
  /** Prompt plus predicted answer, and the answer's share of it. */
  readonly tokens: number;
  readonly outputTokens: number;
  /** Where it waits; the one it left while it runs. */
  line: Line;
  before: Entry | undefined;
  after: Entry | undefined;
  isWaiting: boolean;
  readonly offeredUs: number;
  /** When it is given up if it still waits. */
  readonly expiresUs: number;
  /** Class that it came with; it waits in a better one with age. */
  readonly priority: number;
  /** Next time that something is due for it: a better class, or its end. */
  dueUs: number;
  startedUs: number;
  /** In flight when it began, itself included; 0 once its first content has been seen. */
  inFlightAtStart: number;
}

/** What waits of one tenant in one class of one lane: a list, so that any of it can leave in O(1). */
export class Line implements Placed {
  place = -1;
  readonly tenant: Tenant;
  readonly lane: Lane;
  readonly priority: number;
  head: Entry | undefined;
  #tail: Entry | undefined;

  constructor(tenant: Tenant, lane: Lane, priority: number) {
    this.tenant = tenant;
    this.lane = lane;
    this.priority = priority;
  }

  append(entry: Entry): void {
    entry.before = this.#tail;
    entry.after = undefined;
    if (this.#tail === undefined) this.head = entry;
    else this.#tail.after = entry;
    this.#tail = entry;
    entry.line = this;
  }

  prepend(entry: Entry): void {
    entry.before = undefined;
    entry.after = this.head;
    if (this.head === undefined) this.#tail = entry;
    else this.head.before = entry;
    this.head = entry;
    entry.line = this;
  }

  remove(entry: Entry): void {
    if (entry.before === undefined) this.head = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === undefined) this.#tail = entry.before;
    else entry.after.before = entry.before;
    entry.before = undefined;
    entry.after = undefined;
  }
}

/** Smaller counter first; of equal ones, whose head has waited longer, and then by number, so that runs repeat. */
function before(a: Line, b: Line): boolean {
  if (a.tenant.served !== b.tenant.served) return a.tenant.served < b.tenant.served;
  const left = a.head!;
  const right = b.head!;
  if (left.offeredUs !== right.offeredUs) return left.offeredUs < right.offeredUs;
  return left.request.id < right.request.id;
}

/** Weight of a new service time in the running mean. */
const SERVICE_WEIGHT = 0.05;

export class Lane {
  readonly options: LaneOptions;
  readonly index: number;
  readonly #heaps = Array.from({ length: CLASSES }, () => new PlacedHeap<Line>(before));
  /** Bit c is set if class c has a line in order. */
  #classes = 0;
  /** Places that are this lane's alone. */
  guaranteed = 1;
  queued = 0;
  /** The same by class. */
  readonly queuedOf = new Uint32Array(CLASSES);
  tenantsWaiting = 0;
  inFlight = 0;
  tokensInFlight = 0;
  /** Running mean from start to end, µs; undefined until the first has ended. */
  serviceUs: number | undefined;

  constructor(options: LaneOptions, index: number) {
    this.options = options;
    this.index = index;
  }

  get name(): string {
    return this.options.name;
  }

  /** The line whose head goes next. */
  next(): Line | undefined {
    if (this.#classes === 0) return undefined;
    // The lowest bit set: x & −x has only it, and clz32 counts from the other end.
    return this.#heaps[31 - Math.clz32(this.#classes & -this.#classes)]!.peek();
  }

  /** Smallest counter of the tenants in order; undefined without any. */
  leastServed(): number | undefined {
    let least: number | undefined;
    for (let left = this.#classes; left !== 0; left &= left - 1) {
      const { served } = this.#heaps[31 - Math.clz32(left & -left)]!.peek()!.tenant;
      if (least === undefined || served < least) least = served;
    }
    return least;
  }

  /** The line takes part, or its order has changed. */
  order(line: Line): void {
    const heap = this.#heaps[line.priority]!;
    if (line.place === -1) heap.push(line);
    else heap.update(line);
    this.#classes |= 1 << line.priority;
  }

  /** The line takes part no more. */
  leave(line: Line): void {
    const heap = this.#heaps[line.priority]!;
    heap.remove(line);
    if (heap.size === 0) this.#classes &= ~(1 << line.priority);
  }

  takes(tokens: number): boolean {
    const { tokensInFlightMax } = this.options;
    return this.inFlight === 0 || this.tokensInFlight + tokens <= tokensInFlightMax;
  }

  served(us: number): void {
    const mean = this.serviceUs;
    this.serviceUs = mean === undefined ? us : mean + (us - mean) * SERVICE_WEIGHT;
  }
}
