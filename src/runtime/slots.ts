/**
 * Bounded concurrency per resource and over all. Who waits is served in order of arrival, past those whose resource is
 * full; a freed place is taken in the same instant. Give one `Slots` to several turns and the bounds hold over all of them.
 * A place can also be lent to work that nobody has asked for yet: only if it is free, and until somebody waits for it.
 */
import type { Cancel } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";

export interface SlotLimits {
  /** Runs at once, over all resources. Default 64. */
  readonly concurrency?: number;
  /** Runs at once per resource; one that is not named has no bound of its own. */
  readonly perResource?: Readonly<Record<string, number>>;
}

interface Waiter {
  readonly resource: string;
  readonly go: () => void;
  isGone: boolean;
}

/** A place that has to be given back when it is asked for. */
export interface Loan {
  /** It is an ordinary place from now on, until `give`. */
  keep(): void;
}

interface OpenLoan {
  readonly resource: string;
  readonly evict: () => void;
}

const CONCURRENCY = 64;

export class Slots {
  readonly #concurrency: number;
  readonly #perResource: ReadonlyMap<string, number>;
  readonly #usedBy = new Map<string, number>();
  #used = 0;
  #waiters: Waiter[] = [];
  readonly #loans = new Set<OpenLoan>();
  #isServing = false;

  /** @throws MANX_TOOL_INVALID for a limit that is no whole number from 1: with none, nothing would ever run. */
  constructor(limits: SlotLimits = {}) {
    this.#concurrency = checked("concurrency", limits.concurrency ?? CONCURRENCY);
    const own = Object.entries(limits.perResource ?? {});
    this.#perResource = new Map(own.map(([name, limit]) => [name, checked(name, limit)]));
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiters.filter(({ isGone }) => !isGone).length;
  }

  /**
   * @param go called once, before this returns if there is a place; the place is held until `give`.
   * @returns takes the wish back while it waits.
   */
  take(resource: string, go: () => void): Cancel {
    if (this.#fits(resource)) {
      this.#hold(resource);
      go();
      return () => {};
    }
    const waiter: Waiter = { resource, go, isGone: false };
    this.#waiters.push(waiter);
    this.#callIn(resource);
    return () => {
      waiter.isGone = true;
    };
  }

  /**
   * A place that is free now; it is held until `give`, as any other.
   * @param evict called once if somebody waits for it: whoever holds it stops, and gives it back when that is done.
   * @returns undefined if there is none: who is not asked for does not wait.
   */
  lend(resource: string, evict: () => void): Loan | undefined {
    if (!this.#fits(resource)) return undefined;
    this.#hold(resource);
    const loan: OpenLoan = { resource, evict };
    this.#loans.add(loan);
    return { keep: () => void this.#loans.delete(loan) };
  }

  /** Share of the places that are taken, of this resource or of all, whichever is more; 0 to 1. */
  pressure(resource: string): number {
    const own = this.#perResource.get(resource);
    const all = this.#used / this.#concurrency;
    return own === undefined ? all : Math.max(all, (this.#usedBy.get(resource) ?? 0) / own);
  }

  give(resource: string): void {
    this.#used -= 1;
    this.#usedBy.set(resource, (this.#usedBy.get(resource) ?? 1) - 1);
    this.#serve();
  }

  /** One waiter, one loan: the latest that makes room. */
  #callIn(resource: string): void {
    const own = this.#perResource.get(resource);
    const isOwnFull = own !== undefined && (this.#usedBy.get(resource) ?? 0) >= own;
    const loan = [...this.#loans].findLast((one) => !isOwnFull || one.resource === resource);
    if (loan === undefined) return;
    this.#loans.delete(loan);
    loan.evict();
  }

  #serve(): void {
    // What is started may give its place back at once: the loop below sees that, and does not have to be begun anew.
    if (this.#isServing) return;
    this.#isServing = true;
    for (let at = 0; at < this.#waiters.length && this.#used < this.#concurrency; ) {
      const waiter = this.#waiters[at]!;
      if (!waiter.isGone && !this.#fits(waiter.resource)) {
        at += 1;
        continue;
      }
      this.#waiters.splice(at, 1);
      if (waiter.isGone) continue;
      this.#hold(waiter.resource);
      waiter.go();
      at = 0;
    }
    this.#isServing = false;
  }

  #hold(resource: string): void {
    this.#used += 1;
    this.#usedBy.set(resource, (this.#usedBy.get(resource) ?? 0) + 1);
  }

  #fits(resource: string): boolean {
    const limit = this.#perResource.get(resource) ?? this.#concurrency;
    return this.#used < this.#concurrency && (this.#usedBy.get(resource) ?? 0) < limit;
  }
}

function checked(where: string, limit: number): number {
  if (Number.isInteger(limit) && limit >= 1) return limit;
  throw new ManxError("MANX_TOOL_INVALID", {
    what: "a limit with which nothing could ever run",
    where,
    expected: "a whole number from 1",
    got: String(limit),
  });
}
