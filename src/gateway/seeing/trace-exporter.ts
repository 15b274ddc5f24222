/**
 * Sends calls as traces to an OTLP/HTTP collector, in JSON, in the background. A collector that is slow or gone costs traces,
 * which are counted, and never a request: what is waiting is bounded, spans are built a few calls a turn, and one batch is
 * under way at a time.
 *
 * Kept: the share of traces that is asked for, whatever the caller has sampled itself, and always what failed or was slow.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Agent, request } from "undici";
import type { Cancel, Clock } from "../../clock/index.ts";
import { Fifo, ManxError, US_PER_S } from "../../core/index.ts";
import { keyValues } from "../../trace/otlp/otlp-value.ts";
import { VERSION } from "../../version.ts";
import type { OtlpConfig } from "../config/index.ts";
import type { CallListener, CallRecord } from "./call-record.ts";
import { callSpans, isFailed } from "./call-spans.ts";

export interface TraceCounts {
  sent: number;
  /** For want of room, or since they could not be sent. */
  dropped: number;
  /** The collector took the batch but not these. */
  rejected: number;
}

export interface TraceExporterOptions {
  readonly config: OtlpConfig;
  readonly clock: Clock;
  readonly counts: TraceCounts;
  /** Tells this process from others of the same service. */
  readonly instance: string;
  readonly onFault: (error: ManxError) => void;
}

const CALLS_MAX = 4_096;
const BATCH_MAX = 256;
/** About a millisecond of work. */
const CALLS_PER_TURN = 16;
const WAIT_US = US_PER_S;
const ANSWER_US = 10 * US_PER_S;
const ANSWER_BYTES_MAX = 64 * 1024;
const TRIES_MAX = 5;
const BACKOFF_US_MAX = 30 * US_PER_S;
const CLOSE_US = 3 * US_PER_S;
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const compress = promisify(gzip);

export class TraceExporter implements CallListener {
  readonly #options: TraceExporterOptions;
  readonly #calls = new Fifo<CallRecord>(CALLS_MAX);
  readonly #agent = new Agent({ connections: 1, keepAliveTimeout: 60_000 });
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #cancelWait: Cancel | undefined;
  #sending: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #isFaulty = false;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
    const { url, headers } = options.config;
    this.#url = `${url.replace(/\/+$/, "").replace(/\/v1\/traces$/, "")}/v1/traces`;
    this.#headers = Object.fromEntries(
      Object.entries(headers).map(([name, secret]) => [name, secret.reveal()]),
    );
  }

  callEnds(record: CallRecord): void {
    if (!this.#isKept(record)) return;
    if (!this.#calls.push(record)) {
      this.#options.counts.dropped += 1;
      return;
    }
    if (this.#calls.size >= BATCH_MAX) this.#start();
    else if (this.#sending === undefined) this.#arm();
  }

  #isKept(record: CallRecord): boolean {
    const { trace } = record;
    if (trace?.spanId === undefined) return false;
    return trace.isSampled || isFailed(record) || isSlow(record, this.#options.config.slowUs);
  }

  #arm(): void {
    const { clock } = this.#options;
    this.#cancelWait ??= clock.at(clock.nowUs() + WAIT_US, () => this.#start());
  }

  #start(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#calls.size > 0 && !this.#closing.signal.aborted) this.#arm();
    });
  }

  /** Sends what waits, for a bounded time; the rest is dropped. */
  async close(): Promise<void> {
    const { clock, counts } = this.#options;
    if (this.#calls.size > 0) this.#start();
    const cancel = clock.at(clock.nowUs() + CLOSE_US, () => this.#closing.abort());
    await this.#sending;
    cancel();
    this.#closing.abort();
    this.#cancelWait?.();
    counts.dropped += this.#calls.size;
    await this.#agent.destroy();
  }

  async #sendAll(): Promise<void> {
    while (this.#calls.size > 0 && !this.#closing.signal.aborted) {
      const calls: CallRecord[] = [];
      while (calls.length < BATCH_MAX && this.#calls.size > 0) calls.push(this.#calls.shift()!);
      await this.#sendBatch(calls);
    }
  }

  async #sendBatch(calls: readonly CallRecord[]): Promise<void> {
    const { counts } = this.#options;
    try {
      const body = await compress(await this.#bodyOf(calls));
      const rejected = await this.#post(body);
      counts.rejected += Math.min(rejected, calls.length);
      counts.sent += calls.length - Math.min(rejected, calls.length);
      this.#isFaulty = false;
    } catch (thrown) {
      counts.dropped += calls.length;
      this.#tell(thrown as Error);
    }
  }

  async #bodyOf(calls: readonly CallRecord[]): Promise<string> {
    const { clock, config, instance } = this.#options;
    const spans: string[] = [];
    for (const [at, call] of calls.entries()) {
      if (at % CALLS_PER_TURN === 0 && at > 0) await clock.sleepUntil(clock.nowUs());
      for (const span of callSpans(call, config.names)) spans.push(JSON.stringify(span));
    }
    const resource = {
      attributes: keyValues({
        "service.name": "manx-gateway",
        "service.version": VERSION,
        "service.instance.id": instance,
        "process.pid": process.pid,
      }),
    };
    const scope = { name: "manx.gateway", version: VERSION };
    return (
      `{"resourceSpans":[{"resource":${JSON.stringify(resource)},` +
      `"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[${spans.join(",")}]}]}]}`
    );
  }

  /** @returns how many spans the collector did not take. @throws what it has failed with in the end. */
  async #post(body: Buffer): Promise<number> {
    const { clock } = this.#options;
    for (let tried = 1; ; tried += 1) {
      const fault = await this.#postOnce(body).catch((thrown: Error) => new Fault(thrown.message));
      if (typeof fault === "number") return fault;
      if (!fault.isRetryable || tried >= TRIES_MAX || this.#closing.signal.aborted) throw fault;
      this.#tell(fault);
      const waitUs = Math.min(BACKOFF_US_MAX, fault.retryAfterUs ?? 2 ** (tried - 1) * US_PER_S);
      await clock.sleepUntil(clock.nowUs() + waitUs, this.#closing.signal).catch(() => undefined);
    }
  }

  async #postOnce(body: Buffer): Promise<number | Fault> {
    const { clock } = this.#options;
    const { signal, cancel } = clock.deadline(clock.nowUs() + ANSWER_US);
    const abort = AbortSignal.any([signal, this.#closing.signal]);
    try {
      const answer = await request(this.#url, {
        method: "POST",
        headers: {
          ...this.#headers,
          "content-type": "application/json",
          "content-encoding": "gzip",
          "user-agent": `manx/${VERSION}`,
        },
        body,
        signal: abort,
        dispatcher: this.#agent,
      });
      const { statusCode, headers } = answer;
      const text = await boundedText(answer.body);
      if (statusCode >= 200 && statusCode < 300) return rejectedSpans(text);
      const seconds = Number(headers["retry-after"]);
      return new Fault(
        `status ${statusCode}`,
        RETRYABLE.has(statusCode),
        seconds > 0 ? seconds * US_PER_S : undefined,
      );
    } finally {
      cancel();
    }
  }

  #tell(cause: Error): void {
    if (this.#isFaulty || this.#closing.signal.aborted) return;
    this.#isFaulty = true;
    const { origin, pathname } = new URL(this.#url);
    this.#options.onFault(
      new ManxError("MANX_TRACES_UNSENT", { where: origin + pathname, got: cause.message, cause }),
    );
  }
}

class Fault extends Error {
  readonly isRetryable: boolean;
  readonly retryAfterUs: number | undefined;

  constructor(message: string, isRetryable = true, retryAfterUs?: number) {
    super(message);
    this.isRetryable = isRetryable;
    this.retryAfterUs = retryAfterUs;
  }
}

/** Nothing came for so long, or what came stood still. */
function isSlow({ stream, contentUs, receivedUs, endedUs, isStream }: CallRecord, slowUs: number) {
  if (stream !== undefined && stream.stalls.count > 0) return true;
  const firstUs = isStream ? (contentUs ?? endedUs) : endedUs;
  return firstUs - receivedUs >= slowUs;
}

async function boundedText(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) return "";
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function rejectedSpans(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    return Math.max(0, Math.floor(Number(partialSuccess?.rejectedSpans ?? 0))) || 0;
  } catch {
    return 0;
  }
}
