/**
 * The client's door: node:http, a closed list of paths, bounded bodies, no framework. Whatever a client sends, the server
 * goes on; whatever it asks for, only the configured upstream is reached.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type ErrorDialect, IdMap, isManxError, ManxError, toManxError } from "../core/index.ts";
import { readBody, sendError, sendJson } from "../http/index.ts";
import { VERSION } from "../version.ts";
import { refuseEncoded } from "./call-intent.ts";
import type { GatewayConfig } from "./config/index.ts";
import { answerEnd, ownEnd } from "./early-end.ts";
import { type Arrival, Exchange, type ExchangeContext } from "./exchange.ts";
import type { Fleet } from "./fleet.ts";
import type { BudgetLedger, KeyRing } from "./keys/index.ts";
import { limitsInEffect } from "./limits.ts";
import { findRoute, guessDialect } from "./routes.ts";
import { CallNotes, NONE } from "./seeing/index.ts";
import type { Upstream } from "./upstream.ts";
import { ANYONE, KeyVisitor, type Visitor } from "./visitor.ts";
import { isFromThisMachine, isMarkedWarmUp } from "./warm-up-mark.ts";

/** What a reload replaces; exchanges go on with what they began with. */
export interface FrontContext extends ExchangeContext {
  readonly upstreams: readonly Upstream[];
  /** null: callers need no key. */
  readonly keys: KeyRing | null;
  readonly ledger: BudgetLedger;
  /** What it all runs by. */
  readonly config: GatewayConfig;
  /** null: this process is all there is. */
  readonly fleet: Fleet | null;
}

/** Queued bytes per client before `write` says stop; the upstream is then not read until they are gone. */
const CLIENT_BUFFER_BYTES = 64 * 1024;

export class Front {
  readonly server: Server;
  #context: FrontContext;
  readonly #open = new IdMap<Exchange>();
  #nextId = 0;
  #bodiesBytes = 0;
  #leaving = false;
  #draining = false;
  #onEmpty: (() => void) | undefined;

  constructor(context: FrontContext) {
    this.#context = context;
    const { limits } = context;
    const ms = (us: number): number => Math.ceil(us / 1_000);
    this.server = createServer(
      {
        requestTimeout: ms(limits.receiveUs),
        headersTimeout: ms(limits.receiveHeadUs),
        keepAliveTimeout: ms(limits.clientIdleUs),
        // How often Node looks for requests that are too slow.
        connectionsCheckingInterval: 1_000,
        maxHeaderSize: limits.headBytes,
        highWaterMark: CLIENT_BUFFER_BYTES,
        noDelay: true,
      },
      (request, response) => this.#onRequest(request, response),
    );
    this.server.timeout = 0;
    this.server.maxConnections = limits.clients;
    // Bounded by the head's bytes; by number Node would leave out what is too much and say nothing.
    this.server.maxHeadersCount = 0;
  }

  /** For requests from now on. The server's own limits stay as they were at the start. */
  use(context: FrontContext): void {
    this.#context = context;
  }

  /** `/ready` says no from now on, so that nobody sends more; what comes all the same is served. */
  leave(): void {
    this.#leaving = true;
  }

  /** No new work; resolves when what is open has ended. */
  drain(): Promise<void> {
    this.#leaving = true;
    this.#draining = true;
    return new Promise((resolve) => {
      if (this.#open.size === 0) resolve();
      else this.#onEmpty = resolve;
    });
  }

  /** Ends what is open with an error that its client can read. */
  cutAll(): void {
    for (const exchange of this.#open.values())
      exchange.cut(new ManxError("MANX_DRAINING"), "refused");
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const receivedUs = this.#context.clock.nowUs();
    const { method = "", url = "" } = request;
    if (this.#leaving) response.shouldKeepAlive = false;
    if (method === "GET" && this.#answerItself(url, response)) return;
    const identity = this.#context.seeing.identify(request.headers);
    const client = this.#clientOf(request);
    let arrival: Arrival;
    let body: number;
    try {
      const route = findRoute(method, url);
      this.#refuseCircle(request);
      refuseEncoded(request.headers);
      arrival = { route, receivedUs, visitor: this.#admit(request), identity, client };
      if (isMarkedWarmUp(request.headers)) arrival = this.#warmUp(arrival, request);
      if (this.#listModels(arrival, url, response)) return;
      body = this.#reserveBody(request);
    } catch (thrown) {
      const dialect = guessDialect(url, request.headers["anthropic-version"]);
      this.#refuse(response, toManxError(thrown), dialect, { identity, receivedUs, client });
      return;
    }
    this.#forward(request, response, arrival, body);
  }

  #forward(
    request: IncomingMessage,
    response: ServerResponse,
    arrival: Arrival,
    reservedBytes: number,
  ): void {
    let heldBytes = reservedBytes;
    const id = this.#nextId;
    this.#nextId += 1;
    const exchange = new Exchange(this.#context, arrival, response, () => {
      this.#bodiesBytes -= heldBytes;
      this.#onClosed(id);
    });
    this.#open.set(id, exchange);
    const forward = (body: Buffer): void => {
      if (!this.#open.has(id)) return;
      this.#bodiesBytes += body.length - heldBytes;
      heldBytes = body.length;
      exchange.forward({
        target: request.url ?? "",
        rawHeaders: request.rawHeaders,
        headers: request.headers,
        body,
      });
    };
    readBody(request, this.#context.limits.bodyBytes)
      .then(forward)
      .catch((thrown: unknown) => {
        const error = toManxError(thrown);
        exchange.cut(error, error.code === "MANX_INTERNAL" ? "internal" : "refused");
      });
  }

  #onClosed(id: number): void {
    this.#open.delete(id);
    if (!this.#draining) return;
    this.server.closeIdleConnections();
    if (this.#open.size === 0) this.#onEmpty?.();
  }

  #answerItself(url: string, response: ServerResponse): boolean {
    const { seeing, config, upstreams, fleet } = this.#context;
    const path = url.split("?", 1)[0];
    if (path === "/health") {
      const shown = upstreams.map((upstream) => upstream.shown());
      const more = url.includes("verbose")
        ? { upstreams: shown, limits: limitsInEffect(config) }
        : {};
      const workers = fleet === null ? {} : { workers: fleet.members() };
      sendJson(response, 200, { status: "ok", version: VERSION, ...workers, ...more });
      return true;
    }
    if (path === "/ready") {
      if (this.#leaving) answerEnd(response, ownEnd(new ManxError("MANX_DRAINING"), "openai"));
      else sendJson(response, 200, { status: "ready" });
      return true;
    }
    if (path !== "/metrics") return false;
    const { accept } = response.req.headers;
    const page = seeing.page(accept);
    (fleet === null ? page : page.then((own) => fleet.metrics(own, accept))).then(
      ({ contentType, text }) => {
        response.writeHead(200, { "content-type": contentType });
        response.end(text);
      },
      (thrown: unknown) => sendError(response, toManxError(thrown)),
    );
    return true;
  }

  /** undefined if nobody asks, which spares most gateways a look at the socket. */
  #clientOf({ socket }: IncomingMessage): string | undefined {
    const { showsClient } = this.#context.seeing;
    return showsClient ? socket.remoteAddress?.replace(MAPPED_IPV4, "") : undefined;
  }

  /** @throws MANX_UNAUTHENTICATED, MANX_FORBIDDEN */
  #admit(request: IncomingMessage): Visitor {
    const { keys, ledger, clock } = this.#context;
    if (keys === null) return ANYONE;
    const { headers } = request;
    const holder = keys.check((name) => headers[name]?.toString(), clock.wallMs());
    if (isManxError(holder)) throw holder;
    return new KeyVisitor(holder, ledger, () => clock.wallMs());
  }

  /** @returns it as one that is in no percentile, if its caller may say so. */
  #warmUp(arrival: Arrival, { headers, socket }: IncomingMessage): Arrival {
    const { config, seeing } = this.#context;
    const { visitor, identity } = arrival;
    const isAllowed =
      config.warmUpFrom === "anyone" ||
      visitor.mayWarmUp ||
      // Not the arrival's client, who is known only where the log shows it.
      isFromThisMachine(socket.remoteAddress, headers);
    if (isAllowed) return { ...arrival, identity: { ...identity, isWarmUp: true } };
    seeing.warmUpIgnored();
    return arrival;
  }

  /** The configured models, unless every name is served: then only the upstream knows. */
  #listModels({ route, visitor }: Arrival, url: string, response: ServerResponse): boolean {
    const { routes } = this.#context;
    if (route.name !== "models" || routes.takesAny) return false;
    const names = routes.names.filter((name) => visitor.mayUse(name));
    const one = decodeURIComponent(url.split("?", 1)[0]!.slice("/v1/models/".length));
    if (one === "") {
      sendJson(response, 200, { object: "list", data: names.map(modelObject) });
      return true;
    }
    if (!names.includes(one)) {
      throw new ManxError("MANX_MODEL_UNKNOWN", { where: "path", got: one.slice(0, 80) });
    }
    sendJson(response, 200, modelObject(one));
    return true;
  }

  #refuseCircle(request: IncomingMessage): void {
    if (this.#draining) throw new ManxError("MANX_DRAINING");
    if (request.headers.via?.includes(this.#context.via) !== true) return;
    throw new ManxError("MANX_REQUEST_INVALID", {
      what: "the upstream leads back to this gateway",
      where: "Via",
      hint: "set --upstream to the engine or provider itself",
    });
  }

  /** @returns bytes counted for this request; as many as it may have, if it does not say. */
  #reserveBody(request: IncomingMessage): number {
    const { bodiesBytes, bodyBytes } = this.#context.limits;
    const { "content-length": declared, "transfer-encoding": coding } = request.headers;
    const bytes = coding === undefined ? Math.min(Number(declared ?? 0), bodyBytes) : bodyBytes;
    if (this.#bodiesBytes + bytes > bodiesBytes) {
      throw new ManxError("MANX_OVERLOADED", {
        expected: `at most ${bodiesBytes} bytes of request bodies at a time`,
      });
    }
    this.#bodiesBytes += bytes;
    return bytes;
  }

  #refuse(
    response: ServerResponse,
    error: ManxError,
    dialect: ErrorDialect,
    seen: Pick<Arrival, "identity" | "receivedUs" | "client">,
  ): void {
    const { clock, seeing } = this.#context;
    answerEnd(response, ownEnd(error, dialect, ["x-request-id", seen.identity.requestId]));
    const notes = new CallNotes({ ...seen, route: NONE, tenant: NONE });
    notes.status = error.status;
    const nowUs = clock.nowUs();
    notes.settle("refused", nowUs, error.code);
    seeing.requestRefused(
      notes.record({
        nowUs,
        wallMs: clock.wallMs(),
        intent: undefined,
        attempts: [],
        usage: undefined,
        stream: undefined,
        guard: undefined,
        cacheBreak: undefined,
        responseBytes: 0,
      }),
    );
  }
}

/** How a socket for both families writes the address of an IPv4 client. */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;

/** As the APIs list one; `created` is not known of a name. */
function modelObject(id: string): object {
  return { id, object: "model", type: "model", display_name: id, created: 0, owned_by: "manx" };
}
