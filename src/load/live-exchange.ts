/**
 * One request and its response over a real socket; ends exactly once. Each read is stamped before anything looks at its
 * bytes, since work between the read and the stamp would be measured as latency of the server.
 *
 *     start ──► lease ──► sent ──► head ──► bytes … ──► end
 *       │         │         └────────┴───────┴──► lost, incomplete
 *       └─ limit ─┴─► timeout, connect
 */
import type { Dispatcher } from "undici";
import type { Clock } from "../clock/index.ts";
import type { LiveConnection } from "./live-connection.ts";
import type { Lease, LiveConnections } from "./live-connections.ts";
import type { LoadApi } from "./request-body.ts";
import { DiscardReader, JsonReader, NO_RESULT, type ResponseReader } from "./response-reader.ts";
import { StreamReader } from "./stream-reader.ts";
import type { FailureClass, Job, Outcome } from "./target.ts";

export interface ExchangeOptions {
  readonly clock: Clock;
  readonly connections: LiveConnections;
  readonly job: Job;
  readonly request: Dispatcher.DispatchOptions;
  /** Null for a whole answer. */
  readonly format: LoadApi["format"] | null;
  readonly timeoutUs: number;
  readonly done: (outcome: Outcome) => void;
}

export class LiveExchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #clock: Clock;
  #cancelTimeout: () => void = () => undefined;
  #giveUp: () => void = () => undefined;
  #connection: LiveConnection | undefined;
  #connectUs: number | null = null;
  #sentUs: number | null = null;
  #headersUs: number | null = null;
  #reader: ResponseReader | undefined;
  #over = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  start(): void {
    const { connections, timeoutUs } = this.#options;
    const limitUs = this.#clock.nowUs() + timeoutUs;
    this.#cancelTimeout = this.#clock.at(limitUs, () => {
      this.#giveUp();
      this.#fail("timeout", this.#clock.nowUs());
    });
    this.#giveUp = connections.acquire((lease) => this.#onLease(lease));
  }

  #onLease(lease: Lease | Error): void {
    if (this.#over) {
      if (!(lease instanceof Error)) this.#options.connections.release(lease.connection);
      return;
    }
    if (lease instanceof Error) {
      // Pushed on, since a target may not answer before `send` has returned.
      queueMicrotask(() => this.#fail("connect", this.#clock.nowUs()));
      return;
    }
    this.#connection = lease.connection;
    this.#connectUs = lease.connectUs;
    lease.connection.dispatch(this.#options.request, this);
  }

  onRequestStart(): void {
    this.#sentUs = this.#clock.nowUs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    this.#headersUs = this.#clock.nowUs();
    this.#reader = this.#readerFor(status, String(headers["content-type"] ?? ""));
  }

  #readerFor(status: number, contentType: string): ResponseReader {
    const { format, job } = this.#options;
    if (status >= 300) return new DiscardReader(`http-${status}`);
    if (format === null) return new JsonReader();
    if (!contentType.startsWith("text/event-stream")) return new DiscardReader("malformed");
    return new StreamReader(format, {
      intendedUs: job.intendedUs,
      sentUs: this.#sentUs!,
      headersUs: this.#headersUs!,
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    const atUs = this.#clock.nowUs();
    this.#reader?.onBytes(bytes, atUs);
  }

  onResponseEnd(): void {
    const endUs = this.#clock.nowUs();
    // undici is still inside its parser, and can take the next request only once it has left it. The connection goes back
    // first: whoever hears of the end may send at once, and should find it.
    queueMicrotask(() => {
      if (this.#connection !== undefined) this.#options.connections.release(this.#connection);
      this.#finish(endUs, true);
    });
  }

  onResponseError(): void {
    const endUs = this.#clock.nowUs();
    this.#connection?.close();
    if (this.#reader === undefined) this.#fail("connection-lost", endUs);
    else this.#finish(endUs, false);
  }

  #finish(endUs: number, isWhole: boolean): void {
    const result = this.#reader?.finish(endUs, isWhole);
    this.#end(endUs, result ?? { ...NO_RESULT, failure: "connection-lost" });
  }

  #fail(failure: FailureClass, endUs: number): void {
    if (this.#over) return;
    const stream = failure === "timeout" ? this.#reader?.finish(endUs, false).stream : null;
    this.#end(endUs, { ...NO_RESULT, failure, stream: stream ?? null });
    this.#connection?.close();
  }

  #end(endUs: number, result: ReturnType<ResponseReader["finish"]>): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimeout();
    this.#options.done({
      ...result,
      endUs,
      sentUs: this.#sentUs,
      headersUs: this.#headersUs,
      connection:
        this.#connection === undefined ? null : this.#connectUs === null ? "reused" : "new",
      ...(this.#connectUs !== null && { connectUs: this.#connectUs }),
    });
  }
}
