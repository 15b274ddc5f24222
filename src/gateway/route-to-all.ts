/** The route of a gateway without a configuration: every model, one upstream. */
import { Random } from "../clock/index.ts";
import {
  AttemptBudget,
  CALL_POLICY,
  type CallPolicy,
  type CallRoute,
  HedgeGovernor,
  Target,
  type TargetOptions,
} from "../policy/index.ts";
import type { GatewayLimits } from "./limits.ts";
import { ANY_MODEL, type ModelRoute, type Upstream } from "./model-routes.ts";

/** Extra attempts that may be saved up. */
const SAVED_MAX = 20;

export function routeToAll(
  upstream: Upstream,
  limits: GatewayLimits,
  given: Partial<CallPolicy>,
): ModelRoute {
  const policy: CallPolicy = { ...CALL_POLICY, timeouts: timeoutsOf(limits), ...given };
  const target = {
    name: upstream.name,
    order: 0,
    weight: 1,
    sharesLimits: upstream.credentials !== null,
  };
  return {
    name: ANY_MODEL,
    call: makeCallRoute(policy, [target], 1),
    lines: [{ upstream, model: null }],
  };
}

/** @param seed of the draws among targets, and of jitter. */
function makeCallRoute(
  policy: CallPolicy,
  targets: readonly Omit<TargetOptions, "breaker">[],
  seed: number,
): CallRoute {
  const { retry, hedge, breaker } = policy;
  const retries = new AttemptBudget({ share: retry.share, callsMax: SAVED_MAX, fill: 1 });
  // Hedges are earned first: their share then holds from the first call on.
  const hedges = new AttemptBudget({ share: hedge?.share ?? 0, callsMax: SAVED_MAX, fill: 0 });
  return {
    policy,
    targets: targets.map((target) => new Target({ ...target, breaker })),
    retries,
    hedges,
    hedger: hedge === null ? null : new HedgeGovernor(hedge, hedges),
    random: new Random(seed, "call routes"),
  };
}

/** One gap for everything, unless a configuration tells the phases apart. */
function timeoutsOf({ connectUs, headersUs, gapUs }: GatewayLimits): CallPolicy["timeouts"] {
  return {
    connectUs,
    headersUs,
    firstContentUs: headersUs,
    lifeGapUs: gapUs,
    progressGapUs: gapUs,
    thinkingGapUs: gapUs,
  };
}
