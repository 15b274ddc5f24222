/** Bytes to frames to canonical events: one decoder per wire format. */
export * from "./answer/index.ts";
/** The way back, for servers. */
export { CHAT_DONE, type ChatHead, encodeChatChunk } from "./chat-encoder.ts";
/** How a response stands or has ended, its usage and tool calls. */
export type { Completion, CompletionState } from "./completion.ts";
/** Tool arguments while they arrive: when they are whole, and which fields are. */
export { JsonSealer } from "./json-sealer.ts";
/** Whether a running stream lives, and whether it gets on. */
export * from "./live-progress.ts";
export * from "./request/index.ts";
export { SseDecoder, type SseFrame } from "./sse-decoder.ts";
/** Times of a stream: TTFB, TTFT, ITL, TPOT, stalls. */
export { STALL_MIN_US, type Stalls, stallThresholdUs } from "./stalls.ts";
export {
  createDecoder,
  type DecodableFormat,
  type DecoderOptions,
  type StreamDecoder,
  type StreamFormat,
} from "./stream-decoder.ts";
export { createEncoder, type EncoderOptions, type StreamEncoder } from "./stream-encoder.ts";
export {
  type FaultCode,
  type FinishReason,
  isOutput,
  isProgress,
  isVisible,
  type StreamEvent,
  type StreamEventBody,
  type ToolEnd,
  type UpstreamError,
} from "./stream-event.ts";
export {
  type StreamMetrics,
  StreamTimeline,
  type TimelineOptions,
  type TokenCounter,
} from "./timeline.ts";
export { readWireError } from "./wire-error.ts";
