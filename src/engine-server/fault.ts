/**
 * What can go wrong between an engine and its client, on demand. The engine itself stays sound: a fault withholds, spoils
 * or replaces what it says, and its memory is freed as for any other request.
 *
 *     never reaches the engine   429 500 503 529, hang, refuse
 *     the head                   slow-headers
 *     the body                   stall, slow-drip, cut, error-in-stream, malformed-frame, model-change
 *
 * `after` counts chunks that have been sent: chunks of a stream, pieces of `WHOLE_PIECE_BYTES` of a whole answer. A place
 * that an answer never gets to is a fault that does not happen.
 */
export const FAULT_STATUSES = [429, 500, 503, 529] as const;

export const FAULT_KINDS = [
  "stall",
  "slow-headers",
  "slow-drip",
  "cut",
  "error-in-stream",
  "malformed-frame",
  "model-change",
  "hang",
  "refuse",
  "429",
  "500",
  "503",
  "529",
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];
export type FaultStatus = (typeof FAULT_STATUSES)[number];

/** Silence, and what is sent to keep a connection alive in it; `pingUs` undefined sends nothing. */
interface Silence {
  readonly after: number;
  readonly pingUs: number | undefined;
}

interface Stall extends Silence {
  readonly kind: "stall";
  /** Infinity: until the client leaves. */
  readonly forUs: number;
}

interface SlowDrip extends Silence {
  readonly kind: "slow-drip";
  /** Least time between two chunks. */
  readonly gapUs: number;
}

interface SlowHeaders {
  readonly kind: "slow-headers";
  readonly forUs: number;
}

/** `fin` and `rst` break the transfer; `end` closes it well, with the rest of the answer missing. */
export type CutForm = "fin" | "rst" | "end";

interface Cut {
  readonly kind: "cut";
  readonly after: number;
  readonly how: CutForm;
}

interface ErrorInStream {
  readonly kind: "error-in-stream";
  readonly after: number;
  /** What the error would have been before the head; a whole answer is answered with it. */
  readonly status: FaultStatus;
}

interface MalformedFrame {
  readonly kind: "malformed-frame";
  readonly after: number;
}

interface ModelChange {
  readonly kind: "model-change";
  readonly after: number;
  readonly model: string;
}

interface Hang {
  readonly kind: "hang";
}

interface Refuse {
  readonly kind: "refuse";
  readonly forUs: number;
}

/** How a status tells its client when to come back. */
type RetryForm = "seconds" | "ms" | "date";

export interface StatusFault {
  readonly kind: `${FaultStatus}`;
  /** Undefined: no word about it. */
  readonly retryUs: number | undefined;
  readonly form: RetryForm;
}

/** A fault that an answer in being sent can have. */
export type DeliveryFault = Stall | SlowDrip | SlowHeaders | Cut | ErrorInStream | MalformedFrame;

export type Fault = DeliveryFault | ModelChange | Hang | Refuse | StatusFault;

/** Of all traffic: this share of requests, 0 to 1, gets it. */
export interface FaultShare {
  readonly share: number;
  readonly fault: Fault;
}
