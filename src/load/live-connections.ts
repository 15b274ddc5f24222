/**
 * The connections of a run: kept alive and the last used taken first, so that no more are open than the load needs; or,
 * in a cold run, a fresh one for each request. A limit makes requests wait here, and their wait is in their figures.
 */
import { buildConnector } from "undici";
import type { Clock } from "../clock/index.ts";
import { Fifo } from "../core/index.ts";
import { type Connector, LiveConnection } from "./live-connection.ts";

export interface ConnectionOptions {
  readonly origin: URL;
  readonly clock: Clock;
  /** Every request opens its own connection and closes it. */
  readonly cold: boolean;
  /** Most connections at once. Default: no limit. */
  readonly connectionsMax?: number;
}

/** A connection that a request got, and what it paid for it. */
export interface Lease {
  readonly connection: LiveConnection;
  /** Null if it was open. */
  readonly connectUs: number | null;
}

interface Wish {
  given: boolean;
  readonly take: (lease: Lease | Error) => void;
}

export class LiveConnections {
  readonly #options: ConnectionOptions;
  readonly #connector: Connector;
  readonly #idle: LiveConnection[] = [];
  readonly #all = new Set<LiveConnection>();
  readonly #waiting = new Fifo<Wish>();
  readonly #max: number;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#max = options.connectionsMax ?? Number.POSITIVE_INFINITY;
    // One for all, since it keeps the TLS session tickets. Its own time limit is off: each request has one.
    this.#connector = buildConnector({ timeout: 0, allowH2: false });
  }

  get open(): number {
    return this.#all.size;
  }

  /**
   * @param take gets a connection, or the error that kept it from opening; at once if one is idle.
   * @returns a way to give the wish up.
   */
  acquire(take: (lease: Lease | Error) => void): () => void {
    const idle = this.#takeIdle();
    if (idle !== undefined) {
      take({ connection: idle, connectUs: null });
      return () => undefined;
    }
    const wish: Wish = { given: false, take };
    if (this.#all.size >= this.#max) {
      this.#waiting.push(wish);
      return () => {
        wish.given = true;
      };
    }
    const connection = this.#open(wish);
    return () => {
      if (!wish.given) connection.close();
      wish.given = true;
    };
  }

  /** After a response that ended as HTTP has it. A connection that can go on is used again. */
  release(connection: LiveConnection): void {
    if (this.#options.cold || !connection.isUsable) {
      connection.close();
      return;
    }
    for (let wish = this.#waiting.shift(); wish !== undefined; wish = this.#waiting.shift()) {
      if (wish.given) continue;
      give(wish, { connection, connectUs: null });
      return;
    }
    this.#idle.push(connection);
  }

  /** Opens connections ahead of need. @returns how many are open in the end; fewer if the server refuses some. */
  async warm(count: number): Promise<number> {
    const opened = await Promise.all(
      Array.from(
        { length: Math.min(count, this.#max) },
        () =>
          new Promise<Lease | Error>((resolve) => {
            this.#open({ given: false, take: resolve });
          }),
      ),
    );
    for (const lease of opened) if (!(lease instanceof Error)) this.release(lease.connection);
    return this.#idle.length;
  }

  close(): void {
    this.#closed = true;
    for (const connection of [...this.#all]) connection.close();
  }

  #takeIdle(): LiveConnection | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable) return idle;
      idle.close();
    }
    return undefined;
  }

  #open(wish: Wish): LiveConnection {
    const { clock, origin } = this.#options;
    const startUs = clock.nowUs();
    const connection = new LiveConnection(origin);
    this.#all.add(connection);
    connection.onClosed = () => {
      this.#all.delete(connection);
      // Its place goes to whoever waits.
      let next = this.#waiting.shift();
      while (next?.given === true) next = this.#waiting.shift();
      if (next !== undefined && !this.#closed) this.#open(next);
    };
    connection.open(this.#connector, (error) => {
      give(wish, error ?? { connection, connectUs: clock.nowUs() - startUs });
    });
    return connection;
  }
}

function give(wish: Wish, lease: Lease | Error): void {
  wish.given = true;
  wish.take(lease);
}
