/** Turns from and to OTLP/JSON. Apart from the rest of `trace`, which an agent can record without it. */

export {
  type OtlpRead,
  type OtlpReadSpan,
  type RejectedSpan,
  readOtlp,
} from "./read-otlp.ts";
export { type OtlpTurn, readTurns } from "./read-turns.ts";
export { SEMCONVS, type Semconv } from "./semconv.ts";
export { type OtlpOptions, type OtlpRequest, writeOtlp } from "./write-otlp.ts";
