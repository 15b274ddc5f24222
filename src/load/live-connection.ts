/**
 * One connection to the server under test: a socket that is opened on demand, and an undici client that is given this
 * socket and no other. So it is known for each request whether it paid for the connection, and how much; a pool inside
 * the HTTP client would hide both. undici's own time limits are off: they would cut a long thought short, and the run has
 * limits of its own.
 */
import type { Socket } from "node:net";
import { type buildConnector, Client, type Dispatcher } from "undici";

export type Connector = buildConnector.connector;

/** A server that promises to keep a connection for n seconds gets no request in the last one. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
const KEEP_ALIVE_MS = 600_000;

export class LiveConnection {
  readonly #origin: URL;
  #client: Client | undefined;
  #socket: Socket | undefined;
  #closed = false;
  /** Called once, when it can carry no further request. */
  onClosed: (() => void) | undefined;

  constructor(origin: URL) {
    this.#origin = origin;
  }

  get isUsable(): boolean {
    return !this.#closed && this.#client !== undefined && this.#socket?.destroyed !== true;
  }

  /** Calls back once, never before it returns; not at all after `close`. */
  open(connector: Connector, done: (error: Error | null) => void): void {
    const { hostname, host, protocol, port } = this.#origin;
    const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    // The declared type says void; the socket is needed to give up while it connects.
    this.#socket = connector({ hostname: bare, host, protocol, port }, (error, socket) => {
      if (this.#closed) {
        socket?.destroy();
      } else if (error !== null) {
        this.close();
        done(error);
      } else {
        this.#socket = socket;
        this.#client = this.#makeClient(socket);
        done(null);
      }
    }) as unknown as Socket;
  }

  #makeClient(socket: Socket): Client {
    socket.once("close", () => this.close());
    socket.on("error", () => this.close());
    let given = false;
    return new Client(this.#origin, {
      connect: (_, callback) => {
        const isFirst = !given;
        given = true;
        // undici asks from inside its own loop and must leave it before it gets the answer.
        queueMicrotask(() => {
          if (isFirst) callback(null, socket);
          else callback(new Error("the connection was closed by the server"), null);
        });
      },
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    });
  }

  /** One request at a time, on a usable connection. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client!.dispatch(options, handler);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#client?.destroy(null, () => undefined);
    this.#socket?.destroy();
    this.onClosed?.();
  }
}
