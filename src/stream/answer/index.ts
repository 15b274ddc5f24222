/** What is read off an answer on its way: whether it gets on, whether it is whole, its tokens; and how its early end is told. */

export { type TokenUsage, USAGE_UNKNOWN } from "../token-usage.ts";
export type { BodyObserver, Ending } from "./body-observer.ts";
export { errorFrame, upstreamErrorBody } from "./error-frame.ts";
export { type CountedTokens, errorInJson, joinedBytes, usageInJson } from "./json-answer.ts";
export { isCutShort, JsonEndCheck } from "./json-end-check.ts";
export { LineGate } from "./line-gate.ts";
export { type EventSource, StreamObserver } from "./stream-observer.ts";
export { Transcript } from "./transcript.ts";
