/**
 * Where a generating request is taken in: read, understood, checked, met by its fault, and handed to the engine with the
 * way in which its answer will leave. Whatever is wrong with it is thrown before anything has been answered.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import type { EngineConfig } from "../engine/index.ts";
import { parseJsonObject, readBody } from "../http/index.ts";
import { Answer } from "./answer.ts";
import { type CallRequest, parseChatRequest, parseCompletionRequest } from "./call-request.ts";
import type { Fault } from "./fault.ts";
import type { FaultDesk } from "./fault-desk.ts";
import type { Fields } from "./fields.ts";
import { LiveCall } from "./live-call.ts";
import type { LiveEngine } from "./live-engine.ts";
import { ChatForm, CompletionForm, type ResponseForm, type ResponseHead } from "./response-form.ts";
import { withScript } from "./script-header.ts";
import { tenantOf } from "./tenant.ts";
import { mix } from "./token-text.ts";

interface Endpoint {
  readonly idPrefix: string;
  readonly parse: (body: Fields, pieceTokens?: number) => CallRequest;
  readonly form: (head: ResponseHead) => ResponseForm;
}

const ENDPOINTS = {
  chat: {
    idPrefix: "chatcmpl-",
    parse: parseChatRequest,
    form: (head) => new ChatForm(head),
  },
  completion: {
    idPrefix: "cmpl-",
    parse: parseCompletionRequest,
    form: (head) => new CompletionForm(head),
  },
} as const satisfies Record<string, Endpoint>;

/** A request that may go to the engine. */
interface Arrival {
  readonly endpoint: Endpoint;
  readonly asked: CallRequest;
  readonly fault: Fault | undefined;
  readonly tenant: string;
  readonly response: ServerResponse;
  readonly arrivedUs: number;
}

export interface CallDeskOptions {
  readonly live: LiveEngine;
  readonly faults: FaultDesk;
  readonly clock: Clock;
  readonly config: EngineConfig;
  readonly servedModel: string;
  readonly seed: number;
  readonly bodyBytesMax: number;
  /** @throws if the server takes nothing more. */
  readonly assertOpen: () => void;
}

export class CallDesk {
  readonly #options: CallDeskOptions;
  readonly #seed: number;
  #ids = 0;

  constructor(options: CallDeskOptions) {
    this.#options = options;
    // A seed has up to 53 bits; all of them count.
    this.#seed = mix(options.seed >>> 0, Math.floor(options.seed / 2 ** 32));
  }

  async take(
    kind: keyof typeof ENDPOINTS,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { live, faults, clock, bodyBytesMax, assertOpen } = this.#options;
    const endpoint = ENDPOINTS[kind];
    assertOpen();
    const read = parseJsonObject(await readBody(request, bodyBytesMax));
    const body = withScript(read, request.headers["x-manx-script"]);
    const arrivedUs = clock.nowUs();
    const asked = endpoint.parse(body, live.pieceTokens);
    this.#assertServed(asked.model);
    this.#assertOrdered(asked);
    const tenant = tenantOf(request.headers, asked.user);
    const fault = faults.faultOf(request, body);
    // Others may have come in while the body did, and this client may have gone.
    assertOpen();
    if (response.destroyed) return;
    if (faults.instead(fault, response)) return;
    const call = this.#callOf({ endpoint, asked, fault, tenant, response, arrivedUs });
    const submitted = live.submit(call);
    response.on("close", () => live.abort(submitted));
    call.delivery.accepted();
  }

  /** @throws MANX_REQUEST_NEVER_FITS by the limit that the caller set, as real engines check it. */
  #callOf({ endpoint, asked, fault, tenant, response, arrivedUs }: Arrival): LiveCall {
    const { live, faults, clock, servedModel } = this.#options;
    const promptTokens = asked.prompt.tokens;
    const outputTokens = asked.maxTokens ?? asked.outputTokens ?? 1;
    live.assertFits({ promptTokens, outputTokens });
    const answer = new Answer(asked, live.roomTokens - promptTokens, this.#seed);
    const head: ResponseHead = {
      id: endpoint.idPrefix + this.#nextId(),
      model: servedModel,
      createdS: Math.floor(clock.wallMs() / 1_000),
    };
    const { stream, includeUsage } = asked;
    const wish = { stream, includeUsage, head, form: endpoint.form };
    const delivery = faults.deliveryOf(fault, { response, answer, promptTokens }, wish);
    return new LiveCall({ request: asked, answer, delivery, arrivedUs, tenant });
  }

  #assertServed(model: string | undefined): void {
    const { servedModel } = this.#options;
    if (model === undefined || model === servedModel) return;
    throw new ManxError("MANX_MODEL_UNKNOWN", {
      where: "model",
      expected: JSON.stringify(servedModel),
      got: JSON.stringify(model.slice(0, 100)),
    });
  }

  /** As vLLM: a class without a meaning is refused, not ignored. */
  #assertOrdered({ priority }: CallRequest): void {
    const { order } = this.#options.config;
    if (priority === 0 || order === "priority") return;
    throw new ManxError("MANX_REQUEST_INVALID", {
      what: "priority scheduling is not enabled",
      where: "priority",
      expected: `0 with order "${order}"`,
      got: String(priority),
      hint: "start the engine with --order priority",
    });
  }

  /** The same in every run, and no two alike in one. */
  #nextId(): string {
    this.#ids += 1;
    const hex = (value: number): string => value.toString(16).padStart(8, "0");
    return hex(mix(this.#seed, this.#ids)) + hex(this.#ids);
  }
}
