/**
 * How long one that waits will wait, from what is known now. Little's law: places that are in use turn over once in a mean
 * service time, so a lane with n of them lets one in every service / n.
 *
 * Who goes first is not known in advance, only how fairness shares: of a better class all, of the tenants' own not more
 * than each other tenant has of its own. Later arrivals with more right to go are not foreseen, nor is a stall.
 */
import { US_PER_S } from "../../core/index.ts";
import type { Entry } from "./lane.ts";

/** How many go before it, from 0. */
export function laneAhead({ lane, line, tenant }: Entry): number {
  let better = 0;
  for (let one = 0; one <= line.priority; one += 1) better += lane.queuedOf[one]!;
  const fair = tenant.queuedIn[lane.index]! * lane.tenantsWaiting;
  return Math.max(0, Math.min(better, fair) - 1);
}

/** µs; undefined as long as nothing of its lane has ended. */
export function laneWaitUs(entry: Entry): number | undefined {
  const { serviceUs, inFlight } = entry.lane;
  if (serviceUs === undefined) return undefined;
  return ((laneAhead(entry) + 1) * serviceUs) / Math.max(1, inFlight);
}

/** What its tenant's own concurrency makes it wait, µs; a second for each service if nothing is known. */
export function concurrencyWaitUs({ tenant, lane }: Entry): number {
  const { concurrencyMax } = tenant.limits;
  if (tenant.inFlight + tenant.queued <= concurrencyMax) return 0;
  return (tenant.queued * (lane.serviceUs ?? US_PER_S)) / concurrencyMax;
}

/** What its tenant's own rate makes it wait behind those of its tenant that came before it, µs. */
export function rateWaitUs({ tenant, tokens }: Entry, nowUs: number): number {
  const readyUs = tenant.bucket?.readyUs(nowUs, tenant.queuedTokens - tokens) ?? nowUs;
  return Math.max(readyUs, tenant.deferredUs) - nowUs;
}
