/**
 * Which upstreams an operator has taken out, by name and address, so that a reload that makes an upstream anew does not put
 * it back. Bounded by the addresses that the configurations so far have had.
 */
import { lookUp } from "../core/index.ts";
import type { Wiring } from "./wiring.ts";

export interface DrainedPlace {
  readonly upstream: string;
  /** null: all of its addresses. */
  readonly url: string | null;
}

export class DrainedPlaces {
  #places: readonly DrainedPlace[] = [];

  get list(): readonly DrainedPlace[] {
    return this.#places;
  }

  /** @throws MANX_NAME_UNKNOWN */
  add(place: DrainedPlace, wiring: Wiring): void {
    upstreamOf(place, wiring).drain(place.url);
    this.#places = [...this.#places.filter((one) => !isSame(one, place)), place];
    mark(wiring);
  }

  /** @throws MANX_NAME_UNKNOWN */
  remove(place: DrainedPlace, wiring: Wiring): void {
    upstreamOf(place, wiring).resume(place.url);
    const isOver = (one: DrainedPlace): boolean =>
      one.upstream === place.upstream && (place.url === null || one.url === place.url);
    this.#places = this.#places.filter((one) => !isOver(one));
    mark(wiring);
  }

  /** What was taken out before is so in a new wiring too, as far as it is there. */
  apply(wiring: Wiring): void {
    for (const place of this.#places) {
      try {
        upstreamOf(place, wiring).drain(place.url);
      } catch {
        // The configuration does not have it any more; it may come back.
      }
    }
    mark(wiring);
  }
}

function upstreamOf({ upstream }: DrainedPlace, { upstreams }: Wiring) {
  return lookUp(Object.fromEntries(upstreams), upstream, "upstream");
}

/** Calls choose among targets, and must not lose an attempt on one that nobody may ask. */
function mark({ routes }: Wiring): void {
  for (const { call, lines } of routes.all) {
    for (const [at, target] of call.targets.entries()) {
      target.isDrained = lines[at]!.upstream.isDrained;
    }
  }
}

function isSame(a: DrainedPlace, b: DrainedPlace): boolean {
  return a.upstream === b.upstream && a.url === b.url;
}
