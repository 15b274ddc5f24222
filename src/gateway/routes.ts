/**
 * The paths that the gateway forwards: a closed list, matched exactly, so that no request can reach another part of the
 * upstream by an odd path. A route's name is also its metric label, which bounds that label.
 */
import { type ErrorDialect, ManxError } from "../core/index.ts";
import type { StreamFormat } from "../stream/index.ts";

export interface Route {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly dialect: ErrorDialect;
  /** What it can be translated from and into, continued in and laid out for the cache; null if none of that. */
  readonly format: StreamFormat | null;
  /** How its event streams are read on the side; null for those that no decoder knows. */
  readonly reads: StreamFormat | null;
}

function post(
  name: string,
  dialect: ErrorDialect,
  format: StreamFormat | null,
  reads: StreamFormat | null = format,
): [string, Route] {
  return [`/v1/${name}`, { name, method: "POST", dialect, format, reads }];
}

const MODELS: Route = {
  name: "models",
  method: "GET",
  dialect: "openai",
  format: null,
  reads: null,
};

const ROUTES: ReadonlyMap<string, Route> = new Map([
  post("chat/completions", "openai", "openai-chat"),
  post("messages", "anthropic", "anthropic-messages"),
  post("messages/count_tokens", "anthropic", null),
  // Its chunks are those of chats with a `text` in place of a delta.
  post("completions", "openai", null, "openai-chat"),
  post("responses", "openai", "openai-responses"),
  post("embeddings", "openai", null),
  ["/v1/models", MODELS],
]);

/** One model by name. Names hold slashes (`meta/llama`), but no dot segment and nothing percent-encoded to hide one. */
const ONE_MODEL = /^\/v1\/models\/(?!.*\.\.)[\w.:@/-]+$/;

/**
 * @param target of the request line, with its query.
 * @throws MANX_ROUTE_UNKNOWN
 */
export function findRoute(method: string, target: string): Route {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  const route = ROUTES.get(path) ?? (ONE_MODEL.test(path) ? MODELS : undefined);
  if (route !== undefined && route.method === method) return route;
  throw new ManxError("MANX_ROUTE_UNKNOWN", {
    where: "request line",
    expected: route === undefined ? `one of ${[...ROUTES.keys()].join(", ")}` : route.method,
    // A query may hold a key; the path alone says what is wrong.
    got: `${method} ${path.slice(0, 200)}`,
  });
}

/** The caller's dialect, guessed where no route matched: an Anthropic client always sends its version. */
export function guessDialect(target: string, anthropicVersion: unknown): ErrorDialect {
  return target.startsWith("/v1/messages") || anthropicVersion !== undefined
    ? "anthropic"
    : "openai";
}
