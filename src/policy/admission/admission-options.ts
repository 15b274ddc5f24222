/** The limits of admission, what each is by default, and which cannot be. */
import { ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";
import { type AdaptiveLimitOptions, DEFAULT_ADAPTIVE } from "./adaptive-limit.ts";
import type { SizePredictorOptions } from "./size-predictor.ts";

export interface LaneOptions {
  readonly name: string;
  /** Prompt plus predicted answer, in tokens, up to which a request is in this lane. Infinity in the last lane. */
  readonly tokensMax: number;
  /**
   * Share of the places that is this lane's alone, on top of the one place that every lane has for certain. The shares of
   * all lanes sum to at most 1; what is left goes to shorter lanes first.
   */
  readonly share: number;
  /**
   * Most tokens of this lane in flight, prompts and predicted answers together; a lane with nothing in flight takes its next
   * request whatever its size. Infinity for no cap.
   */
  readonly tokensInFlightMax: number;
}

export interface TenantLimits {
  /** Most requests in flight. Infinity for no limit. */
  readonly concurrencyMax: number;
  /** Tokens a minute, prompts and answers together. Infinity for no limit. */
  readonly tokensPerMinute: number;
  /** Most tokens saved up. Without a meaning if there is no rate. */
  readonly burstTokens: number;
  /** Share of the service among tenants that wait: 2 is served twice the tokens of 1. */
  readonly weight: number;
}

export interface FixedLimitOptions {
  readonly kind: "fixed";
  /** Most requests in flight, at least the number of lanes. */
  readonly limit: number;
}

export interface AdmissionOptions {
  /** From the shortest to the longest, 1 to 8. Default: short (up to 8,192 tokens) and long. */
  readonly lanes?: readonly LaneOptions[];
  /** Most requests in flight: a number, or one found from the latency. Default adaptive. */
  readonly concurrency?: FixedLimitOptions | AdaptiveLimitOptions;
  /** Most requests that wait in one lane; those that were deferred come on top, at most as many as were in flight. Default 1,024. */
  readonly queueMax?: number;
  /**
   * One tenant may fill this many times the places of its lane that are still free: alone 8/9 of a lane by default. The
   * larger, the fuller a single tenant can fill it, and the longer a second one finds it full (Choudhury and Hahne,
   * "Dynamic queue length thresholds", IEEE/ACM ToN 1998). Default 8.
   */
  readonly tenantQueueFactor?: number;
  /** Longest that a request may wait, µs. Default 30 s. */
  readonly ageMaxUs?: number;
  /** Wait that is worth one class of priority, µs. Default 2 s. */
  readonly ageingUs?: number;
  /** What a tenant's counter grows by per token of an answer; a prompt's token counts 1. Default 2. */
  readonly outputWeight?: number;
  /** Of a tenant that `tenants` does not name. Default no limits, weight 1. */
  readonly tenant?: Partial<TenantLimits>;
  /** By name; what is left out is as in `tenant`. */
  readonly tenants?: Readonly<Record<string, Partial<TenantLimits>>>;
  /** Most tenants remembered, on top of the most that ever had requests in hand at once. Default 4,096. */
  readonly tenantsMax?: number;
  readonly predictor?: SizePredictorOptions;
}

export interface AdmissionSettings {
  readonly lanes: readonly LaneOptions[];
  readonly concurrency: FixedLimitOptions | AdaptiveLimitOptions;
  readonly queueMax: number;
  readonly tenantQueueFactor: number;
  readonly ageMaxUs: number;
  readonly ageingUs: number;
  readonly outputWeight: number;
  readonly tenant: TenantLimits;
  readonly tenants: ReadonlyMap<string, TenantLimits>;
  readonly tenantsMax: number;
  readonly predictor: SizePredictorOptions;
}

const NO_LIMITS: TenantLimits = {
  concurrencyMax: Number.POSITIVE_INFINITY,
  tokensPerMinute: Number.POSITIVE_INFINITY,
  burstTokens: 0,
  weight: 1,
};

export const ADMISSION_DEFAULTS: AdmissionSettings = {
  lanes: [
    { name: "short", tokensMax: 8_192, share: 0.5, tokensInFlightMax: Number.POSITIVE_INFINITY },
    { name: "long", tokensMax: Number.POSITIVE_INFINITY, share: 0.1, tokensInFlightMax: 524_288 },
  ],
  concurrency: DEFAULT_ADAPTIVE,
  queueMax: 1_024,
  tenantQueueFactor: 8,
  ageMaxUs: 30 * US_PER_S,
  ageingUs: 2 * US_PER_S,
  outputWeight: 2,
  tenant: NO_LIMITS,
  tenants: new Map(),
  tenantsMax: 4_096,
  predictor: {},
};

/** All limits, defaults filled in. @throws MANX_CONFIG_IMPOSSIBLE naming the limit */
export function admissionSettings(options: AdmissionOptions): AdmissionSettings {
  const tenant = tenantLimits(NO_LIMITS, options.tenant ?? {}, "tenant");
  const settings: AdmissionSettings = {
    ...ADMISSION_DEFAULTS,
    ...options,
    tenant,
    tenants: new Map(
      Object.entries(options.tenants ?? {}).map(([name, limits]) => [
        name,
        tenantLimits(tenant, limits, `tenants.${name}`),
      ]),
    ),
  };
  checkLanes(settings.lanes);
  checkConcurrency(settings.concurrency, settings.lanes.length);
  need(Number.isInteger(settings.queueMax) && settings.queueMax >= 1, "queueMax", "at least 1");
  need(settings.tenantQueueFactor > 0, "tenantQueueFactor", "above 0");
  need(isTime(settings.ageMaxUs), "ageMaxUs", "at least 1 ms");
  need(isTime(settings.ageingUs), "ageingUs", "at least 1 ms");
  need(settings.outputWeight > 0, "outputWeight", "above 0");
  need(Number.isInteger(settings.tenantsMax) && settings.tenantsMax >= 1, "tenantsMax", "from 1");
  return settings;
}

/** A minute's tokens may be saved up unless `burstTokens` says otherwise. */
function tenantLimits(base: TenantLimits, over: Partial<TenantLimits>, at: string): TenantLimits {
  const { concurrencyMax, tokensPerMinute, weight } = { ...base, ...over };
  const inherited = over.tokensPerMinute === undefined ? base.burstTokens : 0;
  const burstTokens = over.burstTokens ?? (inherited > 0 ? inherited : tokensPerMinute);
  need(isCount(concurrencyMax), `${at}.concurrencyMax`, "a whole number from 1, or none");
  need(tokensPerMinute > 0, `${at}.tokensPerMinute`, "above 0");
  need(burstTokens >= 1, `${at}.burstTokens`, "at least 1");
  need(weight > 0 && Number.isFinite(weight), `${at}.weight`, "above 0");
  return { concurrencyMax, tokensPerMinute, burstTokens, weight };
}

function checkLanes(lanes: readonly LaneOptions[]): void {
  need(lanes.length >= 1 && lanes.length <= 8, "lanes", "1 to 8 lanes");
  need(new Set(lanes.map((lane) => lane.name)).size === lanes.length, "lanes", "a name for each");
  const shares = lanes.reduce((sum, lane) => sum + lane.share, 0);
  need(shares <= 1 + 1e-9, "lanes", `shares that sum to at most 1, not to ${shares}`);
  for (const [index, { name, tokensMax, share, tokensInFlightMax }] of lanes.entries()) {
    const at = `lanes.${name}`;
    const isLast = index === lanes.length - 1;
    const below = index === 0 ? 0 : lanes[index - 1]!.tokensMax;
    need(share >= 0, `${at}.share`, "0 to 1");
    need(tokensInFlightMax > 0, `${at}.tokensInFlightMax`, "above 0");
    need(tokensMax > below, `${at}.tokensMax`, "more than the lane before");
    need(isLast === (tokensMax === Number.POSITIVE_INFINITY), `${at}.tokensMax`, LAST_LANE);
  }
}

const LAST_LANE = "no limit in the last lane, and one in each before it";

function checkConcurrency(options: AdmissionSettings["concurrency"], lanes: number): void {
  const least = options.kind === "fixed" ? options.limit : options.floor;
  const name = options.kind === "fixed" ? "concurrency.limit" : "concurrency.floor";
  need(Number.isInteger(least) && least >= lanes, name, `a place for each of the ${lanes} lanes`);
}

function isCount(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 1);
}

function isTime(us: number): boolean {
  return Number.isFinite(us) && us >= US_PER_MS;
}

function need(ok: boolean, where: string, expected: string): void {
  if (!ok) throw new ManxError("MANX_CONFIG_IMPOSSIBLE", { where: `admission.${where}`, expected });
}
