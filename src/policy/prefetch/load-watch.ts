/**
 * Whether a back end is loaded, by how long its own calls take: the median of the last few against that of the last few
 * hundred. A prefetch is the first load that it can do without. What stays slow becomes the rule after some hundred calls.
 */
import { RecentQuantile } from "../call/recent-quantile.ts";

interface Watched {
  readonly recent: RecentQuantile;
  readonly usual: RecentQuantile;
  isLoaded: boolean;
}

const RECENT_HALF_LIFE = 16;
const USUAL_HALF_LIFE = 400;
/** Medians of fewer are luck. */
const CALLS_MIN = 40;
const LOADED_ABOVE = 1.6;
const CALM_BELOW = 1.25;
/** Further ones are not watched. */
const RESOURCES_MAX = 1_000;

export class LoadWatch {
  readonly #resources = new Map<string, Watched>();

  took(resource: string, us: number): void {
    let watched = this.#resources.get(resource);
    if (watched === undefined) {
      if (this.#resources.size >= RESOURCES_MAX) return;
      const recent = new RecentQuantile(RECENT_HALF_LIFE);
      watched = { recent, usual: new RecentQuantile(USUAL_HALF_LIFE), isLoaded: false };
      this.#resources.set(resource, watched);
    }
    watched.recent.record(us);
    watched.usual.record(us);
    if (watched.usual.count < CALLS_MIN) return;
    const ratio = watched.recent.quantileUs(0.5) / watched.usual.quantileUs(0.5);
    if (ratio > LOADED_ABOVE) watched.isLoaded = true;
    else if (ratio < CALM_BELOW) watched.isLoaded = false;
  }

  isLoaded(resource: string): boolean {
    return this.#resources.get(resource)?.isLoaded === true;
  }
}
