/** The state of admission as plain values, for metrics and a terminal. Bounded by the lanes and the tenants asked for. */
import type { RefusalReason } from "./decision.ts";
import type { Entry, Lane } from "./lane.ts";
import type { Places } from "./places.ts";
import type { Tenant } from "./tenant.ts";

export interface LaneSnapshot {
  readonly name: string;
  readonly queued: number;
  /** Of the one that has waited longest, µs; 0 if nobody waits. */
  readonly oldestUs: number;
  readonly inFlight: number;
  readonly tokensInFlight: number;
  /** Places that are this lane's alone. */
  readonly guaranteed: number;
  /** Mean from start to end, µs; undefined until the first has ended. */
  readonly serviceUs: number | undefined;
}

export interface TenantSnapshot {
  readonly name: string;
  readonly queued: number;
  readonly inFlight: number;
  /** Weighted tokens, those lifted over included: only differences between tenants that wait mean something. */
  readonly served: number;
  /** What is left of its token rate; negative for a debt; undefined without a limit. */
  readonly tokensLeft: number | undefined;
}

export interface AdmissionSnapshot {
  readonly lanes: readonly LaneSnapshot[];
  readonly tenants: readonly TenantSnapshot[];
  readonly tenantsKnown: number;
  readonly inFlight: number;
  readonly concurrencyLimit: number;
  readonly admitted: number;
  readonly refused: Readonly<Record<RefusalReason, number>>;
}

export interface SnapshotParts {
  readonly nowUs: number;
  readonly lanes: readonly Lane[];
  readonly places: Places;
  readonly tenants: Iterable<Tenant>;
  readonly tenantsMax: number;
  readonly entries: Iterable<Entry>;
  readonly admitted: number;
  readonly refused: Readonly<Record<RefusalReason, number>>;
}

export function takeSnapshot(parts: SnapshotParts): AdmissionSnapshot {
  const { nowUs, lanes, places, admitted, refused } = parts;
  const oldest = new Array<number>(lanes.length).fill(0);
  for (const { isWaiting, lane, offeredUs } of parts.entries) {
    if (isWaiting) oldest[lane.index] = Math.max(oldest[lane.index]!, nowUs - offeredUs);
  }
  const tenants = [...parts.tenants];
  return {
    lanes: lanes.map((lane) => ({
      name: lane.name,
      queued: lane.queued,
      oldestUs: oldest[lane.index]!,
      inFlight: lane.inFlight,
      tokensInFlight: lane.tokensInFlight,
      guaranteed: lane.guaranteed,
      serviceUs: lane.serviceUs,
    })),
    tenants: tenants
      .filter((tenant) => !tenant.isIdle)
      .sort((a, b) => b.queued - a.queued || b.inFlight - a.inFlight)
      .slice(0, parts.tenantsMax)
      .map((tenant) => ({
        name: tenant.name,
        queued: tenant.queued,
        inFlight: tenant.inFlight,
        served: tenant.served,
        tokensLeft: tenant.bucket?.level(nowUs),
      })),
    tenantsKnown: tenants.length,
    inFlight: places.inFlight,
    concurrencyLimit: places.total,
    admitted,
    refused,
  };
}
