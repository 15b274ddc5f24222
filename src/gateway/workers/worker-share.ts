/**
 * What one of several workers may use, so that all of them together keep to the configuration: every limit on requests,
 * queues and connections divided by their number, rounded so that a worker can do something with it.
 *
 * Limits of tenants are left whole where a shared state counts them over all workers.
 */
import type { AdmissionOptions, TenantLimits } from "../../policy/index.ts";
import type { GatewayConfig } from "../config/index.ts";
import type { GatewayLimits } from "../limits.ts";

/** @param workers there are; a configuration that was changed meanwhile may say another number, for after a restart. */
export function workerShare(config: GatewayConfig, workers: number): GatewayConfig {
  if (workers === 1) return config;
  const { admission, state, limits } = config;
  return {
    ...config,
    // Of operators there is one port, the supervisor's.
    admin: null,
    upstreams: config.upstreams.map((one) => ({
      ...one,
      connections: part(one.connections, workers),
      preconnect: Math.min(part(one.preconnect, workers), part(one.connections, workers)),
    })),
    admission: admission && admissionShare(admission, workers, state !== null),
    limits: limitsShare(limits, workers),
  };
}

/** What cannot be divided: tenants that get more than they should, each with what they get. */
export function shareNotices(config: GatewayConfig): string[] {
  const { listen, admission, state } = config;
  const { workers } = listen;
  if (workers === 1 || admission === null || state !== null) return [];
  const limits = Object.entries({ "every other tenant": admission.tenant, ...admission.tenants });
  const limited = limits.filter(([, limit]) => isLimited(limit));
  if (limited.length === 0) return [];
  const notices = [
    `without "state" each of the ${workers} workers has a ${workers}th of every tenant's limits; ` +
      "a tenant whose calls all reach one of them gets no more than that",
  ];
  for (const [name, limit] of limited) {
    if ((limit?.concurrencyMax ?? Number.POSITIVE_INFINITY) >= workers) continue;
    notices.push(`${name} gets a place in each of the ${workers} workers: more than its limit`);
  }
  return notices;
}

function isLimited(limit: Partial<TenantLimits> | undefined): boolean {
  const { concurrencyMax, tokensPerMinute } = limit ?? {};
  return Number.isFinite(concurrencyMax) || Number.isFinite(tokensPerMinute);
}

function limitsShare(limits: GatewayLimits, workers: number): GatewayLimits {
  return {
    ...limits,
    bodiesBytes: Math.max(limits.bodyBytes, part(limits.bodiesBytes, workers)),
    connections: part(limits.connections, workers),
    clients: part(limits.clients, workers),
  };
}

function admissionShare(
  all: AdmissionOptions,
  workers: number,
  isShared: boolean,
): AdmissionOptions {
  const lanes = all.lanes?.length ?? 2;
  const places = (count: number): number => Math.max(lanes, Math.floor(count / workers));
  const { concurrency, tenant, tenants } = all;
  const shareOf = (limit: Partial<TenantLimits>): Partial<TenantLimits> =>
    isShared ? limit : tenantShare(limit, workers);
  return {
    ...all,
    ...(concurrency !== undefined && {
      concurrency:
        concurrency.kind === "fixed"
          ? { ...concurrency, limit: places(concurrency.limit) }
          : {
              ...concurrency,
              floor: places(concurrency.floor),
              ceiling: places(concurrency.ceiling),
              start: places(concurrency.start),
            },
    }),
    ...(all.lanes !== undefined && {
      lanes: all.lanes.map((lane) => ({
        ...lane,
        tokensInFlightMax: part(lane.tokensInFlightMax, workers),
      })),
    }),
    ...(all.queueMax !== undefined && { queueMax: part(all.queueMax, workers) }),
    ...(tenant !== undefined && { tenant: shareOf(tenant) }),
    ...(tenants !== undefined && {
      tenants: Object.fromEntries(
        Object.entries(tenants).map(([name, limit]) => [name, shareOf(limit)]),
      ),
    }),
  };
}

/** One worker's part of a tenant's limits. */
export function tenantShare(limit: Partial<TenantLimits>, workers: number): Partial<TenantLimits> {
  const { concurrencyMax, tokensPerMinute, burstTokens } = limit;
  return {
    ...limit,
    ...(concurrencyMax !== undefined && {
      concurrencyMax: Math.max(1, Math.floor(concurrencyMax / workers)),
    }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute: tokensPerMinute / workers }),
    ...(burstTokens !== undefined && { burstTokens: Math.max(1, burstTokens / workers) }),
  };
}

/** At least 1, so that none is left out; so the sum may be larger by as many as there are workers. */
function part(count: number, workers: number): number {
  return count === 0 ? 0 : Math.max(1, Math.ceil(count / workers));
}
