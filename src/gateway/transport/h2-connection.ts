/**
 * One HTTP/2 connection to the upstream (RFC 9113), on a socket that is open: many requests at a time, each with a window
 * of its own, so that a caller who does not read holds up nobody else's answer. On `node:http2`, whose sessions never
 * reconnect.
 *
 *     open ──GOAWAY──► draining ──last stream ended──► closed
 *       └── socket gone, no answer to a PING ────────────▲
 *
 * Invariant: `streams` counts the exchanges that were begun and whose stream is not closed; no request is begun over
 * `streamsMax` or while draining.
 */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { Socket } from "node:net";
import type { Cancel, Clock } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import { type ConnectionMarks, reusedMarks } from "./connection-marks.ts";
import { H2Exchange, type H2Link } from "./h2-exchange.ts";

export interface H2Events {
  /** A request on it has ended. */
  onFreed(connection: H2Connection): void;
  /** No further request may be begun on it; those that run go on. */
  onDraining(connection: H2Connection): void;
  /** The upstream wants HTTP/1.1 for what was asked. */
  onRefusesH2(): void;
  /** Called once. @param byPeer nobody here has closed it. */
  onClosed(connection: H2Connection, byPeer: boolean): void;
}

export interface H2Options {
  readonly origin: URL;
  readonly socket: Socket;
  readonly marks: ConnectionMarks;
  readonly clock: Clock;
  readonly events: H2Events;
}

/** At a time on one connection, whatever the upstream allows: one lost packet holds up all of them. */
export const STREAMS_MAX = 100;
/** What one answer may have in memory here while its caller does not read. */
const STREAM_WINDOW_BYTES = 256 * 1024;
/** All answers together between two updates: the streams' own windows are the limit that matters. */
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** Above what all requests may hold (`limits.bodiesBytes`), which are bounded where they come in. */
const SESSION_MEMORY_MB = 2_048;
/** Open requests and not a byte for so long: ask whether anybody is there. */
const PING_AFTER_US = 20 * US_PER_S;
const PING_ANSWER_US = 10 * US_PER_S;

export class H2Connection implements H2Link {
  readonly #options: H2Options;
  readonly #reused: ConnectionMarks;
  #streamsMax = STREAMS_MAX;
  #closed = false;
  #isDraining = false;
  #closesItself = false;
  #cancelWatch: Cancel | undefined;
  readonly session: ClientHttp2Session;
  readonly openedUs: number;
  /** Exchanges whose streams are not closed. */
  streams = 0;
  idleSinceUs: number;
  heard = 0;
  lastStreamId = Number.POSITIVE_INFINITY;

  constructor(options: H2Options) {
    const { origin, socket, marks, clock } = options;
    this.#options = options;
    this.#reused = reusedMarks(marks);
    this.openedUs = clock.nowUs();
    this.idleSinceUs = this.openedUs;
    const session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    this.session = session;
    session.once("connect", () => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    session.on("remoteSettings", ({ maxConcurrentStreams = STREAMS_MAX }) => {
      this.#streamsMax = Math.min(STREAMS_MAX, maxConcurrentStreams);
    });
    session.on("goaway", (_code, lastStreamId) => this.#drain(lastStreamId));
    // Told to each exchange by its own stream; without a listener it would end the process.
    session.on("error", () => undefined);
    session.once("close", () => this.#onClosed());
  }

  get origin(): URL {
    return this.#options.origin;
  }

  get hasDied(): boolean {
    return this.#options.socket.destroyed;
  }

  /** It takes requests, if not now. */
  get isUsable(): boolean {
    return !this.#closed && !this.#isDraining && !this.session.closed && !this.session.destroyed;
  }

  get hasRoom(): boolean {
    return this.isUsable && this.streams < this.#streamsMax;
  }

  /** Only with room. @param hasWaited the request has waited for this connection to open. */
  begin(hasWaited: boolean): H2Exchange {
    this.streams += 1;
    this.#watch();
    return new H2Exchange(this, hasWaited ? this.#options.marks : this.#reused);
  }

  refusesH2(): void {
    this.#options.events.onRefusesH2();
  }

  streamClosed(): void {
    this.streams -= 1;
    if (this.streams === 0) this.idleSinceUs = this.#options.clock.nowUs();
    if (!this.#closed) this.#options.events.onFreed(this);
  }

  #drain(lastStreamId: number): void {
    this.lastStreamId = lastStreamId;
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.events.onDraining(this);
  }

  /** While requests are open: a connection that has died without a word is found out. */
  #watch(): void {
    if (this.#cancelWatch !== undefined) return;
    const { clock, socket } = this.#options;
    const before = socket.bytesRead;
    this.#cancelWatch = clock.at(clock.nowUs() + PING_AFTER_US, () => {
      this.#cancelWatch = undefined;
      if (this.#closed || this.streams === 0) return;
      if (socket.bytesRead === before) this.#ping();
      else this.#watch();
    });
  }

  #ping(): void {
    const { clock, socket } = this.#options;
    const before = socket.bytesRead;
    this.session.ping((error) => {
      if (error === null) this.heard += 1;
    });
    this.#cancelWatch = clock.at(clock.nowUs() + PING_ANSWER_US, () => {
      this.#cancelWatch = undefined;
      if (this.#closed) return;
      if (socket.bytesRead === before) socket.destroy();
      else if (this.streams > 0) this.#watch();
    });
  }

  /** Takes no more; closes when what runs has ended. */
  retire(): void {
    this.#closesItself = true;
    this.#drain(this.lastStreamId);
    this.session.close();
  }

  /** At once; requests on it break. */
  close(): void {
    if (this.#closed) return;
    this.#closesItself = true;
    this.session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
  }

  #onClosed(): void {
    this.#closed = true;
    this.#cancelWatch?.();
    this.#options.events.onClosed(this, !this.#closesItself);
  }
}
