/**
 * What the gateway shows of itself: makes each request's identity, gives its record to whoever listens, and has the page of
 * metrics. Listeners are replaced as the configuration changes; what they have counted goes on.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Clock, LateTicks } from "../../clock/index.ts";
import { Secret } from "../../config/index.ts";
import type { ManxError } from "../../core/index.ts";
import { CacheMetrics, CacheWatch } from "../cache-marks/index.ts";
import type { GatewayConfig } from "../config/index.ts";
import { GuardMetrics } from "../guardrails/guard-metrics.ts";
import { accessLine } from "./access-line.ts";
import { AttemptMetrics } from "./attempt-metrics.ts";
import { CallIdentities, type CallIdentity } from "./call-identity.ts";
import { CallMetrics, type StreamSeen } from "./call-metrics.ts";
import type { CallRecord } from "./call-record.ts";
import { type LineCounts, LineLog } from "./line-log.ts";
import { fileTarget, STDOUT_TARGET } from "./log-target.ts";
import type { Reading } from "./metric-family.ts";
import { MetricPage } from "./metric-page.ts";
import { addProcessMetrics } from "./process-metrics.ts";
import { addStateMetrics, type GatewayState } from "./state-metrics.ts";
import type { ExemplarLink } from "./time-histogram.ts";
import { type TraceCounts, TraceExporter } from "./trace-exporter.ts";

export interface SeeingOptions {
  readonly clock: Clock;
  /** Of this process among others. */
  readonly instance: string;
  /** Asked whenever somebody looks. */
  readonly state: () => GatewayState;
  /** What stands in the way of the log or the traces. */
  readonly onFault: (error: ManxError) => void;
}

export class Seeing {
  readonly #options: SeeingOptions;
  readonly #page = new MetricPage();
  readonly #metrics: CallMetrics;
  /** For the attempts of calls. */
  readonly attempts: AttemptMetrics;
  /** For the guardrails' own figures. */
  readonly guards = new GuardMetrics(this.#page);
  /** How prompts use the caches of their providers, where a model is to be watched. */
  readonly caches = new CacheWatch(new CacheMetrics(this.#page));
  readonly #loop: LateTicks;
  readonly #identities = new CallIdentities();
  readonly #lineCounts: LineCounts = { written: 0, dropped: 0 };
  readonly #traceCounts: TraceCounts = { sent: 0, dropped: 0, rejected: 0 };
  readonly #reloads = { ok: 0, failed: 0 };
  #warmUpsIgnored = 0;
  readonly #modelsInFlight = new Map<string, number>();
  #config: Pick<GatewayConfig, "log" | "otlp"> = {
    log: { access: "off", client: false },
    otlp: null,
  };
  #log: LineLog | undefined;
  #exporter: TraceExporter | undefined;
  readonly #leaving = new Set<Promise<void>>();
  #state: GatewayState | undefined;
  #inFlight = 0;

  constructor(options: SeeingOptions) {
    this.#options = options;
    const page = this.#page;
    page.read("in_flight", "Requests that are being forwarded", [], () => [[[], this.#inFlight]]);
    page.read("model_in_flight", "The same by model, once it is known", ["model"], () =>
      Array.from(this.#modelsInFlight, ([model, count]): Reading => [[model], count]),
    );
    this.#metrics = new CallMetrics(page);
    this.attempts = new AttemptMetrics(page);
    // Once a look, however many families ask.
    addStateMetrics(page, () => (this.#state ??= options.state()));
    this.#addOwn(page);
    this.#loop = addProcessMetrics(page, options.clock);
  }

  /** Whether anything that is written says where a request came from. */
  get showsClient(): boolean {
    return this.#log !== undefined && this.#config.log.client;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  start(): void {
    this.#loop.start();
  }

  /** What it says from now on, and where to. @throws MANX_SECRET_MISSING; then everything is as before. */
  use(config: Pick<GatewayConfig, "log" | "otlp">): void {
    const before = this.#config;
    if (!isSame(before.otlp, config.otlp)) this.#replaceExporter(config.otlp);
    if (isSame(before.log, config.log)) this.#log?.reopen();
    else this.#replaceLog(config.log);
    this.#config = config;
  }

  reloaded(result: "ok" | "failed"): void {
    this.#reloads[result] += 1;
  }

  identify(headers: IncomingHttpHeaders): CallIdentity {
    return this.#identities.of(headers, this.#config.otlp?.share ?? null);
  }

  /** A request was marked as warm-up by a caller that may not do so. */
  warmUpIgnored(): void {
    this.#warmUpsIgnored += 1;
  }

  requestBegins(): void {
    this.#inFlight += 1;
  }

  /** @param model label of the one that it is for. */
  modelKnown(model: string): void {
    this.#modelsInFlight.set(model, (this.#modelsInFlight.get(model) ?? 0) + 1);
  }

  firstHead(labels: readonly [string, string, string], ttfbUs: number): void {
    this.#metrics.firstHead(labels, ttfbUs);
  }

  firstOutput(labels: readonly [string, string, string], ttftUs: number, link: ExemplarLink): void {
    this.#metrics.firstOutput(labels, ttftUs, link);
  }

  /** The last of a request that has begun. */
  requestEnds(record: CallRecord, seen: StreamSeen & { readonly hasModel: boolean }): void {
    this.#inFlight -= 1;
    if (seen.hasModel) {
      const { model } = record;
      this.#modelsInFlight.set(model, this.#modelsInFlight.get(model)! - 1);
    }
    this.#tell(record);
    this.#metrics.streamEnds(record, seen);
  }

  /** A request that was answered at the door. */
  requestRefused(record: CallRecord): void {
    this.#tell(record);
  }

  /** @param accept header of the scraper. */
  page(accept?: string): Promise<{ readonly contentType: string; readonly text: string }> {
    this.#state = undefined;
    return this.#page.render(accept);
  }

  async close(): Promise<void> {
    this.#loop.stop();
    this.#leave(this.#log);
    this.#leave(this.#exporter);
    await Promise.all(this.#leaving);
  }

  #tell(record: CallRecord): void {
    this.#metrics.callEnds(record);
    this.#log?.write(accessLine(record, this.#config.log.client));
    this.#exporter?.callEnds(record);
  }

  #replaceLog({ access }: GatewayConfig["log"]): void {
    const { clock, onFault } = this.#options;
    this.#leave(this.#log);
    this.#log =
      access === "off"
        ? undefined
        : new LineLog({
            target: access === "stdout" ? STDOUT_TARGET : fileTarget(access.path),
            clock,
            counts: this.#lineCounts,
            onFault,
          });
    this.#log?.open();
  }

  #replaceExporter(config: GatewayConfig["otlp"]): void {
    const { clock, instance, onFault } = this.#options;
    const counts = this.#traceCounts;
    const before = this.#exporter;
    this.#exporter =
      config === null ? undefined : new TraceExporter({ config, clock, counts, instance, onFault });
    this.#leave(before);
  }

  /** It still has something to say; the end of the gateway waits for it. */
  #leave(listener: LineLog | TraceExporter | undefined): void {
    if (listener === undefined) return;
    const closed = listener.close().finally(() => this.#leaving.delete(closed));
    this.#leaving.add(closed);
  }

  #addOwn(page: MetricPage): void {
    const counts = (name: string, help: string, of: object): void =>
      page.read(name, help, ["result"], () =>
        Object.entries(of).map(([result, count]): Reading => [[result], count]),
      );
    counts(
      "config_reloads_total",
      "Times that the configuration was read again: taken, or refused as wrong",
      this.#reloads,
    );
    page.read(
      "warm_up_ignored_total",
      "Requests marked as warm-up by callers that may not; they are in all figures",
      [],
      () => [[[], this.#warmUpsIgnored]],
    );
    counts("access_log_lines_total", "Lines of the access log", this.#lineCounts);
    counts("otlp_traces_total", "Traces for the collector", this.#traceCounts);
  }
}

/** Secrets are compared by what they hold, all else as it is. */
function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Secret && b instanceof Secret) return a.equals(b);
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => isSame(a[name], b[name]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
