/**
 * Smooths a bursty stream: holds what comes in a burst and lets it out evenly until the next burst is due, never longer
 * than a bound. A pure state machine that is told the time.
 *
 *     received  ████████ · · · · · · · ████████ · · · · · · · ████████
 *     released  ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██ ██
 *
 * Invariants: what comes out is what went in, in order; nothing comes out before it went in, nor later than `delayMaxUs`
 * after it; of a stream that had run dry, something comes out at once. A pause longer than the bound stays a pause: what
 * was not received cannot be shown. The idea is the playout buffer of packet voice (Ramjee et al., INFOCOM 1994), turned
 * round: there each packet has its instant, here only an order, so the pace follows the supply.
 */
import { Fifo } from "../../core/index.ts";
import { Bursts } from "./bursts.ts";
import { Cadence } from "./cadence.ts";

export interface PlayoutPolicy {
  /** Longest that anything is held, in µs. */
  readonly delayMaxUs: number;
  /** Added to the very first output, for a first stock; at most `delayMaxUs`. 0: it comes out at once. */
  readonly firstDelayUs: number;
  /** Least time between two releases, so that a display is not asked for each letter. */
  readonly tickUs: number;
}

export const PLAYOUT: PlayoutPolicy = { delayMaxUs: 300_000, firstDelayUs: 0, tickUs: 16_000 };

/** What the machine has to know of what it holds. */
export interface PlayoutForm<Item> {
  /** In any unit, such as characters; 0 for what is no output and goes with its neighbours. */
  sizeOf(item: Item): number;
  /** @returns about `size` of it and the rest, both above 0; undefined if it cannot be parted. */
  split(item: Item, size: number): readonly [head: Item, rest: Item] | undefined;
}

export interface Released<Item> {
  readonly item: Item;
  readonly receivedUs: number;
}

interface Held<Item> {
  item: Item;
  size: number;
  readonly receivedUs: number;
}

export class Playout<Item> {
  readonly #policy: PlayoutPolicy;
  readonly #form: PlayoutForm<Item>;
  readonly #held = new Fifo<Held<Item>>();
  readonly #cadence = new Cadence();
  readonly #bursts = new Bursts();
  #heldSize = 0;
  /** Units per µs; infinite: all at once. */
  #rate = Number.POSITIVE_INFINITY;
  /** What may go out since the last release, in units, as of `#creditUs`. */
  #credit = 0;
  #creditUs = 0;
  /** Nothing is released before. */
  #notBeforeUs = 0;
  #hasReceived = false;

  constructor(policy: PlayoutPolicy, form: PlayoutForm<Item>) {
    this.#policy = policy;
    this.#form = form;
  }

  /** In units. */
  get heldSize(): number {
    return this.#heldSize;
  }

  /** Pieces, those without output included. */
  get heldItems(): number {
    return this.#held.size;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  /** Something has come; `take` tells what of it is to go out now. */
  push(item: Item, nowUs: number): void {
    const size = this.#form.sizeOf(item);
    const wasDry = this.#heldSize === 0;
    this.#held.push({ item, size, receivedUs: nowUs });
    if (size === 0) return;
    this.#earn(nowUs);
    this.#heldSize += size;
    this.#bursts.add(size, nowUs);
    this.#cadence.arrived(nowUs);
    this.#rate = this.#rateAt(nowUs);
    if (!this.#hasReceived) {
      this.#hasReceived = true;
      this.#notBeforeUs = nowUs + this.#policy.firstDelayUs;
    }
    // The first of it waits for nothing but its turn; credit of a dry time is not saved up for more.
    if (this.#rate === Number.POSITIVE_INFINITY) this.#credit = this.#heldSize;
    else if (wasDry) this.#credit = Math.min(this.#quantum(), size);
  }

  /** When `take` has something at the latest; infinite if nothing is held. */
  get dueUs(): number {
    const first = this.#held.peek();
    if (first === undefined) return Number.POSITIVE_INFINITY;
    if (first.size === 0) return first.receivedUs;
    const lastUs = first.receivedUs + this.#policy.delayMaxUs;
    const missing = this.#wanted(first) - this.#credit;
    const earnedUs = missing <= 0 ? this.#creditUs : this.#creditUs + missing / this.#rate;
    return Math.min(lastUs, Math.max(Math.ceil(earnedUs), this.#notBeforeUs));
  }

  /** @returns what goes out now, in order. */
  take(nowUs: number): readonly Released<Item>[] {
    const out: Released<Item>[] = [];
    this.#earn(nowUs);
    for (let first = this.#held.peek(); first !== undefined; first = this.#held.peek()) {
      const isLast = nowUs >= first.receivedUs + this.#policy.delayMaxUs;
      if (first.size === 0 || isLast) this.#release(out, first, first.size);
      else if (nowUs < this.#notBeforeUs || this.#credit + 1e-6 < this.#wanted(first)) break;
      else this.#release(out, first, Math.max(1, this.#credit + 1e-6));
    }
    if (out.some(({ item }) => this.#form.sizeOf(item) > 0)) {
      this.#notBeforeUs = Math.max(this.#notBeforeUs, nowUs + this.#policy.tickUs);
    }
    return out;
  }

  /** Everything that is held, at once and whatever its time. */
  flush(): readonly Released<Item>[] {
    const out: Released<Item>[] = [];
    for (let first = this.#held.peek(); first !== undefined; first = this.#held.peek()) {
      this.#release(out, first, first.size);
    }
    return out;
  }

  #release(out: Released<Item>[], first: Held<Item>, size: number): void {
    const { item, receivedUs } = first;
    const parts = size < first.size ? this.#form.split(item, size) : undefined;
    const gone = parts === undefined ? first.size : this.#form.sizeOf(parts[0]);
    if (parts === undefined) this.#held.shift();
    else {
      first.item = parts[1];
      first.size -= gone;
    }
    out.push({ item: parts === undefined ? item : parts[0], receivedUs });
    this.#heldSize -= gone;
    this.#bursts.remove(gone);
    // What could not be parted finely enough is paid for by what follows.
    if (gone > 0) this.#credit -= gone;
  }

  /** What has to be in credit before the next piece goes out. */
  #wanted({ size }: Held<Item>): number {
    return Math.min(size, this.#quantum());
  }

  /** What one release brings. */
  #quantum(): number {
    const { tickUs } = this.#policy;
    return Number.isFinite(this.#rate) ? Math.max(1, this.#rate * tickUs) : this.#rate;
  }

  #earn(nowUs: number): void {
    if (nowUs <= this.#creditUs) return;
    // No more than there is: what has run dry owes nothing afterwards.
    const earned = this.#heldSize === 0 ? 0 : (nowUs - this.#creditUs) * this.#rate;
    this.#credit = Math.min(this.#credit + earned, this.#heldSize);
    this.#creditUs = nowUs;
  }

  /** So fast that all is out when the next burst is due, and that nothing is held beyond the bound. */
  #rateAt(nowUs: number): number {
    const { spreadUs } = this.#cadence;
    if (spreadUs === 0) return Number.POSITIVE_INFINITY;
    const least = this.#bursts.leastRate(this.#policy.delayMaxUs, nowUs);
    return Math.max(this.#heldSize / spreadUs, least);
  }
}
