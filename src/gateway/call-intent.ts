/** What a request asks of the gateway: which model's targets may answer it and under which terms; and how it looks to each of them. */
import type { IncomingHttpHeaders } from "node:http";
import { ManxError } from "../core/index.ts";
import type { CallRequest } from "../policy/index.ts";
import type { UpstreamRequest } from "./attempt.ts";
import { readTerms } from "./caller-terms.ts";
import { requestHeaders } from "./headers.ts";
import type { Line, ModelRoute, ModelRoutes } from "./model-routes.ts";
import { hasServerTools, peekRequest, type RequestPeek, replaceModel } from "./request-peek.ts";
import type { Route } from "./routes.ts";

export interface ClientRequest {
  /** Path and query, as the client sent them. */
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  /** Whole; empty if there is none. */
  readonly body: Buffer;
}

/** Bytes of a request's JSON per token of its prompt, about: English text has four a token, and JSON around it. */
const BYTES_PER_TOKEN = 4.5;

export class CallIntent {
  readonly route: Route;
  readonly model: ModelRoute;
  readonly call: CallRequest;
  /** Tries that the caller's own SDK has made before. */
  readonly callerRetries: number;
  readonly #request: ClientRequest;
  readonly #peek: RequestPeek | undefined;

  /** @throws MANX_REQUEST_INVALID, MANX_MODEL_UNKNOWN */
  constructor(route: Route, request: ClientRequest, routes: ModelRoutes, receivedUs: number) {
    this.route = route;
    this.#request = request;
    const { body, headers } = request;
    const peek = route.method === "POST" && body.length > 0 ? peekRequest(body) : undefined;
    this.#peek = peek;
    this.model = routes.find(peek?.model);
    const isStream = peek?.isStream ?? false;
    const { deadlineUs, retries } = readTerms(headers, receivedUs, isStream);
    this.callerRetries = retries;
    let isRepeatable: boolean | undefined;
    this.call = {
      inputTokens: Math.ceil(body.length / BYTES_PER_TOKEN),
      isStream: isStream && route.format !== null,
      // The tools have to be read for it, so only once somebody asks.
      get isRepeatable(): boolean {
        isRepeatable ??= isRepeatableCall(route, body, peek);
        return isRepeatable;
      },
      receivedUs,
      deadlineUs,
    };
  }

  /** undefined if the caller sets none. */
  get outputTokensMax(): number | undefined {
    return this.#peek?.outputTokensMax;
  }

  /** The request as one target gets it. */
  requestFor(line: Line, via: string): UpstreamRequest {
    const { rawHeaders, target, body } = this.#request;
    const span = this.#peek?.modelSpan;
    const sent =
      line.model === null || span === undefined ? body : replaceModel(body, span, line.model);
    return {
      method: this.route.method,
      path: line.upstream.prefix + target,
      headers: requestHeaders(rawHeaders, {
        via,
        credentials: line.upstream.credentials,
        inTheClear: this.route.method === "POST",
      }),
      body: sent.length === 0 ? null : sent,
    };
  }
}

/** Whether it may be computed twice: nothing is stored for later, runs on by itself, or acts at the provider's. */
function isRepeatableCall(route: Route, body: Buffer, peek: RequestPeek | undefined): boolean {
  if (peek === undefined) return true;
  // The responses API stores unless it is told not to.
  const stores = peek.store ?? route.name === "responses";
  return !stores && !peek.isBackground && !hasServerTools(body, peek.toolsSpan);
}

/** @throws MANX_REQUEST_ENCODED: what is compressed cannot be bounded before it is unpacked. */
export function refuseEncoded(headers: IncomingHttpHeaders): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  throw new ManxError("MANX_REQUEST_ENCODED", {
    where: "content-encoding",
    expected: "identity",
    got: JSON.stringify(encoding.slice(0, 40)),
  });
}
