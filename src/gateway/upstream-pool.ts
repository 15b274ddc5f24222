/**
 * The connections to one origin. The most recently used one is taken first, so that the others grow old and go; none is
 * shared; over the limit there is no waiting in line here: `take` says no, and the caller is told to come back.
 *
 * `warm` opens connections ahead of need. It opens sockets only, with their TLS handshake, and sends no request: there is
 * no path that every upstream answers without a key, a charge or a log line, and undici closes after a HEAD.
 *
 * Invariant: every connection is in `#open`; the idle ones are in `#idle` as well.
 */
import { buildConnector } from "undici";
import type { Clock } from "../clock/index.ts";
import { Connection, type Connector } from "./connection.ts";
import type { GatewayLimits } from "./limits.ts";

export interface PoolCounts {
  /** Sockets opened since the start. */
  opened: number;
  /** Of these, ahead of need. */
  warmed: number;
  failed: number;
  /** Requests that found a connection open. */
  reused: number;
}

export type PoolLimits = Pick<GatewayLimits, "connections" | "connectUs" | "idleUs">;

export interface TlsTrust {
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string;
  /** Name that the certificate must have, if it is not the host's. */
  readonly servername?: string;
}

export class UpstreamPool {
  readonly origin: URL;
  readonly counts: PoolCounts = { opened: 0, warmed: 0, failed: 0, reused: 0 };
  /** Called when a connection has closed, for whoever keeps some warm. */
  onShrink: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #limits: PoolLimits;
  readonly #connector: Connector;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #closed = false;

  constructor(origin: URL, limits: PoolLimits, clock: Clock, tls: TlsTrust = {}) {
    this.origin = origin;
    this.#clock = clock;
    this.#limits = limits;
    // One connector for all: it holds the TLS session tickets. Its own time-out is off, since the attempt has one.
    this.#connector = buildConnector({ timeout: 0, allowH2: false, ...tls });
  }

  /** Connections, and so requests, at a time. */
  get connectionsMax(): number {
    return this.#limits.connections;
  }

  get open(): number {
    return this.#open.size;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** @returns an open idle connection, a new one that is yet to be opened, or undefined over the limit. */
  take(): Connection | undefined {
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      if (!next.isOpen || this.#isStale(next)) {
        next.close();
        continue;
      }
      this.counts.reused += 1;
      return next;
    }
    return this.takeFresh();
  }

  /** @returns one that is yet to be opened, or undefined over the limit. */
  takeFresh(): Connection | undefined {
    if (this.#closed || this.#open.size >= this.#limits.connections) return undefined;
    return this.#make();
  }

  /** Opens what `take` gave. */
  connect(connection: Connection, done: (error: Error | null) => void): void {
    connection.open((error) => {
      if (error === null) this.counts.opened += 1;
      // One that was given up is closed already, and has not failed.
      else if (!connection.isClosed) this.counts.failed += 1;
      done(error);
    });
  }

  /** The request on it has ended well. */
  giveBack(connection: Connection): void {
    if (this.#closed || !connection.isOpen) {
      connection.close();
      return;
    }
    connection.idleSinceUs = this.#clock.nowUs();
    this.#idle.push(connection);
  }

  /** Opens connections at the same time until `count` are open. @returns the first error, or null. */
  async warm(count: number): Promise<Error | null> {
    const missing = Math.min(count, this.#limits.connections) - this.#open.size;
    const openings = Array.from({ length: Math.max(0, missing) }, () => this.#openAhead());
    return (await Promise.all(openings)).find((error) => error !== null) ?? null;
  }

  #openAhead(): Promise<Error | null> {
    const connection = this.#make();
    const { connectUs } = this.#limits;
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.counts.failed += 1;
        connection.close(new Error(`no connection within ${connectUs / 1_000} ms`));
      };
      const cancel =
        connectUs === 0 ? undefined : this.#clock.at(this.#clock.nowUs() + connectUs, giveUp);
      this.connect(connection, (error) => {
        cancel?.();
        if (error === null) {
          this.counts.warmed += 1;
          this.giveBack(connection);
        }
        resolve(error);
      });
    });
  }

  /** One that never had a request is not closed by undici's own idle limit. */
  #isStale(connection: Connection): boolean {
    const { idleUs } = this.#limits;
    return idleUs > 0 && this.#clock.nowUs() - connection.idleSinceUs > idleUs;
  }

  close(): void {
    this.#closed = true;
    for (const connection of [...this.#open]) connection.close();
  }

  /** Takes no new request; connections close as their requests end. */
  retire(): void {
    this.#closed = true;
    for (const connection of [...this.#idle]) connection.close();
  }

  #make(): Connection {
    const connection = new Connection({
      origin: this.origin,
      connector: this.#connector,
      idleMs: Math.ceil(this.#limits.idleUs / 1_000),
      onClosed: (closed) => {
        this.#open.delete(closed);
        const at = this.#idle.indexOf(closed);
        if (at >= 0) this.#idle.splice(at, 1);
        if (!this.#closed) this.onShrink?.();
      },
    });
    this.#open.add(connection);
    return connection;
  }
}
