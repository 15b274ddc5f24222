/** What a request asks of the gateway: which model's targets may answer it and under which terms; and how it looks to each of them. */
import type { IncomingHttpHeaders } from "node:http";
import { ManxError } from "../core/index.ts";
import { parseJsonObject } from "../http/index.ts";
import { type CallRequest, inCanonicalOrder, type PlacedRequest } from "../policy/index.ts";
import {
  isRepeatable,
  peekRequest,
  promptTokensAbout,
  type RequestPeek,
  replaceModel,
  type StreamFormat,
} from "../stream/index.ts";
import { laidOutBody } from "./cache-marks/index.ts";
import { readTerms } from "./caller-terms.ts";
import { canBePrefilled, type Prefill, prefillBody } from "./continuation/index.ts";
import { requestHeaders } from "./headers.ts";
import { carriesKey } from "./keys/index.ts";
import type { Line, ModelRoute, ModelRoutes } from "./model-routes.ts";
import { promptShape } from "./replicas/index.ts";
import type { Route } from "./routes.ts";
import {
  type Translation,
  translateCall,
  translatedHeaders,
  translationFor,
  withoutForeignReasoning,
  writeJson,
} from "./translation.ts";
import type { UpstreamRequest } from "./transport/channel.ts";

export interface ClientRequest {
  /** Path and query, as the client sent them. */
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  /** Whole; empty if there is none. */
  readonly body: Buffer;
}

export interface IntentContext {
  readonly routes: ModelRoutes;
  /** Name of this gateway in `Via`. */
  readonly via: string;
  readonly receivedUs: number;
  /** Unix time. */
  readonly wallMs: number;
  /** The caller's key is one of this gateway's own: it goes no further. */
  readonly hidesKey: boolean;
}

/** The call as one target gets it. */
export interface Outgoing {
  readonly request: UpstreamRequest;
  /** null: the answer is passed on byte for byte. */
  readonly translation: Translation | null;
}

/** Formats whose streams can be gone on with after any frame; that of responses counts and repeats too much. */
const SPLICED: ReadonlySet<StreamFormat | null> = new Set(["openai-chat", "anthropic-messages"]);
const NO_PREFIX: readonly number[] = [];

export class CallIntent {
  readonly route: Route;
  readonly model: ModelRoute;
  readonly call: CallRequest;
  /** As the caller named it; "" if it did not. */
  readonly modelName: string;
  /** Tries that the caller's own SDK has made before. */
  readonly callerRetries: number;
  readonly #request: ClientRequest;
  readonly #context: IntentContext;
  readonly #peek: RequestPeek | undefined;
  #prefixIds: readonly number[] | undefined;
  #parsed: Readonly<Record<string, unknown>> | undefined;
  /** The newest attempt's request has cache marks of this gateway's, which should work. */
  hasCachePlan = false;

  /** @throws MANX_REQUEST_INVALID, MANX_MODEL_UNKNOWN */
  constructor(route: Route, request: ClientRequest, context: IntentContext) {
    this.route = route;
    this.#request = request;
    this.#context = context;
    const { body, headers } = request;
    const { receivedUs } = context;
    const peek = route.method === "POST" && body.length > 0 ? peekRequest(body) : undefined;
    this.#peek = peek;
    this.modelName = peek?.model ?? "";
    this.model = context.routes.find(peek?.model);
    const isStream = (peek?.isStream ?? false) && route.reads !== null;
    const { deadlineUs, retries } = readTerms(headers, receivedUs, isStream);
    this.callerRetries = retries;
    const readRepeatable = (): boolean =>
      peek === undefined || isRepeatable(body, peek, route.name === "responses");
    const inputTokens = promptTokensAbout(body.length);
    this.call = new ReadCall({ inputTokens, isStream, receivedUs, deadlineUs }, readRepeatable);
  }

  /** undefined if the caller sets none. */
  get outputTokensMax(): number | undefined {
    return this.#peek?.outputTokensMax;
  }

  /** A text that breaks off may be gone on with: the policy wants it and the caller's format can be spliced. */
  get mayContinue(): boolean {
    const { continueByPrefill } = this.model.policy.stall;
    return continueByPrefill && this.call.isStream && SPLICED.has(this.route.format);
  }

  /** @param tokens of the answer so far. */
  canBePrefilled(tokens: number): boolean {
    try {
      return canBePrefilled(this.#read(), tokens);
    } catch {
      // What cannot be read cannot be added to.
      return false;
    }
  }

  /** Chat completions: the caller has asked for a chunk with the tokens. */
  get wantsUsage(): boolean {
    const { stream_options: options } = this.#read();
    return (options as { include_usage?: unknown } | null | undefined)?.include_usage === true;
  }

  #read(): Readonly<Record<string, unknown>> {
    this.#parsed ??= parseJsonObject(this.#request.body);
    return this.#parsed;
  }

  /**
   * For the choice of a replica.
   * @param excluded replicas that have failed with it.
   * @throws MANX_REQUEST_INVALID if the prompt is wanted and cannot be read.
   */
  placed(wantsPrefix: boolean, excluded: readonly number[]): PlacedRequest {
    const tokens = this.call.inputTokens;
    const prefixIds = wantsPrefix ? this.#prefix() : NO_PREFIX;
    return { prefixIds, tokens, excluded };
  }

  #prefix(): readonly number[] {
    this.#prefixIds ??= promptShape(this.#read()).prefixIds;
    return this.#prefixIds;
  }

  /**
   * @param prefix before each path at the upstream.
   * @param prefill what of the answer there is already, to be gone on with.
   * @throws MANX_ROUTE_UNKNOWN, MANX_TRANSLATE_FIELD, MANX_REQUEST_INVALID
   */
  outgoing(line: Line, prefix: string, prefill?: Prefill): Outgoing {
    const outgoing = this.#laidOut(this.#outgoing(line, prefix), line);
    const { body } = outgoing.request;
    if (prefill === undefined || body === null) return outgoing;
    const format = outgoing.translation?.from ?? this.route.format!;
    const { kind } = line.upstream.config;
    const prefilled = prefillBody(body, prefill, { kind, format });
    return { ...outgoing, request: { ...outgoing.request, body: prefilled } };
  }

  /** For the upstream's prompt cache, if its model is to be. */
  #laidOut(outgoing: Outgoing, line: Line): Outgoing {
    const { cacheMarks } = this.model;
    const { body } = outgoing.request;
    const format = outgoing.translation?.from ?? this.route.format;
    if (cacheMarks === null || body === null || format === null) return outgoing;
    const model = line.model ?? this.modelName;
    const laidOut = laidOutBody(body, cacheMarks, { format, model });
    this.hasCachePlan = laidOut.isPlanned;
    return { ...outgoing, request: { ...outgoing.request, body: laidOut.body } };
  }

  /** The prompt as it is sent, for comparing it with others; undefined if nobody wants to. */
  get watchedBody(): Readonly<Record<string, unknown>> | undefined {
    const { cacheMarks } = this.model;
    if (cacheMarks === null || this.route.format === null) return undefined;
    try {
      return cacheMarks.order ? inCanonicalOrder(this.#read()) : this.#read();
    } catch {
      // What cannot be read ends the call by itself.
      return undefined;
    }
  }

  #outgoing(line: Line, prefix: string): Outgoing {
    const { upstream, model } = line;
    const between = translationFor(this.route, upstream.config);
    if (between === null) return { request: this.#asItIs(line, prefix), translation: null };
    const { via, wallMs, receivedUs, hidesKey } = this.#context;
    const { path, body, translation } = translateCall(this.#request.body, between, {
      model,
      id: `manx-${receivedUs.toString(36)}`,
      createdS: Math.floor(wallMs / 1_000),
      hostedTools: upstream.config.hostedTools,
    });
    const passesKey = upstream.credentials === null && !hidesKey;
    const headers = [
      ...translatedHeaders(between.from, this.#request.headers, passesKey),
      ...["accept-encoding", "identity"],
      ...(upstream.credentials ?? []),
      ...["via", `1.1 ${via}`],
    ];
    return { request: { method: "POST", path: prefix + path, headers, body }, translation };
  }

  #asItIs({ upstream, model }: Line, prefix: string): UpstreamRequest {
    const { rawHeaders, target } = this.#request;
    const { via, hidesKey } = this.#context;
    const sent = this.#ownBody(upstream, model);
    return {
      method: this.route.method,
      path: prefix + target,
      headers: requestHeaders(rawHeaders, {
        via,
        credentials: upstream.credentials,
        isOwnKey: hidesKey ? carriesKey : undefined,
        inTheClear: this.route.method === "POST",
      }),
      body: sent.length === 0 ? null : sent,
    };
  }

  /** As it came but for the model's name, and for reasoning that only another provider would take back. */
  #ownBody(upstream: Line["upstream"], model: string | null): Buffer {
    const { body } = this.#request;
    const { format } = this.route;
    // Of what an upstream for any format makes of a body, nothing is known.
    if (format !== null && upstream.config.format !== "any") {
      const own = withoutForeignReasoning(body, format);
      if (own !== undefined) return writeJson(model === null ? own : { ...own, model });
    }
    const span = this.#peek?.modelSpan;
    if (model === null || span === undefined) return body;
    return bufferOf(replaceModel(body, span, model));
  }
}

/** A class, since V8 gives each object with a getter of its own a form of its own, at some microseconds a call. */
class ReadCall implements CallRequest {
  readonly inputTokens: number;
  readonly isStream: boolean;
  readonly receivedUs: number;
  readonly deadlineUs: number;
  readonly #readRepeatable: () => boolean;
  #isRepeatable: boolean | undefined;

  constructor(facts: Omit<CallRequest, "isRepeatable">, readRepeatable: () => boolean) {
    this.inputTokens = facts.inputTokens;
    this.isStream = facts.isStream;
    this.receivedUs = facts.receivedUs;
    this.deadlineUs = facts.deadlineUs;
    this.#readRepeatable = readRepeatable;
  }

  /** The tools have to be read for it, so only once somebody asks. */
  get isRepeatable(): boolean {
    this.#isRepeatable ??= this.#readRepeatable();
    return this.#isRepeatable;
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
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
