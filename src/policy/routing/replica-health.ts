/**
 * Whether one replica may get work, and how much.
 *
 *                  ramp over
 *        cold ───────────────▶ healthy
 *          ▲                      │
 *   probe  │                      │ connection refused or cut before an answer: at once;
 *     ok   │                      │ `errorsMax` errors in a row, `missesMax` probes without answer
 *          └────── ejected ◀──────┘
 *                   │   ▲   probe failed: the next one after twice the time
 *                   └───┘
 *
 * An ejected replica gets no request until a probe, which is none, has found it alive: affinity would send a conversation to
 * the same dead worker again and again (NVIDIA-NeMo/RL#3613: ten failures before its breaker opened). What comes back is
 * cold, and has to earn its trust: during its ramp one error is enough. Draining is beside all this, and only the operator's.
 */
import { US_PER_S } from "../../core/index.ts";

/** How a request that was sent to a replica ended. */
export type ReplicaOutcome =
  | "ok"
  /** No connection, or a connection that broke before the first byte of an answer. */
  | "down"
  /** An answer of 5xx, or a stream that was cut. */
  | "error"
  /** 429, or 503 with a reason to wait. */
  | "overloaded"
  /** Given up by the client: says nothing of the replica. */
  | "cancelled";

export type ProbeResult = "ok" | "silent" | "refused";

export type HealthState = "healthy" | "cold" | "ejected";

export interface HealthOptions {
  /** Errors in a row that eject. Default 3. */
  readonly errorsMax?: number;
  /** Probes in a row without an answer that eject. Default 2. */
  readonly missesMax?: number;
  /** Between probes of one that is not ejected. Default 5 s. */
  readonly probeUs?: number;
  /** From an ejection to its first probe; doubles with every failure. Default 1 s. */
  readonly backoffUs?: number;
  /** Most between two probes. Default 30 s. */
  readonly backoffUsMax?: number;
  /** From cold to healthy. Default 30 s. */
  readonly rampUs?: number;
  /** How long "overloaded" counts. Default 1 s. */
  readonly overloadUs?: number;
}

/** A cold replica is taken to be at least this fast, or it would never begin. */
const WEIGHT_LEAST = 0.1;

export class ReplicaHealth {
  isDraining = false;
  readonly #options: Required<HealthOptions>;
  #isEjected = false;
  #errors = 0;
  #misses = 0;
  /** Ejections since it was last trusted. */
  #level = 0;
  #warmAtUs: number;
  #overloadedUntilUs = Number.NEGATIVE_INFINITY;
  #nextProbeUs: number;

  /** @param isCold at the start; otherwise it is believed to be warm until it shows otherwise. */
  constructor(options: HealthOptions, nowUs: number, isCold = false) {
    this.#options = {
      errorsMax: options.errorsMax ?? 3,
      missesMax: options.missesMax ?? 2,
      probeUs: options.probeUs ?? 5 * US_PER_S,
      backoffUs: options.backoffUs ?? US_PER_S,
      backoffUsMax: options.backoffUsMax ?? 30 * US_PER_S,
      rampUs: options.rampUs ?? 30 * US_PER_S,
      overloadUs: options.overloadUs ?? US_PER_S,
    };
    this.#nextProbeUs = nowUs;
    this.#warmAtUs = isCold ? nowUs + this.#options.rampUs : nowUs;
  }

  get isEjected(): boolean {
    return this.#isEjected;
  }

  get nextProbeUs(): number {
    return this.#nextProbeUs;
  }

  state(nowUs: number): HealthState {
    if (this.#isEjected) return "ejected";
    return nowUs < this.#warmAtUs ? "cold" : "healthy";
  }

  /** 0 at the beginning of its ramp, 1 from its end on. */
  warmth(nowUs: number): number {
    const left = this.#warmAtUs - nowUs;
    return left <= 0 ? 1 : Math.max(0, 1 - left / this.#options.rampUs);
  }

  /** @returns its speed as a share of a healthy one's. */
  weight(nowUs: number): number {
    return Math.max(WEIGHT_LEAST, this.warmth(nowUs));
  }

  isOverloaded(nowUs: number): boolean {
    return nowUs < this.#overloadedUntilUs;
  }

  /**
   * @param mayEject for errors: false if too much of the fleet is ejected already, so that a request that no replica can
   *   serve does not empty the fleet. A replica that is down is ejected all the same.
   * @returns whether it was ejected.
   */
  ended(outcome: ReplicaOutcome, nowUs: number, mayEject: boolean): boolean {
    if (this.#isEjected || outcome === "cancelled") return false;
    if (outcome === "ok") {
      this.#errors = 0;
      if (nowUs >= this.#warmAtUs) this.#level = 0;
      return false;
    }
    if (outcome === "overloaded") {
      this.#overloadedUntilUs = nowUs + this.#options.overloadUs;
      return false;
    }
    this.#errors += 1;
    const isOnTrial = nowUs < this.#warmAtUs;
    const isTooMuch = isOnTrial || this.#errors >= this.#options.errorsMax;
    if (outcome === "error" && !(isTooMuch && mayEject)) return false;
    this.#eject(nowUs);
    return true;
  }

  /** @returns whether it was ejected. */
  probed(result: ProbeResult, nowUs: number): boolean {
    if (result === "ok") {
      this.#misses = 0;
      this.#nextProbeUs = nowUs + this.#options.probeUs;
      if (this.#isEjected) this.restarted(nowUs);
      return false;
    }
    if (this.#isEjected) {
      this.#eject(nowUs);
      return false;
    }
    this.#misses += 1;
    this.#nextProbeUs = nowUs + this.#options.backoffUs;
    if (result === "silent" && this.#misses < this.#options.missesMax) return false;
    this.#eject(nowUs);
    return true;
  }

  /** It is alive, and what it knew is gone. */
  restarted(nowUs: number): void {
    this.#isEjected = false;
    this.#errors = 0;
    this.#misses = 0;
    this.#warmAtUs = nowUs + this.#options.rampUs;
  }

  #eject(nowUs: number): void {
    const { backoffUs, backoffUsMax } = this.#options;
    this.#isEjected = true;
    this.#nextProbeUs = nowUs + Math.min(backoffUsMax, backoffUs * 2 ** this.#level);
    // Beyond this the bound holds anyway; the power must stay finite.
    this.#level = Math.min(30, this.#level + 1);
  }
}
