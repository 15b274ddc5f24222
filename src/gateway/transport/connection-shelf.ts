/**
 * The open connections to one origin. Of those with one request each (HTTP/1.1) the one that was used last is taken first,
 * so that the others grow old and go; of those with many (HTTP/2) the one with the fewest, so that a lost packet holds up
 * as few as can be. What has been unused for too long is closed at the time when that is so.
 *
 * Invariant: every connection is in `#h1` or `#h2`; those of `#h1` without a request are in `#idle` as well, the one that
 * has been so for longest first.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import type { Channel } from "./channel.ts";
import type { Dialed } from "./dialer.ts";
import { H1Connection } from "./h1-connection.ts";
import { H2Connection } from "./h2-connection.ts";
import type { IdleLimit, IdleState } from "./idle-limit.ts";
import type { Waiter } from "./opening.ts";

export interface ShelfOptions {
  readonly origin: URL;
  readonly clock: Clock;
  /** Configured; 0 = none. */
  readonly idleUs: number;
  readonly idleLimit: IdleLimit;
  /** A connection takes no more requests. */
  readonly onShrink: () => void;
  /** The upstream has HTTP/2, and wants HTTP/1.1. */
  readonly onRefusesH2: () => void;
}

export interface Taken {
  readonly channel: Channel;
  /** How long the connection had been without a request. */
  readonly idleUs: number;
}

/** A connection that was opened so recently needs no other proof of life. */
const FRESH_US = 1_000_000;
/** Between two looks for what has been unused for too long. */
const SWEEP_US = 1_000;

export class ConnectionShelf {
  readonly #options: ShelfOptions;
  readonly #h1 = new Set<H1Connection>();
  readonly #idle: H1Connection[] = [];
  readonly #h2 = new Set<H2Connection>();
  #cancelSweep: Cancel | undefined;
  #isRetired = false;

  constructor(options: ShelfOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#h1.size + this.#h2.size;
  }

  /** Those that take no more requests left out. */
  get usable(): number {
    let usable = this.#h1.size;
    for (const { isUsable } of this.#h2) if (isUsable) usable += 1;
    return usable;
  }

  get idle(): number {
    let idle = this.#idle.length;
    for (const { streams } of this.#h2) if (streams === 0) idle += 1;
    return idle;
  }

  get idleState(): IdleState {
    const { idleLimit, idleUs, clock } = this.#options;
    return idleLimit.state(idleUs, clock.nowUs());
  }

  /** @param fresh none that was kept: where one has just been found dead, others may be. */
  take(fresh: boolean): Taken | undefined {
    const nowUs = this.#options.clock.nowUs();
    const openedAfterUs = fresh ? nowUs - FRESH_US : Number.NEGATIVE_INFINITY;
    const session = this.#h2.size === 0 ? undefined : this.#roomiest(openedAfterUs);
    if (session !== undefined) {
      const idleUs = session.streams === 0 ? nowUs - session.idleSinceUs : 0;
      return { channel: session.begin(false), idleUs };
    }
    const kept = fresh ? undefined : this.#newestIdle(nowUs);
    if (kept === undefined) return undefined;
    kept.begin();
    return { channel: kept, idleUs: nowUs - kept.idleSinceUs };
  }

  /** Puts a new connection to use. @returns those for whom there is no room on it. */
  add(dialed: Dialed, waiters: readonly Waiter[]): readonly Waiter[] {
    return dialed.marks.protocol === "h2"
      ? this.#addH2(dialed, waiters)
      : this.#addH1(dialed, waiters);
  }

  /** @returns whether there was one without a request to be closed. */
  dropOldestIdle(): boolean {
    const oldest = this.#idle.shift();
    oldest?.cancel();
    return oldest !== undefined;
  }

  /** From now on connections close as their requests end. */
  retire(): void {
    this.#isRetired = true;
    this.#cancelSweep?.();
    for (const connection of [...this.#idle]) connection.cancel();
    for (const connection of [...this.#h2]) if (connection.streams === 0) connection.retire();
  }

  close(): void {
    this.retire();
    for (const connection of [...this.#h1]) connection.close();
    for (const connection of [...this.#h2]) connection.close();
  }

  #roomiest(openedAfterUs: number): H2Connection | undefined {
    let best: H2Connection | undefined;
    for (const one of this.#h2) {
      if (!one.hasRoom || one.openedUs < openedAfterUs) continue;
      if (best === undefined || one.streams < best.streams) best = one;
    }
    return best;
  }

  #newestIdle(nowUs: number): H1Connection | undefined {
    if (this.#idle.length === 0) return undefined;
    const { limitUs } = this.idleState;
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      if (next.isOpen && nowUs - next.idleSinceUs <= limitUs) return next;
      next.cancel();
    }
    return undefined;
  }

  #addH2(dialed: Dialed, waiters: readonly Waiter[]): readonly Waiter[] {
    const { origin, clock, onShrink, onRefusesH2 } = this.#options;
    const connection = new H2Connection({
      ...dialed,
      origin,
      clock,
      events: {
        onFreed: (freed) => this.#freed(freed),
        onDraining: onShrink,
        onRefusesH2: () => {
          connection.retire();
          onRefusesH2();
        },
        onClosed: (closed, byPeer) => {
          this.#h2.delete(closed);
          this.#closed(closed, byPeer && closed.streams === 0);
        },
      },
    });
    this.#h2.add(connection);
    let at = 0;
    while (at < waiters.length && connection.hasRoom) waiters[at++]!.opened(connection.begin(true));
    this.#freed(connection);
    return waiters.slice(at);
  }

  #addH1(dialed: Dialed, [first, ...others]: readonly Waiter[]): readonly Waiter[] {
    const { origin, clock, idleLimit } = this.#options;
    const connection = new H1Connection({
      ...dialed,
      origin,
      clock,
      events: {
        onIdle: (idle) => this.#keep(idle),
        onHint: (header) => idleLimit.hint(header),
        onClosed: (closed, byPeer) => {
          this.#h1.delete(closed);
          const at = this.#idle.indexOf(closed);
          if (at >= 0) this.#idle.splice(at, 1);
          this.#closed(closed, byPeer && at >= 0);
        },
      },
    });
    this.#h1.add(connection);
    if (first === undefined) this.#keep(connection);
    else {
      connection.begin();
      first.opened(connection);
    }
    return others;
  }

  #keep(connection: H1Connection): void {
    connection.keep(this.#options.clock.nowUs());
    if (this.#isRetired) {
      connection.cancel();
      return;
    }
    this.#idle.push(connection);
    this.#armSweep();
  }

  #freed(connection: H2Connection): void {
    if (connection.streams > 0) return;
    if (this.#isRetired) connection.retire();
    else this.#armSweep();
  }

  #closed({ idleSinceUs }: { idleSinceUs: number }, wasIdleClose: boolean): void {
    if (this.#isRetired) return;
    const { clock, idleLimit, onShrink } = this.#options;
    const nowUs = clock.nowUs();
    if (wasIdleClose) idleLimit.closedIdle(nowUs - idleSinceUs, nowUs);
    onShrink();
  }

  #armSweep(): void {
    if (this.#cancelSweep !== undefined) return;
    let oldestUs = this.#idle[0]?.idleSinceUs ?? Number.POSITIVE_INFINITY;
    for (const { streams, idleSinceUs } of this.#h2) {
      if (streams === 0) oldestUs = Math.min(oldestUs, idleSinceUs);
    }
    const dueUs = oldestUs + this.idleState.limitUs;
    if (dueUs === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#options;
    this.#cancelSweep = clock.at(Math.max(dueUs, clock.nowUs() + SWEEP_US), () => {
      this.#cancelSweep = undefined;
      this.#sweep();
      if (!this.#isRetired) this.#armSweep();
    });
  }

  #sweep(): void {
    const atMostUs = this.#options.clock.nowUs() - this.idleState.limitUs;
    while (this.#idle.length > 0 && this.#idle[0]!.idleSinceUs <= atMostUs) this.dropOldestIdle();
    for (const one of [...this.#h2]) {
      if (one.streams === 0 && one.idleSinceUs <= atMostUs) one.retire();
    }
  }
}
