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
export {
  type RetryHand,
  type RetryTail,
  retryTail,
  retryTailLines,
  retryTails,
  type SlowBy,
} from "./retry-tail.ts";
