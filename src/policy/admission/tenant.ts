/**
 * One tenant's account: what it has been served, what it has in hand, and the limits of its own.
 *
 * `served` is the virtual token counter (VTC: Sheng et al., "Fairness in serving large language models", OSDI 2024):
 * weighted tokens, charged with the predicted size at the start and corrected at the end. While a limit of its own holds it
 * back it does not compete, and saves up no claim: the ledger lifts it when it comes back.
 */
import type { TenantLimits } from "./admission-options.ts";
import { CLASSES, type Lane, Line } from "./lane.ts";
import type { Placed } from "./placed-heap.ts";
import { TokenBucket } from "./token-bucket.ts";

export class Tenant implements Placed {
  readonly name: string;
  readonly limits: TenantLimits;
  readonly bucket: TokenBucket | undefined;
  served: number;
  /** Owned by the heap of those that a time will let in. */
  place = -1;
  /** When it may start one again: 0 if it may now, Infinity if one of its own has to end first. */
  heldUntilUs = 0;
  /** Held by the caller until then, see `Admission.defer`. */
  deferredUs = 0;
  inFlight = 0;
  queued = 0;
  queuedTokens = 0;
  /** Requests that wait, by lane. */
  readonly queuedIn: number[];
  /** By lane and class, made on first use. */
  readonly #lines: (Line | undefined)[] = [];
  /** Those of them that are not empty. */
  readonly lines = new Set<Line>();

  constructor(name: string, limits: TenantLimits, served: number, lanes: number) {
    this.name = name;
    this.limits = limits;
    this.served = served;
    this.queuedIn = new Array<number>(lanes).fill(0);
    const perS = limits.tokensPerMinute / 60;
    this.bucket = Number.isFinite(perS) ? new TokenBucket(perS, limits.burstTokens) : undefined;
  }

  get isIdle(): boolean {
    return this.queued === 0 && this.inFlight === 0;
  }

  line(lane: Lane, priority: number): Line {
    const at = lane.index * CLASSES + priority;
    let line = this.#lines[at];
    if (line === undefined) {
      line = new Line(this, lane, priority);
      this.#lines[at] = line;
    }
    return line;
  }

  /** When its own limits let it start another: 0 for now, Infinity for when one of its own ends. */
  blockedUntilUs(nowUs: number): number {
    if (this.inFlight >= this.limits.concurrencyMax) return Number.POSITIVE_INFINITY;
    const readyUs = Math.max(this.deferredUs, this.bucket?.readyUs(nowUs) ?? 0);
    return readyUs > nowUs ? readyUs : 0;
  }

  /** Nothing would be lost by forgetting it: its rate is not in use, and a return would lift it anyway. */
  isForgettable(floor: number, nowUs: number): boolean {
    if (!this.isIdle || this.served > floor || this.deferredUs > nowUs) return false;
    return this.bucket === undefined || this.bucket.level(nowUs) >= this.bucket.burst;
  }

  charge(weighted: number): void {
    this.served += weighted / this.limits.weight;
  }
}
