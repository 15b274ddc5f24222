/** Lanes and limits in the plain form, as the policy of admission takes them. Infinity where there is no limit. */

export interface AdmissionConfig {
  /** From the shortest to the longest; undefined = the policy's own two. */
  readonly lanes?: readonly LaneConfig[];
  readonly concurrency: FixedConcurrency | AdaptiveConcurrency;
  /** Most requests that wait in one lane. */
  readonly queueMax: number;
  /** One tenant may fill this many times the places of its lane that are still free. */
  readonly tenantQueueFactor: number;
  /** Longest that a request may wait. */
  readonly ageMaxUs: number;
  /** Wait that is worth one class of priority. */
  readonly ageingUs: number;
  /** What a tenant's counter grows by per token of an answer; a prompt's token counts 1. */
  readonly outputWeight: number;
  /** Of a tenant that `tenants` does not name. */
  readonly tenant: Partial<TenantLimits>;
  readonly tenants: Readonly<Record<string, Partial<TenantLimits>>>;
  readonly tenantsMax: number;
}

export interface LaneConfig {
  readonly name: string;
  readonly tokensMax: number;
  readonly share: number;
  readonly tokensInFlightMax: number;
}

export interface FixedConcurrency {
  readonly kind: "fixed";
  readonly limit: number;
}

export interface AdaptiveConcurrency {
  readonly kind: "adaptive";
  readonly floor: number;
  readonly ceiling: number;
  readonly start: number;
  readonly tolerance: number;
  readonly probeEveryUs: number;
}

export interface TenantLimits {
  readonly concurrencyMax: number;
  readonly tokensPerMinute: number;
  readonly burstTokens: number;
  readonly weight: number;
}
