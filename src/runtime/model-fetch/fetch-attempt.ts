/**
 * One try of a call: makes its request, calls `fetch`, and reads the answer as fast as it is wanted. It has no limit of its
 * own and decides nothing. Ends in exactly one of `onEnd` and `onFault`, or silently after `cancel`; `onClosed` follows when
 * the `fetch` beneath it has let go.
 */
import type { Clock } from "../../clock/index.ts";
import { toManxError } from "../../core/index.ts";
import type { OutgoingRequest } from "./call-place.ts";
import { type Fault, faultAfterHead, faultBeforeHead, garbageFault } from "./fetch-fault.ts";

export interface AttemptSink {
  onSent(nowUs: number): void;
  onHead(response: Response, nowUs: number): void;
  onData(bytes: Uint8Array, nowUs: number): void;
  onEnd(nowUs: number): void;
  onFault(fault: Fault, nowUs: number): void;
}

export interface AttemptOptions {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  readonly origin: string;
  /** Rejects with a ManxError if the call cannot be put in the target's terms. */
  readonly outgoing: () => Promise<OutgoingRequest>;
  readonly onClosed: () => void;
}

export class FetchAttempt {
  readonly #options: AttemptOptions;
  readonly #sink: AttemptSink;
  readonly #controller = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #isOver = false;
  #isPaused = false;
  #wake: (() => void) | undefined;

  constructor(options: AttemptOptions, sink: AttemptSink) {
    this.#options = options;
    this.#sink = sink;
  }

  start(): void {
    void this.#run()
      .catch((thrown: unknown) => this.#fail(faultBeforeHead(thrown, this.#options.origin)))
      .finally(this.#options.onClosed);
  }

  /** Gives up at once, in any phase: `fetch` is told, nothing more is called. */
  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller.abort(new DOMException("no longer needed", "AbortError"));
    // A `fetch` that does not know its signal still knows its reader.
    this.#reader?.cancel().catch(ignore);
    this.#wake?.();
  }

  /** Nobody reads: no more is asked for than has been already. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#wake?.();
  }

  get #nowUs(): number {
    return this.#options.clock.nowUs();
  }

  async #run(): Promise<void> {
    const response = await this.#send();
    if (response === undefined) return;
    if (this.#isOver) {
      await response.body?.cancel().catch(ignore);
      return;
    }
    this.#guard(() => this.#sink.onHead(response, this.#nowUs));
    const reader = response.body?.getReader();
    if (this.#isOver) await reader?.cancel().catch(ignore);
    else if (reader === undefined) this.#end();
    else await this.#read(reader);
  }

  async #send(): Promise<Response | undefined> {
    const { outgoing, fetch, origin } = this.#options;
    let request: OutgoingRequest;
    try {
      request = await outgoing();
    } catch (thrown) {
      this.#fail({ kind: "unsuited", error: toManxError(thrown) });
      return undefined;
    }
    if (this.#isOver) return undefined;
    this.#sink.onSent(this.#nowUs);
    try {
      const response = await fetch(request.url, {
        ...request.init,
        signal: this.#controller.signal,
      });
      if (typeof response?.status === "number") return response;
      this.#fail(garbageFault("no response", origin));
    } catch (thrown) {
      this.#fail(faultBeforeHead(thrown, origin));
    }
    return undefined;
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    this.#reader = reader;
    for (;;) {
      while (this.#isPaused && !this.#isOver) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#isOver) break;
      let result: ReadableStreamReadResult<Uint8Array>;
      try {
        result = await reader.read();
      } catch (thrown) {
        this.#fail(faultAfterHead(thrown));
        return;
      }
      if (this.#isOver) break;
      if (result.done) {
        this.#end();
        return;
      }
      const { value } = result;
      if (!(value instanceof Uint8Array)) {
        this.#fail(garbageFault("a body that is not bytes", this.#options.origin));
        await reader.cancel().catch(ignore);
        return;
      }
      if (value.length > 0) this.#guard(() => this.#sink.onData(value, this.#nowUs));
    }
    // Closed once what it stood on has let go.
    await reader.closed.catch(ignore);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#guard(() => this.#sink.onEnd(this.#nowUs));
    this.#isOver = true;
  }

  /** What goes wrong in here ends this call and not the process. */
  #guard(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.#fail({ kind: "local", error: toManxError(thrown) });
    }
  }

  #fail(fault: Fault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.onFault(fault, this.#nowUs);
    this.#controller.abort(new DOMException("it has failed", "AbortError"));
    this.#reader?.cancel().catch(ignore);
  }
}

function ignore(): void {}
