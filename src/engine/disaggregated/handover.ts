/** One request's way through both pools, and what all hand-overs added up to. */
import type { EngineRequest } from "../request.ts";

export type HandoverPhase = "prefill" | "queued" | "transfer" | "decode";

export interface Handover {
  phase: HandoverPhase;
  /** As the caller knows it, and as the decode engine does. */
  readonly request: EngineRequest;
  /** Its first part: the prompt and one token, on the prefill engine. */
  prefill: EngineRequest;
  /** Prefill engine and, once it is known, decode engine. */
  readonly source: number;
  target: number;
  /** The prefill is done; the transfer starts and ends. NaN until then. */
  readyUs: number;
  startUs: number;
}

export interface HandoverTotals {
  transfers: number;
  bytes: number;
  /** Σ of times on the links, and of waiting for a link and for room at its other end. */
  transferUs: number;
  waitUs: number;
  waitUsMax: number;
  /** Most that waited at one time, all prefill engines together. */
  queuedMax: number;
  /** Arrived after their room had been given away: computed again by the decode engine. */
  lost: number;
}

export function noHandovers(): HandoverTotals {
  return { transfers: 0, bytes: 0, transferUs: 0, waitUs: 0, waitUsMax: 0, queuedMax: 0, lost: 0 };
}
