/**
 * One connection to the upstream: one socket, one undici client on it, one request at a time, never reconnected behind
 * our back. So it is always known whether a request rides on a new or on a warm connection, whether a failure may be the
 * fault of reuse, and a request that still waits for its connection can be given up.
 *
 *     opening ──► idle ⇄ busy ──► closed
 *        └───────────┴──────────────▲
 *
 * Back-pressure is a valve on the socket's `read` and not undici's `pause()`: undici 7.30.2 throws an uncaught
 * AssertionError out of the socket's event handler if a paused response with `Connection: close` ends, by FIN or by RST,
 * so any upstream could end the process. With the valve shut, undici finds nothing to read, the stream's buffer fills to
 * its 64 KiB, and the kernel holds the rest back; an end stays behind the data it belongs to.
 */
import type { Socket } from "node:net";
import { type buildConnector, Client, type Dispatcher } from "undici";

export type Connector = buildConnector.connector;

export interface ConnectionOptions {
  readonly origin: URL;
  readonly connector: Connector;
  readonly idleMs: number;
  /** Called once, when the socket has closed or could not be opened. */
  readonly onClosed: (connection: Connection) => void;
}

/** Idle is not counted down to zero by undici itself: a connection that it must keep for ever gets a year. */
const FOREVER_MS = 365 * 24 * 3_600 * 1_000;
/** Subtracted from an upstream's `Keep-Alive: timeout=` hint, for the time that our next request needs to get there. */
const HINT_MARGIN_MS = 1_000;

export class Connection {
  readonly #options: ConnectionOptions;
  #socket: Socket | undefined;
  #client: Client | undefined;
  #closed = false;
  #onOpened: ((error: Error | null) => void) | undefined;
  /** Requests that were dispatched on it. */
  served = 0;
  idleSinceUs = 0;
  /** The socket broke. undici takes that for the end of a body that has no length; it is none. */
  hasBroken = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#closed || this.#socket?.destroyed === true;
  }

  get isOpen(): boolean {
    return this.#client !== undefined && !this.isClosed;
  }

  /** Calls back once, with an error if the socket could not be opened or was given up before. */
  open(done: (error: Error | null) => void): void {
    const { origin, connector } = this.#options;
    this.#onOpened = done;
    const opened: unknown = connector(
      {
        hostname: origin.hostname.replace(/^\[(.*)\]$/, "$1"),
        host: origin.host,
        protocol: origin.protocol,
        port: origin.port,
      },
      (...[error, socket]) => {
        if (this.#closed) {
          socket?.destroy();
          return;
        }
        if (error === null && socket !== null) {
          this.#adopt(socket);
          this.#opened(null);
          return;
        }
        this.#opened(error ?? new Error("no socket"));
        this.close();
      },
    );
    // The types say void, but the connector gives the socket at once: it is needed to give up while connecting.
    this.#socket = opened as Socket;
  }

  #opened(error: Error | null): void {
    const done = this.#onOpened;
    this.#onOpened = undefined;
    done?.(error);
  }

  #adopt(socket: Socket): void {
    this.#socket = socket;
    socket.once("close", () => this.close());
    // Ahead of undici's own listener, which may report the end of the response.
    socket.on("error", () => {
      this.hasBroken = true;
    });
    // Before the first request nothing reads the socket: whatever comes, an end or bytes unasked for, makes it useless.
    socket.on("readable", this.#onUnasked);
    const { origin, idleMs } = this.#options;
    let handedOver = false;
    this.#client = new Client(origin, {
      connect: (_options, callback) => {
        if (handedOver) {
          callback(new Error("the connection is used up"), null);
          return;
        }
        handedOver = true;
        socket.off("readable", this.#onUnasked);
        // Called from within undici's own loop, which must be left first.
        queueMicrotask(() => callback(null, socket));
      },
      pipelining: 1,
      keepAliveTimeout: idleMs === 0 ? FOREVER_MS : idleMs,
      keepAliveMaxTimeout: idleMs === 0 ? FOREVER_MS : idleMs,
      keepAliveTimeoutThreshold: HINT_MARGIN_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  readonly #onUnasked = (): void => this.close();

  /** Only when open and without another request. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.served += 1;
    this.#client?.dispatch(options, handler);
  }

  /** Stops reading within 64 KiB. */
  shutValve(): void {
    if (this.#socket !== undefined) this.#socket.read = () => null;
  }

  openValve(): void {
    const socket = this.#socket;
    if (socket === undefined || !Object.hasOwn(socket, "read")) return;
    // Uncovers the stream's own method.
    Reflect.deleteProperty(socket, "read");
    // Deferred, since undici's parser, which may be what called us, must not be entered twice.
    queueMicrotask(() => socket.emit("readable"));
  }

  /** At once and in any state; a request on it ends with `reason`. */
  close(reason?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#client?.destroy(reason ?? null, () => undefined);
    this.#socket?.destroy();
    this.#options.onClosed(this);
    this.#opened(reason ?? new Error("the connection was given up"));
  }
}
