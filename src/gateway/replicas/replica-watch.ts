/**
 * Watches one replica: its metrics at every interval, its health when a probe is due. The next round is planned when one has
 * ended, so that a replica that answers slowly is asked more rarely and never twice at a time, and with jitter, so that the
 * gateways of one fleet do not ask in step.
 */
import type { Cancel, Clock, Random } from "../../clock/index.ts";
import { toManxError } from "../../core/index.ts";
import type { EngineReport, ProbeResult } from "../../policy/index.ts";
import { readEngineReport } from "./engine-report.ts";
import type { Fetched, ReplicaClient } from "./replica-client.ts";

export interface WatchSink {
  /** Of an ejected replica only a probe, when it is due, is of interest. */
  isEjected(): boolean;
  isProbeDue(): boolean;
  probed(result: ProbeResult): void;
  reported(report: EngineReport): void;
}

export interface ReplicaWatchOptions {
  readonly client: ReplicaClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalUs: number;
  /** Before `/metrics` and `/health`. */
  readonly prefix: string;
  readonly sink: WatchSink;
}

export interface WatchCounts {
  rounds: number;
  /** Pages that could not be had whole, or were not an engine's. */
  metricsFailed: number;
  /** Lines within pages that could not be read. */
  badLines: number;
  probesFailed: number;
  /** Of the last round that had one. */
  lastFault: string | undefined;
}

/** An interval is this much shorter or longer. */
const JITTER = 0.2;
/** Nobody listens there: no need to ask twice. */
const REFUSED = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH"]);

export class ReplicaWatch {
  readonly counts: WatchCounts = {
    rounds: 0,
    metricsFailed: 0,
    badLines: 0,
    probesFailed: 0,
    lastFault: undefined,
  };
  /** Of the last round that had one. */
  report: EngineReport | undefined;
  reportedUs: number | undefined;
  readonly #options: ReplicaWatchOptions;
  #cancel: Cancel | undefined;
  #stopped = false;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
  }

  /** Asks now, and again at every interval. Resolves after the first round. */
  async start(): Promise<void> {
    if (this.#stopped) return;
    try {
      await this.#round();
    } catch (thrown) {
      // A fault of ours must not end the watching, nor the process.
      this.counts.lastFault = toManxError(thrown).message;
    }
    this.#plan();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#options.client.close();
  }

  #plan(): void {
    if (this.#stopped) return;
    const { clock, random, intervalUs } = this.#options;
    const waitUs = intervalUs * (1 - JITTER + 2 * JITTER * random.next());
    this.#cancel = clock.at(clock.nowUs() + Math.round(waitUs), () => void this.start());
  }

  async #round(): Promise<void> {
    const { client, prefix, sink } = this.#options;
    this.counts.rounds += 1;
    if (sink.isProbeDue()) {
      const answer = await client.get(`${prefix}/health`);
      if (this.#stopped) return;
      const result = probeResult(answer);
      if (result !== "ok") {
        this.counts.probesFailed += 1;
        this.counts.lastFault = answer.fault ?? `health: status ${answer.status}`;
      }
      sink.probed(result);
      // Its metrics would fail in the same way and cost the same wait, or say how idle a sick server is.
      if (result !== "ok") return;
    }
    if (sink.isEjected()) return;
    const page = await client.get(`${prefix}/metrics`);
    if (!this.#stopped) this.#read(page);
  }

  #read({ status, text, fault }: Fetched): void {
    const { clock, sink } = this.#options;
    const { report, badLines } =
      fault === undefined && status === 200
        ? readEngineReport(text)
        : { report: undefined, badLines: 0 };
    this.counts.badLines += badLines;
    if (report === undefined) {
      this.counts.metricsFailed += 1;
      this.counts.lastFault =
        fault ?? (status === 200 ? "metrics: not an engine's page" : `metrics: status ${status}`);
      return;
    }
    this.report = report;
    this.reportedUs = clock.nowUs();
    sink.reported(report);
  }
}

/** Some servers have no /health; that they say so shows that they are alive. */
function probeResult({ status, fault }: Fetched): ProbeResult {
  if (fault !== undefined) return REFUSED.has(fault) ? "refused" : "silent";
  return (status >= 200 && status < 300) || status === 404 || status === 405 ? "ok" : "silent";
}
