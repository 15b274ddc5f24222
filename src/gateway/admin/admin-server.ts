/**
 * The operators' own door: another port than the callers', off unless the configuration opens it, on loopback unless it says
 * otherwise. Each request needs the operators' key, `/admin/…` and nothing else is answered, always in JSON.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock } from "../../clock/index.ts";
import { ManxError, toManxError, US_PER_S } from "../../core/index.ts";
import { close, listen, sendJson } from "../../http/index.ts";
import type { AdminConfig } from "../config/index.ts";
import type { DrainedPlace } from "../drained-places.ts";
import { KeyCheck } from "./key-check.ts";
import type { Operations } from "./operations.ts";
import { shownConfig } from "./shown-config.ts";

type Answer = (query: URLSearchParams) => unknown;

const CONNECTIONS_MAX = 32;
const RECEIVE_MS = 5_000;

export class AdminServer {
  readonly #operations: Operations;
  readonly #keys: KeyCheck;
  readonly #server: Server;
  readonly #routes: Readonly<Record<string, Answer>>;

  constructor(operations: Operations, clock: Clock) {
    this.#operations = operations;
    this.#keys = new KeyCheck(clock);
    this.#routes = routesOf(operations);
    this.#server = createServer(
      {
        requestTimeout: RECEIVE_MS,
        headersTimeout: RECEIVE_MS,
        connectionsCheckingInterval: 1_000,
        maxHeaderSize: 16 * 1024,
      },
      (request, response) => void this.#onRequest(request, response),
    );
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** @returns its base URL. @throws MANX_PORT_IN_USE, MANX_ADDRESS */
  start({ host, port }: AdminConfig): Promise<string> {
    return listen(this.#server, { host, port });
  }

  close(): Promise<void> {
    return close(this.#server, { cutOpen: true });
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Bodies say nothing here; what is not read must not hold the connection either.
    request.resume();
    try {
      this.#refuse(request);
      const [path = "", query = ""] = (request.url ?? "").split("?", 2);
      const answer = this.#routes[`${request.method} ${path}`];
      if (answer === undefined) {
        throw new ManxError("MANX_ROUTE_UNKNOWN", {
          expected: `one of ${Object.keys(this.#routes).join(", ")}`,
          got: `${request.method} ${path}`.slice(0, 100),
        });
      }
      const value = await answer(new URLSearchParams(query));
      sendJson(response, 200, value, NOT_KEPT);
    } catch (thrown) {
      sendError(response, toManxError(thrown));
    }
  }

  /** @throws MANX_UNAUTHENTICATED, MANX_RATE_LIMITED */
  #refuse({ headers, socket }: IncomingMessage): void {
    const { admin } = this.#operations.config();
    // A reload may have taken it away; the port stays open until the restart.
    if (admin === null) throw new ManxError("MANX_UNAUTHENTICATED");
    const address = socket.remoteAddress ?? "";
    const refusal = this.#keys.refusal(headers.authorization, admin.key, address);
    if (refusal !== undefined) throw refusal;
  }
}

/** What it answers is of this moment and nobody else's business. */
const NOT_KEPT = { "cache-control": "no-store" };

function routesOf(operations: Operations): Record<string, Answer> {
  return {
    "GET /admin/config": () => shownConfig(operations.config()),
    "GET /admin/state": () => operations.state(),
    "POST /admin/drain": async (query) => {
      const place = placeIn(query);
      await operations.drain(place);
      return { drained: place };
    },
    "POST /admin/resume": async (query) => {
      const place = placeIn(query);
      await operations.resume(place);
      return { resumed: place };
    },
    "POST /admin/reload": () => operations.reload(),
  };
}

/** @throws MANX_REQUEST_INVALID */
function placeIn(query: URLSearchParams): DrainedPlace {
  const upstream = query.get("upstream");
  const stray = [...query.keys()].find((name) => name !== "upstream" && name !== "url");
  if (upstream === null || stray !== undefined) {
    throw new ManxError("MANX_REQUEST_INVALID", {
      what: upstream === null ? "no upstream is named" : "a parameter that is none",
      where: "query",
      expected: "upstream, the name of one, and url, if only one of its addresses is meant",
      ...(stray !== undefined && { got: stray.slice(0, 100) }),
    });
  }
  return { upstream, url: query.get("url") };
}

function sendError(response: ServerResponse, error: ManxError): void {
  // What the table has no status for is a fault of the request if it is one of usage.
  const status = error.kind.status ?? (error.exit === 2 ? 400 : 500);
  const { retryAfterUs } = error.details ?? {};
  const retry =
    typeof retryAfterUs === "number"
      ? { "retry-after": String(Math.max(1, Math.ceil(retryAfterUs / US_PER_S))) }
      : {};
  sendJson(response, status, { error: error.toJSON() }, { ...NOT_KEPT, ...retry });
}
