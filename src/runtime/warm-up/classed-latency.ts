/**
 * Latencies of calls with their temperature. A p99 over cold and warm calls together says how many of them were cold, not
 * how slow either kind is; so each has a histogram of its own, and a figure over several is refused.
 */
import { ManxError } from "../../core/index.ts";
import { Histogram, histogramQuantile, type Quantile } from "../../stats/index.ts";
import { TEMPERATURES, type Temperature } from "./cold-call.ts";

export class ClassedLatency {
  readonly #classes: Readonly<Record<Temperature, Histogram>> = {
    cold: new Histogram(),
    partly: new Histogram(),
    warm: new Histogram(),
  };
  readonly #causes = new Map<string, number>();
  #warmUps = 0;

  /**
   * @param us whole µs, from 0.
   * @param mark of the call; `warm-up` for traffic that nobody waited for, which is counted and nothing else.
   */
  record(
    us: number,
    mark: { readonly temperature: Temperature; readonly cause?: string | null } | "warm-up",
  ): void {
    if (mark === "warm-up") {
      this.#warmUps += 1;
      return;
    }
    this.histogram(mark.temperature).record(us);
    const { cause = null } = mark;
    if (cause !== null) this.#note(cause, 1);
  }

  /** @throws MANX_WARM_UP_INVALID for anything but one temperature: there is no percentile over several. */
  quantile(q: number, temperature: Temperature): Quantile {
    return histogramQuantile(this.histogram(temperature), q);
  }

  /** @throws MANX_WARM_UP_INVALID */
  histogram(temperature: Temperature): Histogram {
    if (TEMPERATURES.includes(temperature)) return this.#classes[temperature];
    throw new ManxError("MANX_WARM_UP_INVALID", {
      what: "a percentile over cold and warm calls together",
      expected: `one of ${TEMPERATURES.join(", ")}`,
      got: JSON.stringify(temperature),
      hint: "ask for each, and show them side by side with their n",
    });
  }

  /** Class by class. */
  merge(other: ClassedLatency): void {
    for (const one of TEMPERATURES) this.#classes[one].merge(other.#classes[one]);
    for (const [cause, n] of other.#causes) this.#note(cause, n);
    this.#warmUps += other.#warmUps;
  }

  /** Of the calls of users; NaN before the first. */
  get coldShare(): number {
    const { cold, partly, warm } = this.#classes;
    const n = cold.n + partly.n + warm.n;
    return n === 0 ? Number.NaN : (cold.n + partly.n) / n;
  }

  /** Calls that were not warm, by cause. */
  get causes(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#causes);
  }

  /** Calls of the warm-up itself: in no histogram. */
  get warmUps(): number {
    return this.#warmUps;
  }

  #note(cause: string, n: number): void {
    const known = this.#causes.has(cause) || this.#causes.size < CAUSES_MAX;
    const key = known ? cause : OTHER_CAUSES;
    this.#causes.set(key, (this.#causes.get(key) ?? 0) + n);
  }
}

const CAUSES_MAX = 16;
const OTHER_CAUSES = "other";
