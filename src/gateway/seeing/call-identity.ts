/** How one request is known in logs, traces, and to both its neighbours. */
import type { IncomingHttpHeaders } from "node:http";
import { type SecretBytes, secretBytes } from "../../clock/index.ts";
import { findHeader } from "../headers.ts";
import {
  childSpanId,
  isInShare,
  readTraceparent,
  type TraceContext,
  traceparent,
} from "./trace-context.ts";

export interface CallIdentity {
  /** The caller's own if it has sent one that is fit for a log, else ours. */
  readonly requestId: string;
  readonly trace: TraceContext | undefined;
  /** Nobody waits for it: it belongs into no percentile and no hit rate. Known once its caller is. */
  readonly isWarmUp?: boolean;
}

/** What others take for ids as well; nothing that could break a line or a query. */
const REQUEST_ID = /^[\w.:@/=+-]{1,128}$/;

/** Of chance, fetched at once: a fetch for each id alone takes 2 µs, an id of a block 0.1. */
const BLOCK_BYTES = 4_096;

/** Makes ids that no other process makes, from the host's own chance. */
export class CallIdentities {
  readonly #bytes: SecretBytes;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(bytes: SecretBytes = secretBytes) {
    this.#bytes = bytes;
  }

  /** @param share of traces that begin here; null: this gateway records none. */
  of(headers: IncomingHttpHeaders, share: number | null): CallIdentity {
    const given = headers["x-request-id"];
    const isFit = typeof given === "string" && REQUEST_ID.test(given);
    const requestId = isFit ? given : `req_${this.#hex(24)}`;
    return { requestId, trace: this.#trace(headers, share) };
  }

  #trace(headers: IncomingHttpHeaders, share: number | null): TraceContext | undefined {
    const parent = readTraceparent(headers.traceparent);
    if (share === null) return parent && { ...parent, spanId: undefined };
    const spanId = this.#hex(16);
    if (parent !== undefined) return { ...parent, spanId };
    const traceId = this.#hex(32);
    return { traceId, spanId, parentId: undefined, isSampled: isInShare(traceId, share) };
  }

  /** @param digits even, and few of a block. */
  #hex(digits: number): string {
    const count = digits / 2;
    if (this.#at + count > this.#block.length) {
      const { buffer, byteOffset } = this.#bytes(BLOCK_BYTES);
      this.#block = Buffer.from(buffer, byteOffset, BLOCK_BYTES);
      this.#at = 0;
    }
    this.#at += count;
    return this.#block.toString("hex", this.#at - count, this.#at);
  }
}

/**
 * What an attempt's request says of it: the trace goes on from the attempt's own span, and a repeated attempt does not use
 * the caller's id a second time, since engines take it for their own (vLLM refuses one that is in use).
 *
 * @param headers names and values in turn; changed in place.
 * @param attempt from 0.
 */
export function markAttempt(headers: string[], identity: CallIdentity, attempt: number): void {
  const { trace } = identity;
  if (trace?.spanId !== undefined) {
    const spanId = attemptSpanId(trace.spanId, attempt);
    set(headers, "traceparent", () => traceparent(trace.traceId, spanId, trace.isSampled), true);
  }
  if (attempt > 0) {
    set(headers, "x-request-id", (given) => `${given.slice(0, 120)}-${attempt + 1}`, false);
  }
}

/** Of the spans below the request's own, attempts come first; a call has far fewer. */
const ATTEMPT_SPANS_MAX = 200;

export function attemptSpanId(spanId: string, attempt: number): string {
  return childSpanId(spanId, 1 + (attempt % ATTEMPT_SPANS_MAX));
}

function set(
  headers: string[],
  name: string,
  value: (given: string) => string,
  isAdded: boolean,
): void {
  for (let i = 0; i < headers.length; i += 2) {
    const one = headers[i]!;
    if (one.length !== name.length || one.toLowerCase() !== name) continue;
    headers[i + 1] = value(headers[i + 1]!);
    return;
  }
  if (isAdded) headers.push(name, value(""));
}

/** @param rawHeaders of its answer. @returns what its support asks for, if it is fit for a log. */
export function upstreamRequestId(rawHeaders: readonly string[]): string | undefined {
  const id = findHeader(rawHeaders, REQUEST_ID_HEADER) || findHeader(rawHeaders, "request-id");
  return REQUEST_ID.test(id) ? id : undefined;
}

const REQUEST_ID_HEADER = "x-request-id";

/**
 * Gives the answer's head this request's id; the upstream's own, which its support asks for, goes on under another name.
 *
 * @param headers names and values in turn; changed in place.
 */
export function addRequestId(headers: string[], requestId: string): void {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length !== REQUEST_ID_HEADER.length || name.toLowerCase() !== REQUEST_ID_HEADER) {
      continue;
    }
    headers[i] = "x-manx-upstream-request-id";
  }
  headers.push(REQUEST_ID_HEADER, requestId);
}
