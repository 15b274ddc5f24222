/** One call between a caller and an upstream of different formats: its request, and what its answer is made from. */
import type { IncomingHttpHeaders } from "node:http";
import { ManxError } from "../core/index.ts";
import { parseJsonObject } from "../http/index.ts";
import type { StreamFormat } from "../stream/index.ts";
import { keepOwnReasoning, translateRequest } from "../translate/index.ts";
import type { UpstreamConfig } from "./config/index.ts";
import { FOR_THE_ENGINE, type HeaderList } from "./headers.ts";
import type { Route } from "./routes.ts";

export interface Translation {
  /** The upstream's. */
  readonly from: StreamFormat;
  /** The caller's. */
  readonly to: StreamFormat;
  /** As the caller named it. */
  readonly model: string;
  readonly includeUsage: boolean;
  /** Of the answer, if the upstream gives it none. */
  readonly id: string;
  readonly createdS: number;
}

export interface TranslatedCall {
  readonly path: string;
  readonly body: Buffer;
  readonly translation: Translation;
}

/** What each API can be asked for as it is, by route. */
const SPOKEN: Readonly<Record<"openai" | "anthropic", ReadonlySet<string>>> = {
  openai: new Set(["chat/completions", "responses", "completions", "embeddings", "models"]),
  anthropic: new Set(["messages", "messages/count_tokens", "models"]),
};
const SPEAKS = {
  openai: { format: "openai-chat", path: "/v1/chat/completions" },
  anthropic: { format: "anthropic-messages", path: "/v1/messages" },
} as const;

/**
 * @returns the formats to go between, or null if the upstream can be asked as it is.
 * @throws MANX_ROUTE_UNKNOWN if the upstream has nothing like it.
 */
export function translationFor(
  route: Route,
  { format, name }: UpstreamConfig,
): { from: StreamFormat; to: StreamFormat; path: string } | null {
  if (format === "any" || SPOKEN[format].has(route.name)) return null;
  if (route.format === null) {
    throw new ManxError("MANX_ROUTE_UNKNOWN", {
      what: `upstream ${name} has no equal of this path`,
      where: "request line",
      expected: `one of ${[...SPOKEN[format]].join(", ")}`,
      got: route.name,
    });
  }
  const { format: from, path } = SPEAKS[format];
  return { from, to: route.format, path };
}

/** @throws MANX_REQUEST_INVALID, MANX_TRANSLATE_FIELD */
export function translateCall(
  body: Buffer,
  between: { from: StreamFormat; to: StreamFormat; path: string },
  answer: {
    readonly model: string | null;
    readonly id: string;
    readonly createdS: number;
    readonly hostedTools: UpstreamConfig["hostedTools"];
  },
): TranslatedCall {
  const { from, to, path } = between;
  const value = parseJsonObject(body);
  const { hostedTools } = answer;
  const options = { hostedTools, ...(answer.model !== null && { model: answer.model }) };
  const translated = translateRequest(value, to, from, options);
  const { model, includeUsage } = translated.wants;
  return {
    path,
    body: writeJson(translated.body),
    translation: { from, to, model, includeUsage, id: answer.id, createdS: answer.createdS },
  };
}

/** What a body with reasoning of another format's upstream has in it; one that has none of this goes on as it came. */
const FOREIGN_MARKS = ['"manx.', '"signature":""', '"signature": ""'] as const;

/**
 * For a call that goes on in its own format: reasoning in it that another format's upstream has given would be refused.
 * @returns undefined if there is none of it.
 */
export function withoutForeignReasoning(
  body: Buffer,
  format: StreamFormat,
): Readonly<Record<string, unknown>> | undefined {
  if (!FOREIGN_MARKS.some((mark) => body.includes(mark))) return undefined;
  let value: Readonly<Record<string, unknown>>;
  try {
    value = parseJsonObject(body);
  } catch {
    // The upstream will say so, in its own words.
    return undefined;
  }
  const own = keepOwnReasoning(value, format);
  return own.dropped === 0 ? undefined : (own.body as Readonly<Record<string, unknown>>);
}

/** What can be read can be nested deeper than can be written: V8's writer needs stack, its reader none. */
export function writeJson(value: unknown): Buffer {
  try {
    return Buffer.from(JSON.stringify(value));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const what = "the body is nested too deeply to be translated";
    throw new ManxError("MANX_REQUEST_INVALID", { what, where: "request body", cause });
  }
}

/** Anthropic's API asks for it; this is the version that the formats here are those of. */
const ANTHROPIC_VERSION = "2023-06-01";

/**
 * What the other API's own clients would send beside the body, and what is for an engine's twin whatever its API.
 * @param passesKey the caller's key is for the upstream, in the header of the caller's API.
 */
export function translatedHeaders(
  from: StreamFormat,
  caller: IncomingHttpHeaders,
  passesKey: boolean,
): HeaderList {
  const headers: HeaderList = ["content-type", "application/json"];
  if (from === "anthropic-messages") headers.push("anthropic-version", ANTHROPIC_VERSION);
  for (const name of FOR_THE_ENGINE) {
    const value = caller[name];
    if (typeof value === "string") headers.push(name, value);
  }
  if (!passesKey) return headers;
  const bearer = /^Bearer (.+)$/i.exec(caller.authorization ?? "")?.[1];
  const xApiKey = caller["x-api-key"];
  const key = bearer ?? (typeof xApiKey === "string" ? xApiKey : undefined);
  if (key === undefined) return headers;
  if (from === "anthropic-messages") headers.push("x-api-key", key);
  else headers.push("authorization", `Bearer ${key}`);
  return headers;
}
