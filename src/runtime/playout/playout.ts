/**
 * An even stream for the eyes: passes on text or events as `Playout` of `policy` lets them go. For display alone: tools,
 * guards and logs take their events before it.
 *
 *     for await (const text of playout(answer.text(), { delayMax: "300ms" })) show(text);
 *
 * Invariants: what comes out is what went in, in order; nothing earlier than it came, nor later than the bound, as far as
 * its reader asks for it; its end, or its error, comes behind the last that was received. Bound: `heldCharsMax`, beyond
 * which the source is not read.
 */
import { type Clock, DueTimer, realClock } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import {
  PLAYOUT,
  Playout,
  type PlayoutForm,
  type PlayoutPolicy,
} from "../../policy/playout/index.ts";
import type { StreamEvent } from "../../stream/index.ts";
import { Outlet } from "../outlet.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import { playoutForm } from "./playout-form.ts";
import { type PlayoutReport, PlayoutWatch } from "./playout-report.ts";

export interface PlayoutOptions {
  /** Longest that anything is held. Default 300 ms. */
  readonly delayMax?: TimeSpan;
  /** Of the very first output, for a first stock. Default 0: TTFVT stays what it is. */
  readonly firstDelay?: TimeSpan;
  /** Least time between two releases. Default 16 ms, a frame of a screen. */
  readonly tick?: TimeSpan;
  /** Characters, or pieces, held or released and not asked for, from which on the source is not read. Default 64 Ki. */
  readonly heldCharsMax?: number;
  /** Ends it; what is held is lost. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/**
 * @returns to be iterated once.
 * @throws MANX_DURATION, MANX_RAIL_INVALID
 */
export function playout<Item extends string | StreamEvent>(
  source: AsyncIterable<Item>,
  options: PlayoutOptions = {},
): PlayedOut<Item> {
  return new PlayedOut(source, options);
}

interface Ended {
  readonly failure?: { readonly error: unknown };
}

const HELD_CHARS_MAX = 64 * 1024;

export class PlayedOut<Item extends string | StreamEvent> implements AsyncIterable<Item> {
  readonly #source: AsyncIterable<Item>;
  readonly #clock: Clock;
  readonly #form: PlayoutForm<Item>;
  readonly #machine: Playout<Item>;
  readonly #heldCharsMax: number;
  readonly #timer: DueTimer;
  readonly #outlet: Outlet<Item>;
  readonly #watch = new PlayoutWatch();
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#stop({ error: this.#signal?.reason });
  #reads: AsyncIterator<Item> | undefined;
  #isReading = false;
  /** Of the source; it is told behind what is held. */
  #ended: Ended | undefined;
  #isOver = false;

  constructor(source: AsyncIterable<Item>, options: PlayoutOptions) {
    const { clock = realClock, heldCharsMax = HELD_CHARS_MAX, signal } = options;
    this.#source = source;
    this.#clock = clock;
    this.#form = playoutForm as PlayoutForm<Item>;
    this.#machine = new Playout(policyOf(options), this.#form);
    if (!(heldCharsMax > 0)) {
      throw new ManxError("MANX_RAIL_INVALID", {
        where: "heldCharsMax",
        expected: "above 0",
        got: String(heldCharsMax),
      });
    }
    this.#heldCharsMax = heldCharsMax;
    this.#timer = new DueTimer(clock, () => this.#take());
    this.#outlet = new Outlet({
      sizeMax: heldCharsMax,
      onLeave: () => this.#stop(),
      onRoom: () => this.#read(),
    });
    this.#signal = signal;
  }

  /** What it has added, and what stalls a reader has seen without and with it; meaningful at any time. */
  report(): PlayoutReport {
    return this.#watch.report();
  }

  [Symbol.asyncIterator](): AsyncIterator<Item> {
    if (this.#reads === undefined) {
      this.#reads = this.#source[Symbol.asyncIterator]();
      this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
      if (this.#signal?.aborted === true) this.#onAbort();
      else this.#read();
    }
    return this.#outlet;
  }

  #read(): void {
    if (this.#isReading || this.#isOver || this.#ended !== undefined) return;
    const { heldSize, heldItems } = this.#machine;
    if (this.#outlet.isFull || Math.max(heldSize, heldItems) >= this.#heldCharsMax) return;
    this.#isReading = true;
    Promise.resolve()
      .then(() => this.#reads!.next())
      .then(
        ({ done, value }) => {
          this.#isReading = false;
          if (done === true) this.#end({});
          else this.#push(value);
        },
        (error: unknown) => {
          this.#isReading = false;
          this.#end({ failure: { error } });
        },
      );
  }

  #push(item: Item): void {
    if (this.#isOver) return;
    const nowUs = this.#clock.nowUs();
    if (this.#form.sizeOf(item) > 0) this.#watch.received(nowUs);
    this.#machine.push(item, nowUs);
    this.#take();
    this.#read();
  }

  #end(ended: Ended): void {
    this.#ended = ended;
    this.#take();
  }

  #take(): void {
    if (this.#isOver) return;
    const nowUs = this.#clock.nowUs();
    const released = this.#machine.take(nowUs);
    for (const { item, receivedUs } of released) {
      const size = this.#form.sizeOf(item);
      if (size > 0) this.#watch.shown(nowUs, nowUs - receivedUs);
      this.#outlet.put(item, Math.max(1, size));
    }
    if (this.#ended !== undefined && this.#machine.isEmpty) {
      this.#close();
      this.#outlet.close(this.#ended.failure);
      return;
    }
    if (Number.isFinite(this.#machine.dueUs)) this.#timer.arm(this.#machine.dueUs);
    if (released.length > 0) this.#read();
  }

  /** Nobody reads it any more, or its signal says so: its source is left at once. */
  #stop(failure?: { readonly error: unknown }): void {
    if (this.#isOver) return;
    const hasEnded = this.#ended !== undefined;
    this.#close();
    this.#outlet.close(failure);
    if (hasEnded) return;
    Promise.resolve()
      .then(() => this.#reads?.return?.())
      .catch(ignore);
  }

  #close(): void {
    this.#isOver = true;
    this.#timer.stop();
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}

function policyOf(options: PlayoutOptions): PlayoutPolicy {
  const us = (key: "delayMax" | "firstDelay" | "tick", otherwise: number): number =>
    options[key] === undefined ? otherwise : spanUs(options[key], key);
  const policy = {
    delayMaxUs: us("delayMax", PLAYOUT.delayMaxUs),
    firstDelayUs: us("firstDelay", PLAYOUT.firstDelayUs),
    tickUs: us("tick", PLAYOUT.tickUs),
  };
  if (policy.firstDelayUs > policy.delayMaxUs) {
    throw new ManxError("MANX_RAIL_INVALID", {
      what: "a first delay beyond the longest one",
      where: "firstDelay",
      expected: `at most ${policy.delayMaxUs} µs`,
      got: `${policy.firstDelayUs} µs`,
    });
  }
  return policy;
}

function ignore(): void {}
