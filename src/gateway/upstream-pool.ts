/**
 * The way to one origin: its open connections, those that are being opened, and the requests that have a place on one. Over
 * the limit there is no waiting in line here: `take` says no, and the caller is told to come back.
 *
 * Whether a connection carries one request or many is the upstream's choice, in the TLS handshake. While it is not known,
 * requests wait for one handshake together: with HTTP/2 it is the only one, without it the others are cheaper after it.
 *
 * `warm` opens connections ahead of need. It opens sockets only, with their TLS handshake, and sends no request: there is
 * no path that every upstream answers without a key, a charge or a log line.
 *
 * Invariant: at most `connections` requests and as many connections; every berth that was taken ends once.
 */
import type { Cancel, Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import type { GatewayLimits } from "./limits.ts";
import { Berth, type BerthHome } from "./transport/berth.ts";
import { ConnectionShelf, type Taken } from "./transport/connection-shelf.ts";
import { type Dialed, Dialer } from "./transport/dialer.ts";
import type { IdleState } from "./transport/idle-limit.ts";
import type { Network } from "./transport/network.ts";
import { Opening, type Waiter } from "./transport/opening.ts";
import type { TlsTrust } from "./transport/ticket-cache.ts";

export interface PoolCounts {
  /** Sockets opened since the start. */
  opened: number;
  /** Of these, ahead of need. */
  warmed: number;
  /** Of these, with a TLS session of an earlier connection. */
  resumed: number;
  /** Of these, over HTTP/2. */
  multiplexed: number;
  failed: number;
  /** Requests that found a connection open. */
  reused: number;
  /** Of these, those that found it dead. */
  raced: number;
  /** Time in the stages of those opened, µs in all. */
  dnsUs: number;
  tcpUs: number;
  tlsUs: number;
}

export interface PoolLimits extends Pick<GatewayLimits, "connections" | "idleUs"> {
  /** Of connections that are opened ahead; 0 = none. */
  readonly connectUs: number;
}

export interface PoolOptions {
  readonly origin: URL;
  readonly limits: PoolLimits;
  readonly clock: Clock;
  /** Shared by the pools of one gateway. */
  readonly network: Network;
  readonly tls?: TlsTrust;
  /** Default "auto": where the upstream chooses it, which takes TLS. */
  readonly http2?: "auto" | "never";
}

/** How long the others wait for the session of the first connection, when several are opened from cold. */
const TICKET_US = 250_000;

export class UpstreamPool implements BerthHome {
  readonly origin: URL;
  readonly counts: PoolCounts = {
    opened: 0,
    warmed: 0,
    resumed: 0,
    multiplexed: 0,
    failed: 0,
    reused: 0,
    raced: 0,
    dnsUs: 0,
    tcpUs: 0,
    tlsUs: 0,
  };
  /** Called when a connection takes no more requests, for whoever keeps some warm. */
  onShrink: (() => void) | undefined;
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #dialer: Dialer;
  readonly #shelf: ConnectionShelf;
  readonly #openings = new Set<Opening>();
  /** What the upstream has chosen last; undefined before the first handshake. */
  #speaksH2: boolean | undefined;
  #offersH2: boolean;
  #berths = 0;
  #isRetired = false;
  #isClosed = false;

  constructor(options: PoolOptions) {
    const { origin, network, clock, limits, tls = {}, http2 = "auto" } = options;
    this.origin = origin;
    this.#options = options;
    this.#clock = clock;
    this.#dialer = new Dialer({ origin, network, clock, tls });
    this.#offersH2 = http2 === "auto" && this.#dialer.isSecure;
    this.#shelf = new ConnectionShelf({
      origin,
      clock,
      idleUs: limits.idleUs,
      idleLimit: network.idleLimit(origin.origin),
      onShrink: () => this.onShrink?.(),
      onRefusesH2: () => {
        this.#offersH2 = false;
        this.#speaksH2 = false;
      },
    });
  }

  /** Requests at a time, and connections. */
  get connectionsMax(): number {
    return this.#options.limits.connections;
  }

  /** Those that are being opened among them. */
  get open(): number {
    return this.#openings.size + this.#shelf.open;
  }

  /** Of these, without those that only end what they have begun. */
  get usable(): number {
    return this.#openings.size + this.#shelf.usable;
  }

  get idle(): number {
    return this.#shelf.idle;
  }

  /** How long a connection may be unused by now, and why. */
  get idleState(): IdleState {
    return this.#shelf.idleState;
  }

  /**
   * @param options.fresh no connection that was kept: where one has just been found dead, others may be.
   * @returns a place on an open connection, one that is yet to be opened, or undefined over the limit.
   */
  take({ fresh }: { fresh: boolean }): Berth | undefined {
    if (this.#isClosed || this.#berths >= this.connectionsMax) return undefined;
    const taken = this.#shelf.take(fresh);
    if (taken !== undefined) {
      this.counts.reused += 1;
      return this.#berth(taken);
    }
    if (this.#joinable() === undefined && !this.#makeRoom()) return undefined;
    return this.#berth(undefined);
  }

  #berth(taken: Taken | undefined): Berth {
    this.#berths += 1;
    return new Berth(this, taken);
  }

  /** @returns whether one more connection may be opened; one that nobody uses is closed for it. */
  #makeRoom(): boolean {
    return this.open < this.connectionsMax || this.#shelf.dropOldestIdle();
  }

  #joinable(): Opening | undefined {
    if (this.#speaksH2 === false) return undefined;
    for (const opening of this.#openings) if (opening.hasRoom) return opening;
    return undefined;
  }

  await(waiter: Waiter): Cancel {
    const joinable = this.#joinable();
    if (joinable !== undefined) return joinable.join(waiter);
    const opening = this.#makeOpening();
    const leave = opening.join(waiter);
    this.#dial(opening);
    return leave;
  }

  raced(idleUs: number): void {
    this.counts.raced += 1;
    this.#options.network.idleLimit(this.origin.origin).raced(idleUs, this.#clock.nowUs());
  }

  ended(): void {
    this.#berths -= 1;
  }

  #makeOpening(): Opening {
    const opening = new Opening(this.#offersH2, (givenUp) => this.#openings.delete(givenUp));
    this.#openings.add(opening);
    return opening;
  }

  /** May fail at once. */
  #dial(opening: Opening): void {
    opening.start(() =>
      this.#dialer.dial(this.#offersH2, (error, dialed) => {
        this.#openings.delete(opening);
        const waiters = opening.end();
        if (dialed === undefined) this.#failed(waiters, error!);
        else this.#opened(waiters, dialed);
        opening.ahead?.(error);
      }),
    );
  }

  #failed(waiters: readonly Waiter[], error: Error): void {
    this.counts.failed += 1;
    for (const waiter of waiters) waiter.failed(error);
  }

  #opened(waiters: readonly Waiter[], dialed: Dialed): void {
    const { reuse, protocol, dnsUs, tcpUs, tlsUs } = dialed.marks;
    const { counts } = this;
    counts.opened += 1;
    counts.dnsUs += dnsUs;
    counts.tcpUs += tcpUs;
    counts.tlsUs += tlsUs;
    if (reuse === "resumed") counts.resumed += 1;
    if (protocol === "h2") counts.multiplexed += 1;
    this.#speaksH2 = protocol === "h2";
    for (const waiter of this.#shelf.add(dialed, waiters)) this.#serve(waiter);
  }

  /** One that has waited for a connection which is not for it. */
  #serve(waiter: Waiter): void {
    const taken = this.#shelf.take(false);
    if (taken !== undefined) waiter.opened(taken.channel);
    else if (this.#joinable() !== undefined || this.#makeRoom()) waiter.moved(this.await(waiter));
    else waiter.failed(new ManxError("MANX_OVERLOADED"));
  }

  /**
   * Opens connections until `count` are open. From cold one comes first: its TLS session makes the others cheaper, which at
   * the same time would each go the whole way.
   * @returns the first error, or null.
   */
  async warm(count: number): Promise<Error | null> {
    const wanted = Math.min(count, this.connectionsMax);
    const { tickets } = this.#options.network;
    const { isSecure, ticketKey } = this.#dialer;
    if (isSecure && this.usable < wanted && tickets.get(ticketKey) === undefined) {
      const error = await this.#openAhead();
      if (error !== null) return error;
      if (this.usable < wanted) await this.#ticket();
    }
    const missing = Math.max(0, wanted - this.usable);
    const openings = Array.from({ length: missing }, () => this.#openAhead());
    return (await Promise.all(openings)).find((error) => error !== null) ?? null;
  }

  #ticket(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.at(this.#clock.nowUs() + TICKET_US, () => {
        forget();
        resolve();
      });
      const forget = this.#options.network.tickets.whenSet(this.#dialer.ticketKey, () => {
        cancel();
        resolve();
      });
    });
  }

  #openAhead(): Promise<Error | null> {
    if (this.#isRetired) return Promise.resolve(null);
    const { connectUs } = this.#options.limits;
    return new Promise((resolve) => {
      const opening = this.#makeOpening();
      const giveUp = (): void => {
        this.counts.failed += 1;
        opening.giveUp(new Error(`no connection within ${connectUs / 1_000} ms`));
      };
      const cancel =
        connectUs === 0 ? undefined : this.#clock.at(this.#clock.nowUs() + connectUs, giveUp);
      opening.ahead = (error) => {
        cancel?.();
        if (error === null) this.counts.warmed += 1;
        resolve(error);
      };
      this.#dial(opening);
    });
  }

  close(): void {
    this.#isRetired = true;
    this.#isClosed = true;
    const error = new Error("the connection was given up");
    for (const opening of [...this.#openings]) opening.giveUp(error);
    this.#shelf.close();
  }

  /** Keeps nothing any more: connections close as their requests end. Calls that began with it may still go on. */
  retire(): void {
    this.#isRetired = true;
    this.#shelf.retire();
  }
}
