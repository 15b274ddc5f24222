/** Turns as spans: recorded, told apart by phase, walked for their critical path. */
/** Phases and the critical path of a turn. */
export {
  type AttributedSlice,
  type Attribution,
  type AttributionOptions,
  attribute,
} from "./attribution.ts";
export { type Coverage, coverageOf } from "./coverage.ts";
export { criticalPath, type PathOptions, type PathSection } from "./critical-path.ts";
/** The turn document, and what is not known of a turn. */
export type { TurnRecord } from "./document/turn-schema.ts";
export { FINDING_CODES, type Finding, type FindingCode } from "./finding.ts";
/** Recording one turn. */
export { type ObserveOptions, observeStream } from "./observed-stream.ts";
export { type BeginOptions, NO_SPAN, type OpenSpan, type RecordedKind } from "./open-span.ts";
export { PHASE_SUBS, PHASES, type Phase, type PhaseSub, type PhaseTimes } from "./phase.ts";
/** The span model. */
export {
  type Attributes,
  type AttributeValue,
  EVENT,
  SPAN_KINDS,
  type Span,
  type SpanEvent,
  type SpanKind,
  type SpanLink,
  type SpanStatus,
} from "./span.ts";
export { type ChunkFacts, type StallRule, StreamWatch } from "./stream-watch.ts";
export { type DroppedCounts, TURN_LIMITS, type TurnLimits } from "./turn-limits.ts";
export { type TurnRecordOptions, type TurnSpans, turnRecord } from "./turn-record.ts";
export {
  NO_TURN,
  type RecordedTurn,
  TurnRecorder,
  type TurnRecorderOptions,
  type TurnTrace,
} from "./turn-recorder.ts";
export { TurnTree } from "./turn-tree.ts";
