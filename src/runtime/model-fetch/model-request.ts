/**
 * What the caller of `fetch` asks for, read once, so that it can be sent more than once. What is no call of a model, or has a
 * body that cannot be read, is passed through as it came: it may be anything, and is sent exactly once.
 */
import {
  isRepeatable,
  peekRequest,
  promptTokensAbout,
  type RequestPeek,
} from "../../stream/index.ts";
import { type FoundWire, findWire, type ModelWire } from "./model-wire.ts";

type FetchInput = Parameters<typeof fetch>[0];

export interface ModelRequest {
  readonly url: URL;
  readonly wire: ModelWire;
  /** The API's own part of the path. */
  readonly rest: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly peek: RequestPeek;
  /** As the caller named it; "" if it did not. */
  readonly model: string;
  readonly isStream: boolean;
  readonly isRepeatable: boolean;
  readonly inputTokens: number;
  readonly signal: AbortSignal | undefined;
  /** All else that the caller has set: redirects, a dispatcher, … */
  readonly init: RequestInit;
}

export type ReadRequest =
  | { readonly model: ModelRequest }
  | { readonly model: null; readonly input: FetchInput; readonly init: RequestInit | undefined };

const encoder = new TextEncoder();

/** @throws TypeError as `fetch` does, for headers that are none. */
export async function readRequest(
  input: FetchInput,
  init: RequestInit | undefined,
): Promise<ReadRequest> {
  const asItIs: ReadRequest = { model: null, input, init };
  const isRequest = typeof input === "object" && "url" in input;
  const method = (init?.method ?? (isRequest ? input.method : "GET")).toUpperCase();
  const url = urlOf(isRequest ? input.url : String(input));
  const found = url === undefined || method !== "POST" ? undefined : findWire(url.pathname);
  if (url === undefined || found === undefined) return asItIs;
  if (!isRequest) {
    const body = bytesOf(init?.body);
    if (body === undefined) return asItIs;
    const model = modelRequest({ url, found, body, init: init ?? {} });
    return model === undefined ? asItIs : { model };
  }
  // From here on its body is read, as it would be by `fetch`.
  const request = new Request(input, init);
  const body = new Uint8Array(await request.arrayBuffer());
  const whole = { ...initOf(request), ...init, method, headers: request.headers, body };
  const model = modelRequest({ url, found, body, init: { signal: request.signal, ...whole } });
  return model === undefined ? { model: null, input: url, init: whole } : { model };
}

function modelRequest(parts: {
  readonly url: URL;
  readonly found: FoundWire;
  readonly body: Uint8Array;
  readonly init: RequestInit;
}): ModelRequest | undefined {
  const { url, found, body, init } = parts;
  const peek = peekOf(body);
  if (peek === undefined || (found.wire.needsModel && peek.model === undefined)) return undefined;
  const { headers, body: _, signal, ...rest } = init;
  return {
    url,
    wire: found.wire,
    rest: found.rest,
    headers: new Headers(headers),
    body,
    peek,
    model: found.model ?? peek.model ?? "",
    isStream: found.isStream ?? peek.isStream,
    isRepeatable: isRepeatable(body, peek, found.wire.storesByDefault),
    inputTokens: promptTokensAbout(body.length),
    signal: signal ?? undefined,
    init: rest,
  };
}

function peekOf(body: Uint8Array): RequestPeek | undefined {
  try {
    return peekRequest(body);
  } catch {
    return undefined;
  }
}

/** @returns undefined for a body that can be read only once, or is no text. */
function bytesOf(body: BodyInit | null | undefined): Uint8Array | undefined {
  if (typeof body === "string") return encoder.encode(body);
  if (body instanceof Uint8Array) return body;
  return body instanceof ArrayBuffer ? new Uint8Array(body) : undefined;
}

function urlOf(text: string): URL | undefined {
  const { location } = globalThis as { location?: { href?: string } };
  try {
    return new URL(text, location?.href);
  } catch {
    return undefined;
  }
}

/** What of a request is not in its head or body, and may be said again. */
function initOf(request: Request): RequestInit {
  const { cache, credentials, integrity, keepalive, redirect, referrerPolicy } = request;
  return { cache, credentials, integrity, keepalive, redirect, referrerPolicy };
}
