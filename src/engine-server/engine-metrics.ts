/** What the twin tells Prometheus: vLLM's families for each engine, and beside them its own: pace, faults, refusals. */
import { Counter, Gauge, Registry } from "prom-client";
import type { Clock } from "../clock/index.ts";
import type { Engine, EngineConfig, EngineRequest } from "../engine/index.ts";
import { CallerMetrics } from "./caller-metrics.ts";
import { FAULT_KINDS, type FaultKind } from "./fault.ts";
import type { LiveCall } from "./live-call.ts";
import { Pace, type PaceReading, WINDOW_S } from "./pace.ts";
import { type EndReason, ReplicaMetrics } from "./replica-metrics.ts";
import type { TwinClock } from "./twin-clock.ts";
import { VllmFamilies } from "./vllm-families.ts";

export interface EngineMetricsOptions {
  readonly engines: readonly Engine[];
  readonly config: EngineConfig;
  readonly servedModel: string;
  readonly clock: Clock;
  readonly twinClock: TwinClock;
}

export class EngineMetrics {
  readonly pace = new Pace();
  readonly #registry = new Registry();
  readonly #callers = new CallerMetrics(this.#registry);
  readonly #clock: Clock;
  readonly #replicas: readonly ReplicaMetrics[];
  readonly #refused = new Counter({
    name: "manx_engine_refused_total",
    help: "Requests answered with an error, by its code",
    labelNames: ["code"],
    registers: [this.#registry],
  });
  readonly #faults = new Counter({
    name: "manx_engine_faults_total",
    help: "Faults that happened because somebody asked for them, by kind",
    labelNames: ["kind"],
    registers: [this.#registry],
  });

  constructor({ engines, config, servedModel, clock, twinClock }: EngineMetricsOptions) {
    this.#clock = clock;
    this.#registry.setDefaultLabels({ model_name: servedModel });
    const families = new VllmFamilies(this.#registry, engines, config);
    this.#replicas = engines.map((engine, i) => new ReplicaMetrics(families, i, engine, twinClock));
    for (const kind of FAULT_KINDS) this.#faults.inc({ kind }, 0);
    this.#addPace();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Of the last seconds. */
  paceNow(): PaceReading {
    return this.pace.read(this.#clock.nowUs());
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The call's next `count` tokens were written at `nowUs`. */
  tokens(call: LiveCall, count: number, nowUs: number): void {
    if (call.tokens === count) this.#callers.firstToken(call, nowUs - call.arrivedUs);
    this.#replicaOf(call).tokens(call, count, nowUs);
  }

  finished(call: LiveCall, done: EngineRequest, nowUs: number): void {
    this.#callers.queued(call, this.#replicaOf(call).finished(call, done, nowUs));
    this.ended(call, call.answer.finish === "length" ? "length" : "stop");
  }

  ended(call: LiveCall, reason: EndReason): void {
    this.#replicaOf(call).ended(reason);
    this.#callers.ended(call, reason);
  }

  preempted(call: LiveCall): void {
    this.#replicaOf(call).preempted();
  }

  faulted(kind: FaultKind): void {
    this.#faults.inc({ kind });
  }

  refused(code: string): void {
    this.#refused.inc({ code });
  }

  /** A timer of the twin has run `lateUs` after its time. */
  stepped(lateUs: number): void {
    for (const replica of this.#replicas) {
      const step = replica.stepped(lateUs);
      if (step !== undefined) this.pace.settled(step, this.#clock.nowUs());
    }
  }

  #addPace(): void {
    const gauges: readonly [string, string, (pace: PaceReading) => number][] = [
      [
        "manx_engine_degraded",
        "1 if the promised pace is not kept",
        (pace) => (pace.status === "degraded" ? 1 : 0),
      ],
      [
        "manx_engine_lag_ratio",
        "Mean lag of a step over its mean price",
        ({ lagShare }) => lagShare,
      ],
      [
        "manx_engine_lost_ratio",
        "Share of the promised time that was given up",
        ({ lostShare }) => lostShare,
      ],
    ];
    for (const [name, help, read] of gauges) {
      const now = (): number => read(this.paceNow());
      new Gauge({
        name,
        help: `${help}, over the last ${WINDOW_S} s`,
        registers: [this.#registry],
        collect() {
          this.set(now());
        },
      });
    }
  }

  #replicaOf(call: LiveCall): ReplicaMetrics {
    return this.#replicas[call.entry]!;
  }
}
