/**
 * One request as it was, made once when it has ended and given to whoever listens: metrics, the access log, traces. Plain
 * data without a body, a prompt, an answer or a key. Instants in µs on the gateway's clock; undefined for what did not
 * happen.
 */
import type { ErrorCode } from "../../core/index.ts";
import type { AttemptRecord, Divergence, GuardTax, RefusalReason } from "../../policy/index.ts";
import type { CountedTokens, StreamMetrics } from "../../stream/index.ts";
import type { ConnectionMarks } from "../transport/connection-marks.ts";
import type { Outcome } from "../upstream-fault.ts";
import type { CallIdentity } from "./call-identity.ts";

export interface CallRecord extends CallIdentity {
  /** Unix time of the arrival, in ms. */
  readonly wallMs: number;
  readonly receivedUs: number;
  /** It was there, whole. */
  readonly readyUs: number | undefined;
  /** Its turn had come. */
  readonly admittedUs: number | undefined;
  /** Its first attempt was on its way. */
  readonly sentUs: number | undefined;
  /** Of the first attempt that had one. */
  readonly headUs: number | undefined;
  /** First output of the model that was delivered. */
  readonly contentUs: number | undefined;
  readonly endedUs: number;
  /** From a closed list, as the model; "none" for what never got so far. */
  readonly route: string;
  readonly model: string;
  /** As the caller has named it. */
  readonly modelAsked: string;
  /** Of the attempt whose answer the caller has, or the first part of it; else of the last one; "none" without any. */
  readonly upstream: string;
  readonly tenant: string;
  /** Address at the other end of the connection: of a proxy, if one stands before the gateway. */
  readonly client: string | undefined;
  readonly lane: string | undefined;
  readonly isStream: boolean;
  /** 0 if no head was sent. */
  readonly status: number;
  readonly outcome: Outcome;
  /** What this gateway has told the caller, if it was an error of its own. */
  readonly error: ErrorCode | undefined;
  /** Why admission has turned it away. */
  readonly refusal: RefusalReason | undefined;
  readonly attempts: readonly AttemptSeen[];
  /** As the upstream counted; undefined if it did not say. */
  readonly usage: CountedTokens | undefined;
  readonly stream: StreamFigures | undefined;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** How long the client has held the answer up. */
  readonly heldUs: number;
  /** What guardrails made of it, and cost; undefined where none were to be passed. */
  readonly guard: (GuardTax & { readonly refusedBy: string | undefined }) | undefined;
  /** Where its prompt parts from the one before of its conversation; undefined if it does not, or nobody looks. */
  readonly cacheBreak: Divergence | undefined;
}

/** Of a stream's figures those that are not one per token. */
export type StreamFigures = Omit<StreamMetrics, "chunkGapsUs" | "itlUs">;

export interface AttemptSeen extends Readonly<AttemptRecord> {
  readonly upstream: string;
  /** Of the upstream, and the model's name there if it differs. */
  readonly targetName: string;
  /** Who answers there, as traces name it. */
  readonly provider: string;
  /** Such as `https://api.openai.com`; undefined if no connection was taken. */
  readonly origin: string | undefined;
  /** How it came by its connection; undefined if it was never sent. */
  readonly connection: ConnectionMarks | undefined;
  readonly upstreamRequestId: string | undefined;
}

export interface CallListener {
  callEnds(record: CallRecord): void;
}

/** Whether the caller has what the attempt has said: all of it, or, if it broke off, the part that another went on from. */
export function isPassedOn(attempts: readonly AttemptSeen[], at: number): boolean {
  return attempts[at]?.end === "delivered" || attempts[at + 1]?.cause === "continue";
}

/** How long it had to wait before its first attempt, in µs. */
export function queuedUs({ readyUs, admittedUs }: CallRecord): number {
  return readyUs === undefined || admittedUs === undefined ? 0 : admittedUs - readyUs;
}
