/** Branches that run beside each other and come back together, and whether they should. */
export { type StragglerOptions, StragglerPolicy } from "../../policy/join/index.ts";
export {
  adviseFanOut,
  type FanOutAdvice,
  type FanOutAdviceOptions,
  type Saving,
} from "./advise-fan-out.ts";
export {
  type BranchCode,
  type FanOutBranch,
  type FanOutOptions,
  type FanOutResult,
  fanOut,
} from "./fan-out.ts";
export type { BranchSample, FanOutSamples } from "./fan-out-samples.ts";
export type { Straggler } from "./straggler-cause.ts";
