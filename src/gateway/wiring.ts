/**
 * What a configuration is made into: upstreams with their connections, routes with what is known of their targets. A reload
 * makes another wiring that takes over what has not changed; calls that run keep the one that they began with.
 */
import { type Clock, Random } from "../clock/index.ts";
import { makeCallRoute, Target } from "../policy/index.ts";
import {
  DEFAULT_POLICY,
  type GatewayConfig,
  type ModelConfig,
  type UpstreamConfig,
} from "./config/index.ts";
import { type Line, type ModelRoute, ModelRoutes } from "./model-routes.ts";
import { Network } from "./transport/network.ts";
import { Upstream } from "./upstream.ts";

export interface Wiring {
  readonly config: GatewayConfig;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly routes: ModelRoutes;
  /** Outlives every wiring. */
  readonly network: Network;
}

/** @throws MANX_URL, MANX_SECRET_MISSING, MANX_FILE_UNREADABLE; nothing is left open then. */
export function wire(config: GatewayConfig, clock: Clock, before?: Wiring): Wiring {
  const upstreams = new Map<string, Upstream>();
  const network = before?.network ?? new Network(clock);
  try {
    for (const one of config.upstreams) {
      const kept = before?.upstreams.get(one.name);
      const isSame = kept !== undefined && isSameUpstream(kept.config, one);
      // For connections that are opened ahead, for no policy's calls; each call has its own.
      const { connectUs } = config.policies[DEFAULT_POLICY]!.timeouts;
      upstreams.set(one.name, isSame ? kept : new Upstream(one, { network, connectUs }, clock));
    }
  } catch (thrown) {
    for (const [name, upstream] of upstreams) {
      if (before?.upstreams.get(name) !== upstream) upstream.retire();
    }
    throw thrown;
  }
  const routes = config.models.map((model, index) => routeOf(model, { config, upstreams, index }));
  return { config, upstreams, routes: new ModelRoutes(routes), network };
}

/** The upstreams that only the older wiring has. */
export function leftOver(before: Wiring, after: Wiring): Upstream[] {
  return [...before.upstreams.values()].filter(
    (upstream) => after.upstreams.get(upstream.name) !== upstream,
  );
}

/** By a name that every gateway with this configuration has for them. */
export function targetsOf({ routes }: Wiring): ReadonlyMap<string, Target> {
  const named = routes.all.flatMap(({ name, call }) =>
    call.targets.map((target): [string, Target] => [`${name}>${target.name}`, target]),
  );
  return new Map(named);
}

interface RouteParts {
  readonly config: GatewayConfig;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Makes the seed. */
  readonly index: number;
}

function routeOf(model: ModelConfig, { config, upstreams, index }: RouteParts): ModelRoute {
  const policy = config.policies[model.policy]!;
  const lines: Line[] = model.targets.map((target) => {
    return { upstream: upstreams.get(target.upstream)!, model: target.model };
  });
  const targets = model.targets.map(({ upstream, model: renamed, weight, order }, at) => {
    return new Target({
      name: renamed === null ? upstream : `${upstream}/${renamed}`,
      order,
      weight,
      sharesLimits: lines[at]!.upstream.credentials !== null,
      canPrefill: lines[at]!.upstream.config.canPrefill,
      breaker: policy.breaker,
    });
  });
  const { name, cacheMarks } = model;
  const call = makeCallRoute(policy, targets, new Random(index + 1, "call routes"));
  return { name, call, lines, policy, cacheMarks };
}

function isSameUpstream(a: UpstreamConfig, b: UpstreamConfig): boolean {
  const isSameKey = a.key === null || b.key === null ? a.key === b.key : a.key.equals(b.key);
  // Secrets serialise alike, whatever they are.
  return isSameKey && JSON.stringify(a) === JSON.stringify(b);
}
