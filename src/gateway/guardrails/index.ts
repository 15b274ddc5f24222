/** Checks of requests and answers, beside the generation. */
export { credentialsIn } from "./checker.ts";
export { guardError, withChecks } from "./guard-error.ts";
export { type GuardPlan, GuardSet, type GuardWatch } from "./guard-set.ts";
export { GuardedAnswer, type GuardedSide } from "./guarded-answer.ts";
export { readRequestText } from "./request-text.ts";
