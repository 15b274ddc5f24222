/**
 * One deadline for a turn, split as a tree. It is an instant, not a duration, so that nothing is added up on the way;
 * model calls get it as a header, tools as a signal and an instant, sub-agents as a child.
 *
 *     turn ──── 10 s ────────────────────────┐
 *       ├─ retrieval ── within 2 s ──┐       │
 *       └─ model call ── reserve 500 ms ──┐  │   the rest stays for what comes after it
 *
 * Invariants: a child never ends after its parent; when a parent ends, however that came about, its children end in the
 * same instant; a deadline that has ended holds no timer and no listener.
 */
import type { Cancel, Clock } from "../clock/index.ts";
import { assert, formatUs, ManxError, US_PER_MS } from "../core/index.ts";
import { spanUs, type TimeSpan } from "./time-span.ts";

/** What the gateway reads: whole milliseconds that the call has, from its arrival there. */
export const DEADLINE_HEADER = "x-manx-deadline-ms";
/** The gateway takes no longer ones. */
const HEADER_MS_MAX = 24 * 3_600 * 1_000;

export interface ChildOptions {
  /** At most this long from now. */
  readonly within?: TimeSpan;
  /** Ends this long before the parent, which needs the time for something else. */
  readonly reserve?: TimeSpan;
  /** Of what the parent has left, above 0 and up to 1. */
  readonly share?: number;
  /** Of whoever may call it off besides. */
  readonly signal?: AbortSignal;
}

export class Deadline {
  readonly clock: Clock;
  /** On the clock; infinite if there is none. */
  readonly atUs: number;
  readonly #controller = new AbortController();
  readonly #children = new Set<Deadline>();
  readonly #parent: Deadline | undefined;
  #cancelTimer: Cancel | undefined;
  #letGo: Cancel | undefined;
  #isOver = false;

  private constructor(clock: Clock, atUs: number, parent?: Deadline) {
    this.clock = clock;
    this.atUs = atUs;
    this.#parent = parent;
    if (parent !== undefined) parent.#children.add(this);
    if (parent?.isOver === true) this.#end(parent.signal.reason);
    // What ends with its parent needs no timer of its own.
    else if (Number.isFinite(atUs) && atUs !== parent?.atUs) this.#arm();
  }

  /**
   * @param within infinite for none.
   * @param signal of whoever may call it off, such as a request whose client leaves.
   */
  static within(clock: Clock, within: TimeSpan, signal?: AbortSignal): Deadline {
    const isNone = within === Number.POSITIVE_INFINITY;
    const us = isNone ? Number.POSITIVE_INFINITY : spanUs(within, "deadline");
    return Deadline.at(clock, clock.nowUs() + us, signal);
  }

  /** @param atUs on the clock; infinite for none. */
  static at(clock: Clock, atUs: number, signal?: AbortSignal): Deadline {
    assert(!Number.isNaN(atUs), "a deadline is an instant");
    const deadline = new Deadline(clock, atUs);
    deadline.#follow(signal);
    return deadline;
  }

  /** A deadline from an option: a child of one that somebody else has set, or a new one. */
  static from(
    deadline: TimeSpan | Deadline,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
  ): Deadline {
    if (!(deadline instanceof Deadline)) return Deadline.within(clock, deadline, signal);
    return deadline.child(signal === undefined ? {} : { signal });
  }

  /** Aborts at the instant, with a `MANX_DEADLINE`, or when it is called off. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** µs, never negative. */
  get leftUs(): number {
    return this.#isOver ? 0 : Math.max(0, this.atUs - this.clock.nowUs());
  }

  /** The time is up, it was called off, or it was closed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Its instant has come, as opposed to being called off before. */
  get isPast(): boolean {
    return this.clock.nowUs() >= this.atUs;
  }

  /** @throws MANX_DURATION, MANX_TOOL_INVALID for a share that is none. */
  child(options: ChildOptions = {}): Deadline {
    const nowUs = this.clock.nowUs();
    let atUs = this.atUs;
    if (options.reserve !== undefined) atUs -= spanUs(options.reserve, "reserve");
    if (options.within !== undefined) {
      atUs = Math.min(atUs, nowUs + spanUs(options.within, "within"));
    }
    if (options.share !== undefined) {
      const { share } = options;
      if (!(share > 0 && share <= 1)) {
        throw new ManxError("MANX_TOOL_INVALID", {
          what: "a share of a deadline that is none",
          expected: "above 0 and up to 1",
          got: String(share),
        });
      }
      if (Number.isFinite(this.atUs)) {
        atUs = Math.min(atUs, nowUs + Math.floor(this.leftUs * share));
      }
    }
    const child = new Deadline(this.clock, atUs, this);
    child.#follow(options.signal);
    return child;
  }

  /** @returns whether something that takes `neededUs` would still end in time. */
  allows(neededUs: number): boolean {
    return !this.#isOver && this.leftUs > 0 && this.leftUs >= neededUs;
  }

  /**
   * Headers for a model call through the gateway, made when it is sent: none if there is no deadline.
   * @param least the shortest time in which the call could be of use.
   * @throws MANX_DEADLINE if less than that is left: a try that cannot finish is not begun.
   */
  headers(least: TimeSpan = US_PER_MS): Readonly<Record<string, string>> {
    const leastUs = Math.max(spanUs(least, "least"), US_PER_MS);
    if (!this.allows(leastUs)) {
      throw new ManxError("MANX_DEADLINE", {
        what: "the call cannot finish before its deadline, so it was not begun",
        expected: `at least ${formatUs(leastUs)}`,
        got: `${formatUs(this.leftUs)} left`,
      });
    }
    if (!Number.isFinite(this.atUs)) return {};
    const leftMs = Math.min(Math.floor(this.leftUs / US_PER_MS), HEADER_MS_MAX);
    return { [DEADLINE_HEADER]: String(leftMs) };
  }

  /** Ends it and all below it now. */
  cancel(reason: unknown = new DOMException("called off", "AbortError")): void {
    this.#end(reason);
  }

  /** What it was for is done: it holds nothing any more, and what still runs below it is called off. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
    for (const child of [...this.#children]) child.cancel(new DOMException("its parent has ended"));
  }

  #follow(signal: AbortSignal | undefined): void {
    if (signal === undefined || this.#isOver) return;
    if (signal.aborted) {
      this.cancel(signal.reason);
      return;
    }
    const onAbort = (): void => this.cancel(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#letGo = () => signal.removeEventListener("abort", onAbort);
  }

  #arm(): void {
    if (this.isPast) {
      this.#end(timeIsUp());
      return;
    }
    this.#cancelTimer = this.clock.at(this.atUs, () => this.#end(timeIsUp()));
  }

  #end(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
    this.#controller.abort(reason);
    for (const child of [...this.#children]) child.#end(reason);
  }

  #release(): void {
    this.#cancelTimer?.();
    this.#letGo?.();
    if (this.#parent !== undefined) this.#parent.#children.delete(this);
  }
}

function timeIsUp(): ManxError {
  return new ManxError("MANX_DEADLINE");
}
