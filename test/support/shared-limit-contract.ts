/**
 * Two gateways hammer one limit over a store, fake or real, and what both hold together is watched from outside.
 */
import { Random, realClock } from "../../src/clock/index.ts";
import { US_PER_S } from "../../src/core/index.ts";
import { type Lease, SharedState } from "../../src/gateway/shared-state/index.ts";

const NEVER = Number.POSITIVE_INFINITY;

export interface Hammered {
  readonly granted: number;
  readonly denied: number;
  /** Granted by a gateway on its own. */
  readonly local: number;
  /** Most in flight at once over both gateways. */
  readonly inFlightMax: number;
  /** Tokens granted, and the span in which they were, µs. */
  readonly tokens: number;
  readonly spanUs: number;
  /** Longest that an answer took, µs. */
  readonly slowestUs: number;
}

export interface HammerOptions {
  readonly url: string;
  readonly tenant: string;
  readonly seed: number;
  readonly concurrencyMax?: number;
  readonly tokensPerMinute?: number;
  readonly burstTokens?: number;
  /** Requests of each gateway, tried one after the other by each of four callers. */
  readonly requests: number;
}

const CALLERS = 4;
/** The store must not seem gone only because the machine is busy. */
const PATIENT_US = 5 * US_PER_S;

/** Waits until the gateway is connected. */
export async function openState(
  url: string,
  gatewayId: string,
  deadlineUs = PATIENT_US,
): Promise<SharedState> {
  const state = await SharedState.open({ url, gatewayId, deadlineUs });
  await until(() => state.facts.store.isConnected);
  return state;
}

export async function until(holds: () => boolean, seconds = 20): Promise<void> {
  const endUs = realClock.nowUs() + seconds * US_PER_S;
  while (!holds()) {
    if (realClock.nowUs() > endUs) throw new Error(`not within ${seconds} s: ${holds}`);
    await realClock.sleepUntil(realClock.nowUs() + 5_000);
  }
}

export async function hammer(options: HammerOptions): Promise<Hammered> {
  const { url, tenant, seed, requests } = options;
  const limit = {
    concurrencyMax: options.concurrencyMax ?? NEVER,
    tokensPerMinute: options.tokensPerMinute ?? NEVER,
    burstTokens: options.burstTokens ?? 0,
  };
  const states = [await openState(url, `${tenant}-a`), await openState(url, `${tenant}-b`)];
  const startUs = realClock.nowUs();
  let inFlight = 0;
  let inFlightMax = 0;
  let [granted, denied, tokens, slowestUs, lastUs] = [0, 0, 0, 0, startUs];
  const call = async (state: SharedState, random: Random): Promise<void> => {
    const askedUs = realClock.nowUs();
    const size = 50 + random.int(100);
    const grant = await state.limits.acquire({ tenant, limit, tokens: size });
    slowestUs = Math.max(slowestUs, realClock.nowUs() - askedUs);
    if (grant.kind === "denied") {
      denied += 1;
      return;
    }
    granted += 1;
    tokens += size;
    lastUs = realClock.nowUs();
    inFlight += 1;
    inFlightMax = Math.max(inFlightMax, inFlight);
    await realClock.sleepUntil(realClock.nowUs() + random.int(3_000));
    end(state, grant.lease, size);
  };
  const end = (state: SharedState, lease: Lease, size: number): void => {
    inFlight -= 1;
    state.limits.release(lease, size);
  };
  await Promise.all(
    states.flatMap((state, gateway) =>
      Array.from({ length: CALLERS }, async (_, caller) => {
        const random = new Random(seed, `caller ${gateway} ${caller}`);
        for (let i = 0; i < requests / CALLERS; i += 1) await call(state, random);
      }),
    ),
  );
  const local = states.reduce((sum, { facts }) => sum + facts.limits.granted.local, 0);
  for (const state of states) await state.close();
  return { granted, denied, local, inFlightMax, tokens, spanUs: lastUs - startUs, slowestUs };
}
