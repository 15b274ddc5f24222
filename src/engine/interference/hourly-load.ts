/** Background load by the hour of the day: a share of the GPU's time that others take, the same every day. */
import { ManxError } from "../../core/index.ts";
import type { Interference } from "./interference.ts";

export interface DayOfLoad {
  /** One for each hour from midnight on, 0 to 0.95. */
  readonly shares: readonly number[];
  /** Time of day at the start of the run, hours, 0 to below 24. */
  readonly startHour: number;
}

const HOUR_US = 3_600_000_000;
const HOURS = 24;
const SHARE_MAX = 0.95;

export class HourlyLoad implements Interference {
  readonly #shares: readonly number[];
  readonly #startUs: number;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(day: DayOfLoad) {
    const { shares, startHour } = day;
    const isPossible = (share: number): boolean => share >= 0 && share <= SHARE_MAX;
    if (shares.length !== HOURS || !shares.every(isPossible)) {
      throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
        where: "hourly.shares",
        expected: `${HOURS} shares from 0 to ${SHARE_MAX}`,
        got: `${shares.length}: ${shares.slice(0, HOURS).join(", ")}`,
      });
    }
    if (!(startHour >= 0 && startHour < HOURS)) {
      throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
        where: "hourly.startHour",
        expected: "an hour from 0 to below 24",
        got: String(startHour),
      });
    }
    this.#shares = shares;
    this.#startUs = Math.round(startHour * HOUR_US);
  }

  leftAt(atUs: number): number {
    return 1 - this.#shares[this.#hour(atUs) % HOURS]!;
  }

  changesUs(atUs: number): number {
    return (this.#hour(atUs) + 1) * HOUR_US - this.#startUs;
  }

  /** Hours since the midnight before the start. */
  #hour(atUs: number): number {
    return Math.floor((atUs + this.#startUs) / HOUR_US);
  }
}
