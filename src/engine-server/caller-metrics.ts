/**
 * Who was served how: by tenant and by class of priority. Both are names that clients choose, so only the first few get
 * series of their own.
 */
import { Counter, Histogram, type Registry } from "prom-client";
import { US_PER_S } from "../core/index.ts";
import { BoundedLabels } from "./bounded-labels.ts";
import type { LiveCall } from "./live-call.ts";
import { REQUEST_TIME_BUCKETS_S, TTFT_BUCKETS_S } from "./metric-buckets.ts";

const TENANTS_MAX = 32;
const CLASSES_MAX = 16;
/** Prometheus takes an empty label for none. */
const NOBODY = "(none)";

export class CallerMetrics {
  readonly #tenants = new BoundedLabels(TENANTS_MAX);
  readonly #classes = new BoundedLabels(CLASSES_MAX);
  readonly #requests: Counter<"tenant" | "finished_reason">;
  readonly #tokens: Counter<"tenant" | "kind">;
  readonly #tenantTtft: Histogram<"tenant">;
  readonly #classTtft: Histogram<"priority">;
  readonly #classQueue: Histogram<"priority">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: "manx_engine_tenant_requests_total",
      help: "Responses that are over, by tenant and why",
      labelNames: ["tenant", "finished_reason"],
      registers,
    });
    this.#tokens = new Counter({
      name: "manx_engine_tenant_tokens_total",
      help: "Tokens of responses that are over: of their prompts, and generated",
      labelNames: ["tenant", "kind"],
      registers,
    });
    this.#tenantTtft = new Histogram({
      name: "manx_engine_tenant_time_to_first_token_seconds",
      help: "From the arrival of a request to its first token, by tenant",
      labelNames: ["tenant"],
      buckets: [...TTFT_BUCKETS_S],
      registers,
    });
    this.#classTtft = new Histogram({
      name: "manx_engine_class_time_to_first_token_seconds",
      help: "From the arrival of a request to its first token, by class of priority",
      labelNames: ["priority"],
      buckets: [...TTFT_BUCKETS_S],
      registers,
    });
    this.#classQueue = new Histogram({
      name: "manx_engine_class_queue_time_seconds",
      help: "From the arrival of a finished request to its first step, by class of priority",
      labelNames: ["priority"],
      buckets: [...REQUEST_TIME_BUCKETS_S],
      registers,
    });
  }

  firstToken(call: LiveCall, ttftUs: number): void {
    this.#tenantTtft.observe({ tenant: this.#tenantOf(call) }, ttftUs / US_PER_S);
    this.#classTtft.observe({ priority: this.#classOf(call) }, ttftUs / US_PER_S);
  }

  queued(call: LiveCall, queueS: number): void {
    this.#classQueue.observe({ priority: this.#classOf(call) }, queueS);
  }

  ended(call: LiveCall, finished_reason: string): void {
    const tenant = this.#tenantOf(call);
    this.#requests.inc({ tenant, finished_reason });
    if (call.tokens === 0) return;
    this.#tokens.inc({ tenant, kind: "prompt" }, call.request.prompt.tokens);
    this.#tokens.inc({ tenant, kind: "generated" }, call.tokens);
  }

  #tenantOf({ tenant }: LiveCall): string {
    return this.#tenants.labelOf(tenant === "" ? NOBODY : tenant);
  }

  #classOf({ request }: LiveCall): string {
    return this.#classes.labelOf(String(request.priority));
  }
}
