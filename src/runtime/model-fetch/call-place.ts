/**
 * A place that a call can go to, and the request as it goes there. A caller's key is for whom the caller has named: to any
 * other origin, and wherever a target brings headers of its own, the caller's credentials do not go. What a target's
 * headers hold is in no error and no trace.
 */
import { CREDENTIAL_HEADERS, ManxError } from "../../core/index.ts";
import { replaceModel } from "../../stream/index.ts";
import { DEADLINE_HEADER } from "../deadline.ts";
import { parsedUrl } from "./gateway-origins.ts";
import type { ModelRequest } from "./model-request.ts";
import { renamedPath } from "./model-wire.ts";

/** What `new Headers` takes. Not the name of the DOM's library, which a project for Node may not have. */
type HeaderFields = NonNullable<ConstructorParameters<typeof Headers>[0]>;

export interface ModelTarget {
  /** In records and traces. */
  readonly name: string;
  /** As the SDK would be given it. Default: where the caller's request goes. */
  readonly baseURL?: string;
  /**
   * Asked for each attempt, such as a key: `() => ({ authorization: "Bearer " + key })`. They stand in place of the caller's
   * credentials and over its other headers.
   */
  readonly headers?: () => HeaderFields | Promise<HeaderFields>;
  /** Its name for the model. Default: the caller's. */
  readonly model?: string;
  /** Lower ones first; the next order is for when none of these can be used. Default: as they stand in the list. */
  readonly order?: number;
  /** Share among targets of one order, above 0. Default 1. */
  readonly weight?: number;
}

export interface OutgoingRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** Gemini's key may stand in the query. */
const KEY_PARAMETER = "key";

export class CallPlace {
  readonly name: string;
  readonly order: number;
  readonly weight: number;
  readonly #target: ModelTarget;
  readonly #base: URL | undefined;

  /** @throws MANX_URL, MANX_FLAG_VALUE */
  constructor(target: ModelTarget, at: number) {
    const { name, baseURL, order = at, weight = 1 } = target;
    if (
      typeof name !== "string" ||
      name === "" ||
      !(weight > 0 && weight < Number.POSITIVE_INFINITY) ||
      !Number.isFinite(order)
    ) {
      throw new ManxError("MANX_FLAG_VALUE", {
        where: `targets[${at}]`,
        expected: "a name, a weight above 0 and an order",
        got: JSON.stringify({ name, weight, order }),
      });
    }
    this.name = name;
    this.order = order;
    this.weight = weight;
    this.#target = target;
    this.#base = baseURL === undefined ? undefined : parsedUrl(baseURL, `targets[${at}].baseURL`);
  }

  originFor({ url }: ModelRequest): string {
    return this.#base?.origin ?? url.origin;
  }

  /**
   * @param leftMs of the deadline, for a gateway; undefined if it is told none.
   * @throws what has no secret in it: a ManxError.
   */
  async outgoing(request: ModelRequest, leftMs: number | undefined): Promise<OutgoingRequest> {
    const headers = await this.#headers(request);
    // The body may become another one, and its length is `fetch`'s business.
    headers.delete("content-length");
    if (leftMs !== undefined) {
      const own = Number(headers.get(DEADLINE_HEADER) ?? Number.NaN);
      headers.set(DEADLINE_HEADER, String(own > 0 ? Math.min(own, leftMs) : leftMs));
    }
    const { body, peek } = request;
    const { model } = this.#target;
    const isRenamed = model !== undefined && peek.modelSpan !== undefined;
    const sent = isRenamed ? replaceModel(body, peek.modelSpan, model) : body;
    return {
      url: this.#url(request).href,
      init: { ...request.init, method: "POST", headers, body: sent as Uint8Array<ArrayBuffer> },
    };
  }

  async #headers(request: ModelRequest): Promise<Headers> {
    const headers = new Headers(request.headers);
    const { headers: own } = this.#target;
    if (own === undefined && this.originFor(request) === request.url.origin) return headers;
    for (const name of CREDENTIAL_HEADERS) headers.delete(name);
    if (own === undefined) return headers;
    try {
      new Headers(await own()).forEach((value, name) => {
        headers.set(name, value);
      });
    } catch {
      // What was thrown may name the header's value.
      throw new ManxError("MANX_SECRET_MISSING", {
        what: "a target's headers cannot be made",
        where: `target ${this.name}`,
        hint: "see what its headers() does: it must answer headers, and not throw",
      });
    }
    return headers;
  }

  #url(request: ModelRequest): URL {
    const { model } = this.#target;
    const base = this.#base;
    const rest = model === undefined ? request.rest : renamedPath(request.rest, model);
    const url = new URL(request.url);
    if (base === undefined) {
      url.pathname = url.pathname.slice(0, -request.rest.length) + rest;
      return url;
    }
    const path = base.pathname.replace(/\/+$/, "");
    const isTwice = path.endsWith("/v1") && rest.startsWith("/v1/");
    const moved = new URL(base.origin);
    moved.pathname = path + (isTwice ? rest.slice("/v1".length) : rest);
    moved.search = url.search;
    if (base.origin !== url.origin) moved.searchParams.delete(KEY_PARAMETER);
    return moved;
  }
}
