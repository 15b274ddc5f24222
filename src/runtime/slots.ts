/**
 * Bounded concurrency per resource and over all. Who waits is served in order of arrival, past those whose resource is
 * full; a freed place is taken in the same instant. Give one `Slots` to several turns and the bounds hold over all of them.
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

const CONCURRENCY = 64;

export class Slots {
  readonly #concurrency: number;
  readonly #perResource: ReadonlyMap<string, number>;
  readonly #usedBy = new Map<string, number>();
  #used = 0;
  #waiters: Waiter[] = [];
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
    return () => {
      waiter.isGone = true;
    };
  }

  give(resource: string): void {
    this.#used -= 1;
    this.#usedBy.set(resource, (this.#usedBy.get(resource) ?? 1) - 1);
    this.#serve();
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
