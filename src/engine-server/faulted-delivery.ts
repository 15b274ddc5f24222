/** A stream or a whole answer, delivered with a fault. The engine side does not notice. */
import type { Clock } from "../clock/index.ts";
import type { ManxError } from "../core/index.ts";
import { sendApiError } from "./api-error.ts";
import { type Delivery, type DeliveryParts, StreamDelivery, usageOf } from "./delivery.ts";
import type { DeliveryFault } from "./fault.ts";
import { faultBody, sendFaultStatus } from "./fault-answer.ts";
import { FaultScript } from "./fault-script.ts";
import { FaultedOutlet, type Outlet } from "./faulted-outlet.ts";

export interface FaultedOptions {
  readonly fault: DeliveryFault;
  readonly clock: Clock;
  /** The fault happens. */
  readonly onStrike: () => void;
}

/** An event that was cut in two by something that did not know what it cut. */
const HALF_FRAME = 'data: {"id":"chatcmpl-","choices":[{"index":0,"delta":{"content":"\n\n';
const PING = ": ping\n\n";

export class FaultedStream implements Delivery {
  readonly #parts: DeliveryParts;
  readonly #inner: StreamDelivery;
  readonly #outlet: FaultedOutlet;
  /** By chunk: tokens up to its end. */
  readonly #ends: number[] = [];
  #cachedTokens = 0;

  constructor(parts: DeliveryParts, includeUsage: boolean, options: FaultedOptions) {
    const { response } = parts;
    this.#parts = parts;
    this.#inner = new StreamDelivery(parts, includeUsage);
    const outlet: Outlet = {
      head: () => this.#inner.accepted(),
      chunk: (index) => this.#inner.tokens(this.#ends[index - 1] ?? 0, this.#ends[index]!),
      end: () => this.#inner.end(this.#cachedTokens),
      spoil: () => response.write(HALF_FRAME),
      ping: () => response.write(PING),
      fail: (status) => response.end(`data: ${JSON.stringify(faultBody(status))}\n\n`),
    };
    this.#outlet = outletOf(parts, outlet, options);
  }

  accepted(): void {
    this.#outlet.open();
  }

  tokens(_from: number, to: number): void {
    this.#ends.push(to);
    this.#outlet.grow(this.#ends.length);
  }

  end(cachedTokens: number): void {
    this.#cachedTokens = cachedTokens;
    this.#outlet.complete();
  }

  fail(error: ManxError): void {
    this.#outlet.stop();
    if (this.#parts.response.headersSent) this.#inner.fail(error);
    else sendApiError(this.#parts.response, error);
  }
}

/** What a whole answer is sent in when it is sent in pieces. */
const WHOLE_PIECE_BYTES = 64;

export class FaultedWhole implements Delivery {
  readonly #parts: DeliveryParts;
  readonly #outlet: FaultedOutlet;
  readonly #options: FaultedOptions;
  #body = Buffer.alloc(0);

  constructor(parts: DeliveryParts, options: FaultedOptions) {
    const { response } = parts;
    this.#parts = parts;
    this.#options = options;
    const outlet: Outlet = {
      // Without a length, so that an end that comes too early looks like one.
      head: () => response.writeHead(200, { "content-type": "application/json" }).flushHeaders(),
      chunk: (index) => response.write(this.#piece(index)),
      end: () => response.end(),
      spoil: () => response.write('"}{"'),
      ping: () => undefined,
      fail: () => response.destroy(),
    };
    this.#outlet = outletOf(parts, outlet, options);
  }

  accepted(): void {
    // Nothing is sent before the answer is complete.
  }

  tokens(): void {
    // Kept back until the end.
  }

  end(cachedTokens: number): void {
    const { response, form, answer } = this.#parts;
    const { fault, onStrike } = this.#options;
    if (fault.kind === "error-in-stream") {
      // A whole answer has no middle: the error is its status.
      onStrike();
      sendFaultStatus(response, fault.status);
      return;
    }
    const whole = form.whole(answer, usageOf(this.#parts, cachedTokens));
    this.#body = Buffer.from(JSON.stringify(whole));
    this.#outlet.open();
    this.#outlet.grow(Math.ceil(this.#body.length / WHOLE_PIECE_BYTES));
    this.#outlet.complete();
  }

  fail(error: ManxError): void {
    this.#outlet.stop();
    sendApiError(this.#parts.response, error);
  }

  #piece(index: number): Buffer {
    return this.#body.subarray(index * WHOLE_PIECE_BYTES, (index + 1) * WHOLE_PIECE_BYTES);
  }
}

function outletOf(
  { response }: DeliveryParts,
  outlet: Outlet,
  { fault, clock, onStrike }: FaultedOptions,
): FaultedOutlet {
  const script = new FaultScript(fault);
  return new FaultedOutlet({ response, clock, script, outlet, onStrike });
}
