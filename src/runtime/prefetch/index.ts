/** Likely tools that begin while the model thinks. */
export type {
  GuessReport,
  HitInterval,
  LoggedCall,
  LoggedStep,
  LoggedTurn,
  PastCall,
  PrefetchBudget,
  PrefetchContext,
  PrefetchForecast,
  PrefetchModel,
  PrefetchRule,
} from "../../policy/prefetch/index.ts";
export type { NotBegun, ThrowAway } from "./prefetch-desk.ts";
export type { PrefetchReport } from "./prefetch-report.ts";
export {
  evaluatePrefetch,
  type LearnedPrefetch,
  Prefetcher,
  type PrefetcherOptions,
} from "./prefetcher.ts";
