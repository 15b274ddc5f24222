/**
 * The client's side of one call: writes the answer as fast as the client reads it, and no faster, and tells an early end in
 * the client's own dialect. A response that was cut never looks whole (casebook GW-04, GW-06):
 *
 *     nothing sent yet           → a JSON error with its status
 *     event stream, in the clear → one error event, and no terminal frame
 *     anything else              → the connection is broken, which no client can take for an end
 */
import type { ServerResponse } from "node:http";
import { type Clock, DueTimer } from "../clock/index.ts";
import type { ErrorDialect } from "../core/index.ts";
import { LineGate, type StreamFormat } from "../stream/index.ts";
import { answerEnd, type EarlyEnd, errorEvent } from "./early-end.ts";

export interface DeliveryEvents {
  /** The client reads slower than the upstream writes. */
  onBlocked(): void;
  onDrained(): void;
  /** The client took nothing for the write limit; its connection is closed. */
  onStalled(): void;
  /** The connection or the response has ended; the last call. */
  onClosed(): void;
}

export class Delivery {
  readonly #response: ServerResponse;
  readonly #dialect: ErrorDialect;
  readonly #format: StreamFormat | null;
  readonly #writeLimitUs: number;
  readonly #clock: Clock;
  /** Runs while the client owes a read; there once it has owed one. */
  #timer: DueTimer | undefined;
  readonly #events: DeliveryEvents;
  #gate: LineGate<Buffer> | undefined;
  /** Of a stream of the responses API: what holds the number of its last event. */
  #said: Buffer | undefined;
  #blocked = false;
  #closed = false;
  /** Bytes of the body that were handed to the socket. */
  bytes = 0;

  constructor(
    response: ServerResponse,
    options: {
      dialect: ErrorDialect;
      format: StreamFormat | null;
      writeLimitUs: number;
      clock: Clock;
      events: DeliveryEvents;
    },
  ) {
    this.#response = response;
    this.#dialect = options.dialect;
    this.#format = options.format;
    this.#writeLimitUs = options.writeLimitUs;
    this.#clock = options.clock;
    this.#events = options.events;
    response.on("error", ignore);
    response.once("close", this.#onClose);
    // A pipelined request waits for its turn without a socket, and then is not told when that closes.
    if (response.socket === null) response.req.socket.once("close", this.#onClose);
  }

  get hasHead(): boolean {
    return this.#response.headersSent;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** @param canAppend an event stream in the clear: its lines can be told apart and an error event added to it. */
  head(status: number, headers: readonly string[], canAppend: boolean): void {
    if (this.#closed) return;
    if (canAppend) this.#gate = new LineGate();
    this.#response.writeHead(status, headers as string[]);
    // Sent on its own if no body came in the same read, together with the body if one did.
    queueMicrotask(() => {
      if (this.bytes === 0 && !this.#closed && !this.#response.writableEnded) {
        this.#response.flushHeaders();
      }
    });
  }

  readonly #write = (part: Buffer): void => {
    this.bytes += part.length;
    if (this.#format === "openai-responses" && part.includes(NUMBER)) this.#said = part;
    if (this.#response.write(part) || this.#blocked) return;
    this.#blocked = true;
    this.#response.once("drain", this.#onDrain);
    this.#armWrite();
    this.#events.onBlocked();
  };

  data(chunk: Buffer): void {
    if (this.#closed) return;
    if (this.#gate === undefined) this.#write(chunk);
    else this.#gate.push(chunk, this.#write);
  }

  /** @param last bytes that have come with the end: sent with it in one write. */
  end(last?: Buffer): void {
    if (this.#closed) return;
    if (this.#gate === undefined) {
      this.bytes += last?.length ?? 0;
      this.#finish(last);
      return;
    }
    if (last !== undefined) this.#gate.push(last, this.#write);
    this.#gate.flush(this.#write);
    this.#finish();
  }

  /** The early end. */
  fail(end: EarlyEnd): void {
    if (this.#closed) return;
    if (!this.hasHead) {
      answerEnd(this.#response, end);
      return;
    }
    if (this.#gate === undefined || !this.#gate.atLineEnd) {
      this.destroy();
      return;
    }
    this.#gate.drop();
    const event = errorEvent(end, this.#dialect, this.#format, this.#said);
    this.bytes += event.length;
    this.#finish(event);
  }

  /** Breaks the connection. */
  destroy(): void {
    if (this.#closed) return;
    this.#response.destroy();
    // A response without a socket yet has nobody else to break it.
    if (this.#response.socket === null) this.#response.req.socket.destroy();
  }

  #armWrite(): void {
    const limitUs = this.#writeLimitUs;
    if (limitUs <= 0) return;
    this.#timer ??= new DueTimer(this.#clock, () => {
      this.#events.onStalled();
      this.destroy();
    });
    this.#timer.arm(this.#clock.nowUs() + limitUs);
  }

  /** The timer goes on: a client that never reads must not hold what is queued for ever. */
  #finish(last?: Buffer): void {
    this.#response.end(last);
    if (this.#response.writableLength > 0 && !this.#blocked) {
      this.#armWrite();
    }
  }

  readonly #onDrain = (): void => {
    if (!this.#blocked || this.#closed) return;
    this.#blocked = false;
    if (this.#response.writableEnded) return;
    this.#timer?.stop();
    this.#events.onDrained();
  };

  readonly #onClose = (): void => {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.stop();
    this.#response.req.socket.off("close", this.#onClose);
    this.#events.onClosed();
  };
}

/** Comments and the empty lines behind events have none. */
const NUMBER = "sequence_number";

function ignore(): void {}
