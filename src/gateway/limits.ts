/**
 * Every limit of the gateway, in one place, beside those by phase that a call's policy sets. There is none beside these: the
 * one that Node's server would apply unasked (300 s to receive a request) is set from here, and the transport to the upstream
 * has none of its own, so that a limit that somebody raises is raised (casebook GW-11).
 */
import { assert, ManxError, US_PER_S } from "../core/index.ts";
import { CALL_POLICY, type PhaseTimeouts } from "../policy/index.ts";

export interface GatewayLimits {
  /** A client that takes nothing of what it is owed. 0 = none, as for every `…Us` here but `drainUs`. */
  readonly writeUs: number;
  /** A request that is not received whole. */
  readonly receiveUs: number;
  /** A request whose head is not received whole (slow loris). */
  readonly receiveHeadUs: number;
  /** An upstream connection without a request. A hint of the upstream (`Keep-Alive: timeout=`) overrides it. */
  readonly idleUs: number;
  /** A client's connection without a request; above what clients themselves use. */
  readonly clientIdleUs: number;
  /** Between the word to stop and the last new request: for balancers to see that `/ready` says no. 0 = none. */
  readonly graceUs: number;
  /** Open requests when the gateway stops: after this long they are cut, with an error. */
  readonly drainUs: number;
  /** One request's body. */
  readonly bodyBytes: number;
  /** All request bodies held at one time. */
  readonly bodiesBytes: number;
  /** One request's head. */
  readonly headBytes: number;
  /** Upstream connections, and so requests in flight; over it, a request is answered 429. */
  readonly connections: number;
  /** Connections of clients; over it, a connection is closed. */
  readonly clients: number;
}

export const GATEWAY_LIMITS: GatewayLimits = {
  writeUs: 120 * US_PER_S,
  receiveUs: 300 * US_PER_S,
  receiveHeadUs: 30 * US_PER_S,
  idleUs: 120 * US_PER_S,
  clientIdleUs: 150 * US_PER_S,
  graceUs: 0,
  drainUs: 30 * US_PER_S,
  bodyBytes: 32 * 1024 * 1024,
  bodiesBytes: 1024 * 1024 * 1024,
  headBytes: 32 * 1024,
  connections: 2_048,
  clients: 8_192,
};

/** Until hardly any code is compiled any more; within the time that a rehearsal has, on a quiet machine of two cores. */
export const REHEARSAL_CALLS = 3_000;

/** @throws MANX_FLAG_VALUE for a limit that is negative, no whole number, or beyond what a timer can hold. */
export function completeLimits(given: Partial<GatewayLimits>): GatewayLimits {
  return checkedLimits(GATEWAY_LIMITS, given, "limits");
}

/** As `completeLimits`, for the limits by phase of a call's attempt. @throws MANX_FLAG_VALUE */
export function completeTimeouts(given: Partial<PhaseTimeouts>): PhaseTimeouts {
  return checkedLimits(CALL_POLICY.timeouts, given, "timeouts");
}

function checkedLimits<Limits extends GatewayLimits | PhaseTimeouts>(
  defaults: Limits,
  given: Partial<Limits>,
  where: string,
): Limits {
  const limits = { ...defaults, ...given };
  for (const [name, value] of Object.entries<unknown>(limits)) {
    assert(Object.hasOwn(defaults, name), `${name} is one of the ${where} of the gateway`);
    const least = name.endsWith("Us") ? 0 : 1;
    if (!Number.isSafeInteger(value) || (value as number) < least) {
      throw new ManxError("MANX_FLAG_VALUE", {
        where: `${where}.${name}`,
        expected: `a whole number from ${least}`,
        got: String(value),
      });
    }
  }
  return limits;
}

/** For whoever wants to see all that may end a call. @returns the limits, and those by phase of each policy by its name. */
export function limitsInEffect({ limits, policies }: LimitedConfig): LimitsInEffect {
  const timeouts = Object.entries(policies).map(([name, policy]) => [name, policy.timeouts]);
  return { ...limits, timeouts: Object.fromEntries(timeouts) };
}

export interface LimitsInEffect extends GatewayLimits {
  readonly timeouts: Readonly<Record<string, PhaseTimeouts>>;
}

interface LimitedConfig {
  readonly limits: GatewayLimits;
  readonly policies: Readonly<Record<string, { readonly timeouts: PhaseTimeouts }>>;
}
