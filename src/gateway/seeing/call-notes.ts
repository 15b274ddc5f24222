/** What is noted of one request while it runs, until it becomes its record. The first outcome counts. */
import type { ErrorCode } from "../../core/index.ts";
import type { RefusalReason } from "../../policy/index.ts";
import type { CountedTokens, StreamMetrics } from "../../stream/index.ts";
import type { Outcome } from "../upstream-fault.ts";
import type { CallIdentity } from "./call-identity.ts";
import {
  type AttemptSeen,
  type CallRecord,
  isPassedOn,
  type StreamFigures,
} from "./call-record.ts";

/** For what a request is not known to have. */
export const NONE = "none";

export interface NotedArrival {
  readonly identity: CallIdentity;
  readonly receivedUs: number;
  /** Name of the route. */
  readonly route: string;
  readonly tenant: string;
  readonly client: string | undefined;
}

/** What is known of it at its end. */
export interface NotedEnd {
  readonly nowUs: number;
  readonly wallMs: number;
  /** undefined if the request was never read. */
  readonly intent:
    | { readonly model: string; readonly modelAsked: string; readonly isStream: boolean }
    | undefined;
  readonly attempts: readonly AttemptSeen[];
  readonly usage: CountedTokens | undefined;
  readonly stream: StreamMetrics | undefined;
  readonly responseBytes: number;
  readonly guard: CallRecord["guard"];
  readonly cacheBreak: CallRecord["cacheBreak"];
}

export class CallNotes {
  readonly arrival: NotedArrival;
  readyUs: number | undefined;
  admittedUs: number | undefined;
  lane: string | undefined;
  sentUs: number | undefined;
  headUs: number | undefined;
  /** 0 until a head is sent. */
  status = 0;
  refusal: RefusalReason | undefined;
  /** Its first output has been told already. */
  hasFirstOutput = false;
  requestBytes = 0;
  #outcome: Outcome | undefined;
  #error: ErrorCode | undefined;
  #endedUs = 0;
  #heldUs = 0;
  #blockedUs: number | undefined;

  constructor(arrival: NotedArrival) {
    this.arrival = arrival;
  }

  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Settled; the delivery of what is left may go on. */
  get endedUs(): number {
    return this.#endedUs;
  }

  /** How long the client has held the answer up: time that is not the upstream's. */
  get heldUs(): number {
    return this.#heldUs;
  }

  /** How long it has waited to be let in. */
  get queuedUs(): number {
    return this.admittedUs === undefined ? 0 : this.admittedUs - this.readyUs!;
  }

  settle(outcome: Outcome, nowUs: number, error?: ErrorCode): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#endedUs = nowUs;
    this.#error = error;
    // A client that never took the rest has held it up until now.
    this.release(nowUs);
  }

  hold(nowUs: number): void {
    this.#blockedUs = nowUs;
  }

  release(nowUs: number): void {
    if (this.#blockedUs === undefined) return;
    this.#heldUs += nowUs - this.#blockedUs;
    this.#blockedUs = undefined;
  }

  record(end: NotedEnd): CallRecord {
    const { arrival } = this;
    const { identity, receivedUs, route, tenant, client } = arrival;
    const { intent, attempts, stream } = end;
    const first = firstPassedOn(attempts);
    const record: CallRecord = {
      requestId: identity.requestId,
      trace: identity.trace,
      wallMs: end.wallMs - Math.round((end.nowUs - receivedUs) / 1_000),
      receivedUs,
      readyUs: this.readyUs,
      admittedUs: this.admittedUs,
      sentUs: this.sentUs,
      headUs: this.headUs,
      contentUs: first?.contentUs,
      endedUs: this.#endedUs,
      route,
      model: intent?.model ?? NONE,
      modelAsked: intent?.modelAsked.slice(0, MODEL_CHARS_MAX) ?? "",
      upstream: (first ?? attempts.at(-1))?.upstream ?? NONE,
      tenant,
      client,
      lane: this.lane,
      isStream: intent?.isStream ?? false,
      status: this.status,
      outcome: this.#outcome ?? "internal",
      error: this.#error,
      refusal: this.refusal,
      attempts,
      usage: end.usage,
      stream: stream === undefined ? undefined : figuresOf(stream),
      requestBytes: this.requestBytes,
      responseBytes: end.responseBytes,
      heldUs: this.#heldUs,
      guard: end.guard,
      cacheBreak: end.cacheBreak,
    };
    // Hardly any is one; a spread within the record is paid for by all.
    return identity.isWarmUp === true ? { ...record, isWarmUp: true } : record;
  }
}

function firstPassedOn(attempts: readonly AttemptSeen[]): AttemptSeen | undefined {
  for (let at = 0; at < attempts.length; at += 1) {
    if (isPassedOn(attempts, at)) return attempts[at];
  }
  return undefined;
}

/** Callers may send anything as a name. */
const MODEL_CHARS_MAX = 200;

function figuresOf(stream: StreamMetrics): StreamFigures {
  return {
    ttfbUs: stream.ttfbUs,
    ttftUs: stream.ttftUs,
    ttfvtUs: stream.ttfvtUs,
    serviceTtftUs: stream.serviceTtftUs,
    lastOutputUs: stream.lastOutputUs,
    e2eUs: stream.e2eUs,
    tpotUs: stream.tpotUs,
    chunks: stream.chunks,
    tokens: stream.tokens,
    tokensSource: stream.tokensSource,
    spreadBy: stream.spreadBy,
    stalls: stream.stalls,
    coalescedShare: stream.coalescedShare,
    samplesLeftOut: stream.samplesLeftOut,
  };
}
