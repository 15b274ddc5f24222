/**
 * The canonical events of a model's response: what every wire format is turned into and what timeline, policies and
 * runtime read. One wire frame gives none, one or many of them; each carries the frame's number and the instant of the
 * read that completed it, so the events of one frame can always be told to belong together.
 *
 *     response-start → (block-start | *-delta | tool-start → tool-delta… → tool-end | usage | ping)… → finish → done
 *
 * `error` is what the upstream said, `fault` what this decoder could not read. Neither ends the decoding.
 */
import type { TokenUsage } from "./token-usage.ts";

/** Why a model stopped, in one vocabulary for all wires; the wire's own word stands beside it as `rawReason`. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "pause" | "other";

export type FaultCode =
  /** The data of a frame is no JSON object. */
  | "frame-json"
  /** A frame is larger than the limit; it was skipped. */
  | "frame-size"
  /** A field has a form that cannot be read; the rest of the frame was. */
  | "frame-shape"
  /** A tool-call fragment could belong to several calls, or to none. */
  | "tool-ambiguous"
  /** More tool calls or arguments than the limit. */
  | "tool-limit"
  /** The stream ended before the response was complete. */
  | "stream-incomplete";

export interface ResponseStart {
  readonly type: "response-start";
  readonly id: string | null;
  readonly model: string | null;
}

/** Opens a part of the answer without saying anything yet. Chat completions have no such frame. */
export interface BlockStart {
  readonly type: "block-start";
  readonly kind: "text" | "reasoning" | "other";
}

/** `choice` numbers the alternative answers of one response; 0 unless several were asked for. */
export interface TextDelta {
  readonly type: "text-delta";
  readonly choice: number;
  readonly text: string;
}

export interface ReasoningDelta {
  readonly type: "reasoning-delta";
  readonly choice: number;
  /** Empty if redacted. */
  readonly text: string;
  /** The model did think here, but the provider sends it encrypted. */
  readonly redacted: boolean;
}

/** Proves that the reasoning before it is the provider's own; no output. */
export interface ReasoningSignature {
  readonly type: "reasoning-signature";
  readonly choice: number;
  /** Opaque: a signature, or the reasoning itself, encrypted. The provider wants it back as it is. */
  readonly signature: string;
}

export interface RefusalDelta {
  readonly type: "refusal-delta";
  readonly choice: number;
  readonly text: string;
}

export interface ToolStart {
  readonly type: "tool-start";
  readonly choice: number;
  /** Number of the call within the response, in order of appearance. */
  readonly call: number;
  readonly id: string;
  /** Empty if it has not come yet; `tool-end` has it. */
  readonly name: string;
  /** The wire gave no id; this one was made here and has to be used in the reply. */
  readonly idGenerated: boolean;
  /** The provider runs this call itself, such as a web search. */
  readonly byServer: boolean;
}

export interface ToolDelta {
  readonly type: "tool-delta";
  readonly choice: number;
  readonly call: number;
  /** A piece of the arguments' JSON text, never empty. */
  readonly json: string;
}

export interface ToolEnd {
  readonly type: "tool-end";
  readonly choice: number;
  readonly call: number;
  readonly id: string;
  readonly name: string;
  readonly idGenerated: boolean;
  readonly byServer: boolean;
  /** A JSON object, `{}` where the model sent no arguments. If `problem` is set: as it came. */
  readonly argumentsText: string;
  /** A fragment had lost its way (drifting index or id) and was put where alone it could belong. */
  readonly repaired: boolean;
  /** Why this call must not be run; null if it may. */
  readonly problem: string | null;
}

/** What is known so far, not an increment. */
export interface UsageReport {
  readonly type: "usage";
  readonly usage: TokenUsage;
}

export interface Finish {
  readonly type: "finish";
  readonly choice: number;
  readonly reason: FinishReason;
  readonly rawReason: string;
}

/** A comment, a ping event or a frame without data: the connection lives, the model has said nothing. */
export interface Ping {
  readonly type: "ping";
}

/** An error that the upstream reports inside a response that began well. */
export interface UpstreamError {
  readonly type: "error";
  readonly errorType: string;
  readonly message: string;
  /** The HTTP status that it would have been, or null if that cannot be told. */
  readonly status: number | null;
}

export interface Fault {
  readonly type: "fault";
  readonly code: FaultCode;
  readonly detail: string;
}

/** A well-formed frame of a kind that this version does not know. */
export interface Unknown {
  readonly type: "unknown";
  readonly name: string;
}

/** The terminal frame: `[DONE]`, `message_stop`, `response.completed` or `response.incomplete`. */
export interface Done {
  readonly type: "done";
}

export type StreamEventBody =
  | ResponseStart
  | BlockStart
  | TextDelta
  | ReasoningDelta
  | ReasoningSignature
  | RefusalDelta
  | ToolStart
  | ToolDelta
  | ToolEnd
  | UsageReport
  | Finish
  | Ping
  | UpstreamError
  | Fault
  | Unknown
  | Done;

export interface FrameStamp {
  /** From 0 within the stream; comments count. */
  readonly frame: number;
  /** Of the read that completed the frame, on the caller's clock. */
  readonly atUs: number;
}

export type StreamEvent = StreamEventBody & FrameStamp;

/**
 * Whether the model has put out something: text, reasoning, refusal, a tool's name or arguments. Role-only and empty
 * chunks, comments, pings, usage and finish are no output (casebook LD-01).
 */
export function isOutput(event: StreamEventBody): boolean {
  switch (event.type) {
    case "text-delta":
    case "refusal-delta":
      return event.text.length > 0;
    case "reasoning-delta":
      return event.text.length > 0 || event.redacted;
    case "tool-start":
      return event.name.length > 0;
    case "tool-delta":
      return event.json.length > 0;
    default:
      return false;
  }
}

/** Whether a user can see it: text, a refusal, or that a tool is being called. Reasoning is not for the user. */
export function isVisible(event: StreamEventBody): boolean {
  return event.type !== "reasoning-delta" && isOutput(event);
}

/**
 * Whether the response has come further, for stall detection (casebook GW-09): output, a block or call that opens, a
 * call that ends, a signature, a finish, and what this version does not know. Pings, usage, the head of the response and
 * frames that cannot be read prove that bytes flow, not that the model works.
 */
export function isProgress(event: StreamEventBody): boolean {
  switch (event.type) {
    case "block-start":
    case "reasoning-signature":
    case "tool-start":
    case "tool-end":
    case "finish":
    case "error":
    case "done":
    case "unknown":
      return true;
    default:
      return isOutput(event);
  }
}
