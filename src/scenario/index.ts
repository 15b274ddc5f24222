/** Worlds that show a symptom, its cause and its cure. */

export {
  ARRANGEMENTS,
  type QuietTenant,
  runQuietTenant,
  runSerialStart,
  runWarmStart,
  type SerialOutcome,
  type StartArrangement,
  type StartOutcome,
  TTFT_S,
  UNDECLARED_S,
} from "./cold-start.ts";
export { type DemoOptions, hourLadder, runDemo } from "./demo.ts";
export { fanOutAdvice, fanOutTails } from "./fan-out-tail.ts";
export { fanOutTable, stepTable, streamingTable } from "./golden-table.ts";
export { composedTail, stepCures } from "./multi-step-tail.ts";
export {
  type RetryHand,
  type RetryTail,
  retryTail,
  retryTailLines,
  retryTails,
  type SlowBy,
} from "./retry-tail.ts";
export { streamingWays } from "./streaming-tools.ts";
