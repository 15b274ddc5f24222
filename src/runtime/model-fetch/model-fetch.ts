/**
 * A `fetch` for calls of models, to be given to any SDK: time-outs by phase, retries before content only, hedges, failover and
 * one deadline, by the rules of `policy/call` that the gateway runs by as well.
 *
 *     const client = new OpenAI({ fetch: modelFetch({ policy: { hedge: true } }), maxRetries: 0 });
 */
import { type Clock, Random, realClock, secretBytes } from "../../clock/index.ts";
import { assert, ManxError } from "../../core/index.ts";
import type { OpenSpan } from "../../trace/index.ts";
import type { Deadline } from "../deadline.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import type { Turn } from "../turn.ts";
import { CallBook, type ModelCallEvent } from "./call-book.ts";
import type { ModelTarget } from "./call-place.ts";
import { CallSpans } from "./call-spans.ts";
import { type CallBounds, FetchCall } from "./fetch-call.ts";
import { FetchCounts, type ModelFetchStats } from "./fetch-stats.ts";
import { GatewayOrigins } from "./gateway-origins.ts";
import { type ModelRequest, readRequest } from "./model-request.ts";
import { type CallPolicyOptions, callPolicyOf } from "./policy-options.ts";
import { RouteBook } from "./route-book.ts";

/** A value, or how to get it when a call begins. */
type Now<Value> = Value | (() => Value | undefined);

export interface ModelFetchOptions {
  /** Default: the host's. */
  readonly fetch?: typeof fetch;
  readonly policy?: CallPolicyOptions;
  /** Where calls go. Default: where each request says. */
  readonly targets?: readonly ModelTarget[];
  /** `gateway`: the requests go to a Manx gateway, which makes the retries and hedges. Default `here`. */
  readonly retries?: "here" | "gateway";
  /** URLs of Manx gateways: told the deadline, and left the retries. Others are known by their first answer. */
  readonly gateways?: readonly string[];
  /** The turn that the calls are part of: its deadline, and its trace if no span is given. */
  readonly turn?: Now<Turn>;
  /** Of each call from its begin, or one that somebody else has set. */
  readonly deadline?: TimeSpan | Now<Deadline>;
  /** Under which each call gets a span with its attempts. */
  readonly span?: Now<OpenSpan>;
  /** The call's own span, which somebody else has begun and ends, such as `step.span`: attempts go there. */
  readonly callSpan?: Now<OpenSpan>;
  /** Told what happens, as it happens; may not change it. */
  readonly observe?: (event: ModelCallEvent) => void;
  readonly clock?: Clock;
  /** For pauses and choices among targets. Default: one that no other process has. */
  readonly random?: Random;
}

export interface ModelFetch {
  (...args: Parameters<typeof fetch>): Promise<Response>;
  stats(): ModelFetchStats;
}

/** By which an adapter knows that requests are retried here, so that no SDK does so once more. */
export const MANX_FETCH = Symbol.for("manx.fetch");

/** @throws MANX_URL, MANX_DURATION, MANX_FLAG_VALUE */
export function modelFetch(options: ModelFetchOptions = {}): ModelFetch {
  const calls = new ModelCalls(options);
  const run = (...[input, init]: Parameters<typeof fetch>): Promise<Response> =>
    calls.run(input, init);
  return Object.assign(run, { stats: () => calls.stats(), [MANX_FETCH]: true });
}

class ModelCalls {
  readonly #options: ModelFetchOptions;
  readonly #clock: Clock;
  readonly #routes: RouteBook;
  readonly #gateways: GatewayOrigins;
  readonly #counts = new FetchCounts();
  readonly #deadlineUs: number | undefined;

  constructor(options: ModelFetchOptions) {
    const { policy, targets, gateways = [], retries = "here", deadline } = options;
    if (retries !== "here" && retries !== "gateway") {
      throw new ManxError("MANX_FLAG_VALUE", {
        where: "retries",
        expected: '"here" or "gateway"',
        got: String(retries),
      });
    }
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#gateways = new GatewayOrigins(gateways, retries === "gateway");
    this.#routes = new RouteBook(callPolicyOf(policy), targets, options.random ?? ownRandom());
    const isSpan = typeof deadline === "string" || typeof deadline === "number";
    this.#deadlineUs = isSpan ? spanUs(deadline, "deadline") : undefined;
  }

  /** The host's is looked up for each call: it may be replaced, by instrumentation say. */
  get #fetch(): typeof fetch {
    return this.#options.fetch ?? globalThis.fetch;
  }

  async run(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
    const receivedUs = this.#clock.nowUs();
    const bounds = this.#bounds(receivedUs);
    const read = await readRequest(input, init);
    if (read.model === null) return this.#pass(read.input, read.init, bounds);
    const request = read.model;
    request.signal?.throwIfAborted();
    return new FetchCall({
      clock: this.#clock,
      fetch: this.#fetch,
      request,
      booked: this.#routes.routeOf(request),
      gateways: this.#gateways,
      bounds: withSignal(bounds, request.signal),
      receivedUs,
      book: this.#bookOf(request, receivedUs),
    }).start();
  }

  stats(): ModelFetchStats {
    return this.#counts.read(this.#routes.hedgeRefusals);
  }

  #bookOf(request: ModelRequest, receivedUs: number): CallBook {
    const { span, callSpan, turn, observe } = this.#options;
    const parent = now(span) ?? now(turn)?.trace;
    // A step that has sent its headers along records the call itself.
    const call = now(callSpan) ?? now(turn)?.spanOf(request.headers.get("traceparent"));
    const spans = CallSpans.begin({ parent, call }, request, receivedUs);
    return new CallBook({ request, receivedUs, counts: this.#counts, spans, observe });
  }

  #bounds(nowUs: number): CallBounds {
    const { turn, deadline } = this.#options;
    const ownUs =
      this.#deadlineUs === undefined ? Number.POSITIVE_INFINITY : nowUs + this.#deadlineUs;
    const given =
      typeof deadline === "object" || typeof deadline === "function" ? now(deadline) : undefined;
    const above = [given, now(turn)?.deadline].filter((one) => one !== undefined);
    const deadlineUs = above.map((one) => this.#instantOf(one, nowUs));
    return {
      deadlineUs: Math.min(ownUs, ...deadlineUs),
      signals: above.map(({ signal }) => signal),
    };
  }

  /** Its clock may be another one. */
  #instantOf({ clock, atUs, leftUs }: Deadline, nowUs: number): number {
    return clock === this.#clock ? atUs : nowUs + leftUs;
  }

  /** Whatever it is, it is sent once, and ends with what stands above it. */
  async #pass(
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined,
    { deadlineUs, signals }: CallBounds,
  ): Promise<Response> {
    this.#counts.pass();
    // Called on nothing: a browser's own takes no other `this` than its window.
    const send = this.#fetch;
    const { signal: own } = init ?? {};
    const isOwn = typeof input === "object" && "signal" in input;
    const callers = own ?? (isOwn ? input.signal : undefined);
    const all = [...signals, ...(callers === undefined || callers === null ? [] : [callers])];
    if (!Number.isFinite(deadlineUs)) return send(input, withAll(init, all));
    const limit = this.#clock.deadline(deadlineUs);
    try {
      return await send(input, withAll(init, [...all, limit.signal]));
    } finally {
      limit.cancel();
    }
  }
}

function withSignal(bounds: CallBounds, signal: AbortSignal | undefined): CallBounds {
  return signal === undefined ? bounds : { ...bounds, signals: [signal, ...bounds.signals] };
}

function withAll(
  init: RequestInit | undefined,
  signals: readonly AbortSignal[],
): RequestInit | undefined {
  if (signals.length === 0) return init;
  return { ...init, signal: signals.length === 1 ? signals[0]! : AbortSignal.any([...signals]) };
}

function now<Value>(given: Now<Value> | undefined): Value | undefined {
  return typeof given === "function" ? (given as () => Value | undefined)() : given;
}

/** Processes that were refused together must not come back together. */
function ownRandom(): Random {
  const bytes = secretBytes(6);
  assert(bytes.length === 6, "chance comes as asked");
  return new Random(
    bytes.reduce((sum, byte) => sum * 256 + byte, 0),
    "model calls",
  );
}
