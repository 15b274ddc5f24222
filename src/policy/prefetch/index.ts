/** Calls that begin while the model thinks: what is likely, what it is worth, and what it may cost. */
export {
  breakEvenRate,
  prefetchedTurnUs,
  startValueUs,
  type TurnTimes,
} from "./expected-saving.ts";
export { type HitInterval, wilson } from "./hit-rate.ts";
export {
  type LoggedCall,
  type LoggedStep,
  type LoggedTurn,
  type TurnLog,
  turnLog,
} from "./logged-turn.ts";
export { PatternMiner } from "./pattern-miner.ts";
export { Predictor, ruleName } from "./predictor.ts";
export type { PrefetchBudget } from "./prefetch-budget.ts";
export {
  type GuessReport,
  type PrefetchCandidate,
  PrefetchGovernor,
  type PrefetchRefusal,
} from "./prefetch-governor.ts";
export { minerOf, modelOf, type PrefetchModel } from "./prefetch-model.ts";
export type { PrefetchRule } from "./prefetch-rule.ts";
export {
  type PrefetchableTool,
  type PrefetchForecast,
  replayPrefetch,
} from "./replay-prefetch.ts";
export { type PastCall, type PrefetchContext, TurnPast } from "./turn-past.ts";
