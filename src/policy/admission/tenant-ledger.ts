/**
 * All tenants that are known, and the rules of the virtual token counter that concern more than one of them: who comes
 * back from idling is lifted to the smallest counter of those that wait, so that nobody saves up a claim while away, and
 * nobody pays for what was served while nobody else was there.
 *
 * Bounded: tenants with requests in hand are bounded by the queues, others by `idleMax`. Beyond it those whose absence
 * changes nothing are forgotten first, then those that came first.
 */
import type { AdmissionSettings, TenantLimits } from "./admission-options.ts";
import type { Lane } from "./lane.ts";
import { Tenant } from "./tenant.ts";

export class TenantLedger {
  readonly #lanes: readonly Lane[];
  readonly #limits: TenantLimits;
  readonly #named: ReadonlyMap<string, TenantLimits>;
  readonly #idleMax: number;
  readonly #tenants = new Map<string, Tenant>();
  /** What a newcomer starts from; never falls. */
  #floor = 0;
  #lastToLeave: Tenant | undefined;

  constructor(lanes: readonly Lane[], settings: AdmissionSettings) {
    this.#lanes = lanes;
    this.#limits = settings.tenant;
    this.#named = settings.tenants;
    this.#idleMax = settings.tenantsMax;
  }

  get size(): number {
    return this.#tenants.size;
  }

  [Symbol.iterator](): IterableIterator<Tenant> {
    return this.#tenants.values();
  }

  find(name: string): Tenant | undefined {
    return this.#tenants.get(name);
  }

  /** @param inHand requests in hand: no more tenants than that are busy. */
  tenantOf(name: string, inHand: number, nowUs: number): Tenant {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    if (this.#tenants.size >= this.#idleMax + inHand) this.#forget(nowUs);
    const limits = this.#named.get(name) ?? this.#limits;
    const tenant = new Tenant(name, limits, this.#floor, this.#lanes.length);
    this.#tenants.set(name, tenant);
    return tenant;
  }

  /** It begins to compete. */
  lift(tenant: Tenant): void {
    let least: number | undefined;
    for (const lane of this.#lanes) {
      const served = lane.leastServed();
      if (served !== undefined && (least === undefined || served < least)) least = served;
    }
    const measure = least ?? this.#lastToLeave?.served;
    if (measure !== undefined && measure > this.#floor) this.#floor = measure;
    if (tenant.served < this.#floor) tenant.served = this.#floor;
  }

  /** It competes no more: nothing of it waits, or a limit of its own holds it back. */
  left(tenant: Tenant): void {
    this.#lastToLeave = tenant;
  }

  /** Makes room by a quarter, so that the search is paid for by many newcomers. */
  #forget(nowUs: number): void {
    const keep = Math.floor(this.#tenants.size * 0.75);
    for (const isHarmless of [true, false]) {
      for (const [name, tenant] of this.#tenants) {
        if (this.#tenants.size <= keep) return;
        if (!tenant.isIdle) continue;
        if (isHarmless && !tenant.isForgettable(this.#floor, nowUs)) continue;
        this.#tenants.delete(name);
      }
    }
  }
}
