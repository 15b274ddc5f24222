import { describe, expect, it } from "vitest";
import { AdmissionDriver } from "../../../test/support/admission-driver.ts";
import { machine } from "../../../test/support/admission-requests.ts";
import { Random, SimClock } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import type { TenantLimits } from "./admission-options.ts";

interface Told {
  readonly estimateUs: number;
  readonly waitedUs: number;
}

/** Bursts of requests of several tenants to eight places; what each that waited was told, and what it waited. */
function run(seed: number, tenants: number, tenant: Partial<TenantLimits> = {}): Told[] {
  const clock = new SimClock();
  const random = new Random(seed, "estimates");
  const gate = machine(8, { tenant, ageMaxUs: 600 * US_PER_S });
  const estimates = new Map<number, { us: number; fromUs: number }>();
  const told: Told[] = [];
  const driver = new AdmissionDriver(clock, gate, {
    onAdmit: ({ id, inputTokens }, nowUs) => {
      const estimate = estimates.get(id);
      if (estimate !== undefined) {
        told.push({ estimateUs: estimate.us, waitedUs: nowUs - estimate.fromUs });
      }
      const outcome = { inputTokens, outputTokens: 1, ttftUs: undefined, ok: true };
      const serviceUs = Math.round(random.exponential(US_PER_S / 2));
      clock.at(nowUs + serviceUs, () => driver.finish(id, outcome));
    },
  });
  for (let id = 0; id < 2_000; id += 1) {
    // Forty in a second, then nothing for two: just what eight places can serve.
    const atUs = Math.floor(id / 40) * 3 * US_PER_S + (id % 40) * 25_000;
    clock.at(atUs, () => {
      const request = {
        id,
        tenant: `t${random.int(tenants)}`,
        priority: 0,
        inputTokens: 100,
        outputTokensMax: 1,
        route: "m",
        deadlineUs: Number.POSITIVE_INFINITY,
      };
      const decision = driver.offer(request);
      if (decision.kind === "queue" && decision.estimateUs !== undefined) {
        estimates.set(id, { us: decision.estimateUs, fromUs: clock.nowUs() });
      }
    });
  }
  clock.runSync();
  return told;
}

const medianRatio = (told: readonly Told[]): number => {
  const ratios = told.map((one) => one.waitedUs / one.estimateUs).sort((a, b) => a - b);
  return ratios[Math.floor(ratios.length / 2)]!;
};

describe("the wait that one in the queue is told", () => {
  it.each<[string, number, Partial<TenantLimits>]>([
    ["of one tenant", 1, {}],
    ["of six tenants", 6, {}],
    ["behind a tenant's own concurrency", 2, { concurrencyMax: 3 }],
    ["behind a tenant's own rate", 1, { tokensPerMinute: 60_000, burstTokens: 500 }],
  ])("is what it waits, give or take: %s", (_, tenants, limits) => {
    for (const seed of [1, 2, 3]) {
      const told = run(seed, tenants, limits);
      expect(told.length).toBeGreaterThan(300);
      expect(medianRatio(told)).toBeGreaterThan(0.6);
      expect(medianRatio(told)).toBeLessThan(1.5);
      const isFar = ({ estimateUs, waitedUs }: Told): boolean =>
        waitedUs > 3 * estimateUs + US_PER_S / 2;
      expect(told.filter(isFar).length / told.length).toBeLessThan(0.05);
    }
  });
});
