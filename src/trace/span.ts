/**
 * The span model: turn > step > call > attempt, and what an agent does besides. Times are whole microseconds from the
 * turn's start. The same shape is recorded in the agent's process, read from OTLP, and written into the turn document.
 */
import type { Phase } from "./phase.ts";

export const SPAN_KINDS = [
  /** From the user's input to the finished answer: the root. */
  "turn",
  /** One pass of the agent loop. */
  "step",
  /** A sub-agent or a workflow inside the turn. */
  "agent",
  /** One logical call of a model, with all its attempts. */
  "model-call",
  /** One logical call of a tool, with all its attempts. */
  "tool-call",
  /** One try of the call above it; retries and hedges are attempts of one call. */
  "attempt",
  /** Messages, prompt, session and memory are put together. */
  "assembly",
  /** Embedding, vector query, rerank. */
  "retrieval",
  "guardrail",
  /** The agent's own work, told as such. */
  "orchestration",
  /** Set-up: one part of it, or the whole with its parts as children. */
  "startup",
  "queue",
  "connect",
  "back-off",
  /** Any other span; it counts as what stands above it. */
  "other",
  /** Stands for children that were over the recorder's limit. */
  "dropped",
  /** Stands for a parent that was never received. */
  "missing-parent",
] as const;

export type SpanKind = (typeof SPAN_KINDS)[number];

/** `cancelled`: ended from outside before it was done; neither a success nor a failure. */
export type SpanStatus = "ok" | "error" | "cancelled" | "unset";

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface SpanEvent {
  readonly name: string;
  readonly atUs: number;
}

export interface SpanLink {
  readonly spanId: string;
  /** Set if the other span belongs to another trace. */
  readonly traceId?: string;
  /** `after`: this span could not begin before the other one ended or got far enough. */
  readonly relation: "after" | "related";
}

export interface Span {
  /** 16 lower-case hex digits where it comes from us or from OTLP; unique within the turn. */
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: SpanKind;
  readonly name: string;
  readonly startUs: number;
  readonly endUs: number;
  readonly status: SpanStatus;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** Declared by whoever recorded the span: its own time is this phase, whatever its kind. */
  readonly phase?: Phase;
  /** Paid for set-up, and why: `deploy`, `scale-out`, `idle-recycle`, `first-call` or the caller's own word. */
  readonly cold?: string;
  /** Nobody waited for its end: it is on no critical path. */
  readonly detached?: true;
  /** Had not ended when the turn did; its end is the turn's. */
  readonly unfinished?: true;
}

/** Events that attribution understands; each is the instant at which the thing had happened. */
export const EVENT = {
  /** A place was free: what came before was queueing. */
  placeGranted: "place-granted",
  /** A connection was ready: what came before was connecting. */
  connectionReady: "connection-ready",
  /** First model output of any kind (TTFT). */
  outputStart: "output-start",
  /** First output that a user can see (TTFVT). */
  outputVisible: "output-visible",
  /** Last output. */
  outputEnd: "output-end",
  /** The stream was waited for although all output had come, up to its end: usage, checks, the last frame. */
  tailStart: "tail-start",
  tailEnd: "tail-end",
  /** The output before a stall, and the one that ended it. */
  stallStart: "stall-start",
  stallEnd: "stall-end",
} as const;
