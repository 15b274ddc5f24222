/**
 * The twin behind OpenAI's API: an HTTP server whose tokens leave when the steps of the priced GPU would have ended.
 *
 *     POST /v1/chat/completions   POST /v1/completions   GET /v1/models   GET /health   GET /metrics
 *
 * Whatever a client sends or does, the server goes on: bad input is answered with an error in OpenAI's form and counted,
 * a client that leaves is aborted in the engine, and more than the bounds below is refused.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import { ManxError, toManxError, US_PER_MS } from "../core/index.ts";
import type { CostModel, Engine, EngineConfig, Fleet } from "../engine/index.ts";
import { close, listen, sendJson } from "../http/index.ts";
import type { RouterName } from "../policy/index.ts";
import { VERSION } from "../version.ts";
import { sendApiError } from "./api-error.ts";
import { CallDesk } from "./call-desk.ts";
import type { FaultShare } from "./fault.ts";
import { FaultDesk } from "./fault-desk.ts";
import { LiveEngine } from "./live-engine.ts";
import type { PaceReading } from "./pace.ts";

export interface EngineServerOptions {
  readonly config: EngineConfig;
  readonly clock: Clock;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The name that requests ask for; default the config's model. */
  readonly servedModel?: string;
  /** Of the texts, the lengths that nobody set, and the ids. Default 42. */
  readonly seed?: number;
  /** How many times as fast as the priced GPU the twin runs; default 1. */
  readonly speed?: number;
  /** Most requests that wait in the engine; more are answered 429. Default 1,024. */
  readonly waitingMax?: number;
  /** Largest request body; default 8 MiB. */
  readonly bodyBytesMax?: number;
  /** Engines of this config behind one router; default 1, at most 31; 1 with pools. */
  readonly replicas?: number;
  /** How requests are spread over the replicas, or over the prefill engines; default round robin. */
  readonly routing?: RouterName;
  /** Replicas that start cold or share their GPU; times count from the start of the server, in the twin's time. */
  readonly fleet?: Fleet;
  /** Faults of all traffic; a request that asks for one of its own gets that instead. */
  readonly faults?: readonly FaultShare[];
  /** In place of the roofline. */
  readonly cost?: CostModel;
  /** Verifies conservation after every step. */
  readonly checked?: boolean;
}

export interface EngineServer {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** All that compute: replicas, or prefill engines and then decode engines. */
  readonly engines: readonly Engine[];
  /** The first of them, and the only one by default. */
  readonly engine: Engine;
  /** Requests that are under way or wait. */
  readonly open: number;
  /** Whether the pace is kept, over the last seconds; `worst` of all its time so far. */
  pace(): { readonly now: PaceReading; readonly worst: PaceReading };
  /** What GET /metrics answers. */
  metricsText(): Promise<string>;
  /**
   * Refuses new requests, lets those under way go on for `drainUs` (default 0) and tells the rest that the server is going
   * down. Resolves once the port is free.
   */
  close(options?: { readonly drainUs?: number }): Promise<void>;
}

const BODY_BYTES_MAX = 8 * 1024 * 1024;
const WAITING_MAX = 1_024;
/** Longer than the 120 s that gateways keep idle connections for: the server is never the first to let go of one. */
const KEEP_ALIVE_MS = 180_000;
/** For the last bytes of answers to leave before connections are cut. */
const FLUSH_US = 250 * US_PER_MS;

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN, MANX_PORT_IN_USE, MANX_ADDRESS */
export async function startEngineServer(options: EngineServerOptions): Promise<EngineServer> {
  const host = new EngineHost(options);
  const url = await listen(host.server, {
    port: options.port,
    ...(options.host !== undefined && { host: options.host }),
  });
  return {
    url,
    engines: host.live.engines,
    engine: host.live.engines[0]!,
    get open() {
      return host.live.open;
    },
    pace: () => host.pace(),
    metricsText: () => host.live.metrics.text(),
    close: ({ drainUs = 0 } = {}) => host.close(drainUs),
  };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

class EngineHost {
  readonly server: Server;
  readonly live: LiveEngine;
  readonly #clock: Clock;
  readonly #config: EngineConfig;
  readonly #servedModel: string;
  readonly #calls: CallDesk;
  readonly #createdS: number;
  readonly #routes: ReadonlyMap<string, Handler>;
  readonly #faults: FaultDesk;
  readonly #responses = new Set<ServerResponse>();
  #onQuiet: (() => void) | undefined;
  #draining = false;

  constructor(options: EngineServerOptions) {
    const { config, clock } = options;
    this.#clock = clock;
    this.#config = config;
    this.#servedModel = options.servedModel ?? config.model;
    const seed = options.seed ?? 42;
    this.#createdS = Math.floor(clock.wallMs() / 1_000);
    this.live = new LiveEngine({
      config,
      clock,
      servedModel: this.#servedModel,
      speed: options.speed ?? 1,
      waitingMax: options.waitingMax ?? WAITING_MAX,
      seed,
      ...(options.replicas !== undefined && { replicas: options.replicas }),
      ...(options.routing !== undefined && { routing: options.routing }),
      ...(options.fleet !== undefined && { fleet: options.fleet }),
      ...(options.cost !== undefined && { cost: options.cost }),
      ...(options.checked !== undefined && { checked: options.checked }),
    });
    this.#routes = new Map<string, Handler>([
      ["POST /v1/chat/completions", (...pair) => this.#calls.take("chat", ...pair)],
      ["POST /v1/completions", (...pair) => this.#calls.take("completion", ...pair)],
      ["GET /v1/models", (_, response) => this.#models(response)],
      ["GET /health", (_, response) => this.#health(response)],
      ["GET /metrics", (_, response) => this.#metrics(response)],
      ["GET /", (_, response) => this.#about(response)],
    ]);
    this.server = createServer({ noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS }, (...pair) => {
      void this.#answer(...pair);
    });
    this.#faults = new FaultDesk({
      server: this.server,
      clock,
      shares: options.faults ?? [],
      seed,
      hangingMax: options.waitingMax ?? WAITING_MAX,
      onStrike: (kind) => this.live.metrics.faulted(kind),
    });
    this.#calls = new CallDesk({
      live: this.live,
      faults: this.#faults,
      clock,
      config,
      servedModel: this.#servedModel,
      seed,
      bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
      assertOpen: () => this.#assertOpen(),
    });
  }

  pace(): { now: PaceReading; worst: PaceReading } {
    const { pace } = this.live.metrics;
    return { now: this.live.metrics.paceNow(), worst: pace.worst(this.#clock.nowUs()) };
  }

  async close(drainUs: number): Promise<void> {
    this.#draining = true;
    this.#faults.end();
    this.server.close();
    this.server.closeIdleConnections();
    await this.#quiet(drainUs);
    this.live.stop(new ManxError("MANX_DRAINING"));
    await this.#quiet(FLUSH_US);
    await close(this.server, { cutOpen: true });
  }

  /** Resolves when no response is open any more, or after `patienceUs`. */
  async #quiet(patienceUs: number): Promise<void> {
    if (this.#responses.size === 0 || patienceUs === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.at(this.#clock.nowUs() + patienceUs, resolve);
      this.#onQuiet = () => {
        cancel();
        resolve();
      };
    });
    this.#onQuiet = undefined;
  }

  /** Never rejects: whatever goes wrong is answered, or the connection is cut if the answer has begun. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A socket that breaks while it is written to says so here; its `close` does the rest.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    this.#responses.add(response);
    response.on("close", () => {
      this.#responses.delete(response);
      if (this.#responses.size === 0) this.#onQuiet?.();
    });
    if (this.#draining) response.setHeader("connection", "close");
    try {
      await this.#route(request)(request, response);
    } catch (thrown) {
      const error = toManxError(thrown);
      this.live.metrics.refused(error.code);
      if (response.headersSent) response.destroy();
      else sendApiError(response, error);
      // What is left of a refused body is read and dropped, or the client would never get to the answer.
      request.resume();
    }
  }

  /** @throws MANX_ROUTE_UNKNOWN */
  #route(request: IncomingMessage): Handler {
    const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
    const path = (request.url ?? "/").replace(/\?.*$/s, "");
    const handler = this.#routes.get(`${method} ${path}`);
    if (handler !== undefined) return handler;
    throw new ManxError("MANX_ROUTE_UNKNOWN", {
      expected: `one of ${[...this.#routes.keys()].join(", ")}`,
      got: `${method} ${path.slice(0, 100)}`,
    });
  }

  #assertOpen(): void {
    if (this.#draining) throw new ManxError("MANX_DRAINING");
    this.live.assertOpen();
  }

  #models(response: ServerResponse): void {
    const served = {
      id: this.#servedModel,
      object: "model",
      created: this.#createdS,
      owned_by: "manx",
      root: this.#config.model,
      max_model_len: this.#config.contextMax,
    };
    sendJson(response, 200, { object: "list", data: [served] });
  }

  #health(response: ServerResponse): void {
    this.#assertHealthy();
    const { status, reason, ...pace } = this.live.metrics.paceNow();
    sendJson(response, 200, { status, ...(reason !== "" && { reason }), pace });
  }

  #assertHealthy(): void {
    if (this.live.failure !== undefined) throw this.live.failure;
    if (this.#draining) throw new ManxError("MANX_DRAINING");
  }

  async #metrics(response: ServerResponse): Promise<void> {
    const body = await this.live.metrics.text();
    response.writeHead(200, { "content-type": this.live.metrics.contentType });
    response.end(body);
  }

  #about(response: ServerResponse): void {
    const { model, gpu, ranks, scheduling, memory } = this.#config;
    const lines = [
      `manx engine ${VERSION}: a twin of ${model} on ${ranks} × ${gpu}, ${scheduling}, ${memory} KV`,
      "The words are made up; the times are the priced GPU's.",
      "",
      ...this.#routes.keys(),
    ];
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    response.end(`${lines.join("\n")}\n`);
  }
}
