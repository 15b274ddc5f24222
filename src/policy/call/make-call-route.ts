/** What the calls of one route share, made from its policy: budgets for extra attempts, and who says when to hedge. */
import type { Random } from "../../clock/index.ts";
import { AttemptBudget } from "./attempt-budget.ts";
import type { CallPolicy } from "./call-policy.ts";
import type { CallRoute } from "./call-request.ts";
import { HedgeGovernor } from "./hedge-governor.ts";
import type { Target } from "./target.ts";

/** Extra attempts that may be saved up. */
const SAVED_MAX = 20;
/** Of a route with so few calls that their share would leave failovers out. */
const RETRIES_PER_MINUTE = 6;

export function makeCallRoute(
  policy: CallPolicy,
  targets: readonly Target[],
  random: Random,
): CallRoute {
  const { retry, hedge } = policy;
  // Hedges are earned first: their share then holds from the first call on.
  const hedges = new AttemptBudget({ share: hedge?.share ?? 0, callsMax: SAVED_MAX, fill: 0 });
  return {
    policy,
    targets,
    retries: new AttemptBudget({
      share: retry.share,
      callsMax: SAVED_MAX,
      fill: 1,
      floorPerMinute: retry.share === 0 ? 0 : RETRIES_PER_MINUTE,
    }),
    hedges,
    hedger: hedge === null ? null : new HedgeGovernor(hedge, hedges),
    random,
  };
}
