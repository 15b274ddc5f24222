/** W3C Trace Context, level 1: the caller's trace goes on here and upstream; a header that is none begins no trace. */

/** Where a call stands in its trace. */
export interface TraceContext {
  /** 32 hexadecimal digits, as for every trace id here. */
  readonly traceId: string;
  /** Of this gateway's span; undefined where it records none, and the caller's own header then passes as it came. */
  readonly spanId: string | undefined;
  readonly parentId: string | undefined;
  readonly isSampled: boolean;
}

export interface TraceParent {
  readonly traceId: string;
  readonly parentId: string;
  readonly isSampled: boolean;
}

/** Versions after 00 may have more behind the flags; ff is none. Upper case is not allowed. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);

export function readTraceparent(value: string | string[] | undefined): TraceParent | undefined {
  if (typeof value !== "string") return undefined;
  const [, version, traceId = NO_TRACE, parentId = NO_SPAN, flags = "", more] =
    TRACEPARENT.exec(value) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return undefined;
  if (traceId === NO_TRACE || parentId === NO_SPAN) return undefined;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparent(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/**
 * Ids of the spans below a call's own, so that an attempt's is known when it is sent and again when it is exported: the
 * call's id with its last byte moved on. @param child from 1 to 255.
 */
export function childSpanId(spanId: string, child: number): string {
  const last = (Number.parseInt(spanId.slice(14), 16) + child) & 0xff;
  return spanId.slice(0, 14) + last.toString(16).padStart(2, "0");
}

/** Whether a trace is among the share that is kept: the same answer wherever the same share is asked for. */
export function isInShare(traceId: string, share: number): boolean {
  // The low 52 bits are exact in a double, and random by the level-2 rule as well.
  return Number.parseInt(traceId.slice(19), 16) < share * 2 ** 52;
}
