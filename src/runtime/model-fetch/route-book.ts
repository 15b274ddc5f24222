/**
 * The routes of this process's calls: one for each model at each origin, since what one model takes says nothing of another.
 * Bounded: the route that was used longest ago is forgotten, with what was learnt on it.
 */
import type { Random } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import {
  type CallPolicy,
  type CallRoute,
  type HedgeRefusal,
  makeCallRoute,
  Target,
} from "../../policy/index.ts";
import { CallPlace, type ModelTarget } from "./call-place.ts";
import type { ModelRequest } from "./model-request.ts";

export interface BookedRoute {
  readonly places: readonly CallPlace[];
  readonly route: CallRoute;
  /** For calls whose retries are made elsewhere. */
  readonly once: CallRoute;
}

const ROUTES_MAX = 64;

export class RouteBook {
  readonly policy: CallPolicy;
  readonly #random: Random;
  /** null: wherever the caller's request goes. */
  readonly #places: readonly CallPlace[] | null;
  readonly #routes = new Map<string, BookedRoute>();
  readonly #refusals: Record<HedgeRefusal, number> = { saturated: 0, budget: 0 };

  /** @throws MANX_URL, MANX_FLAG_VALUE */
  constructor(policy: CallPolicy, targets: readonly ModelTarget[] | undefined, random: Random) {
    this.policy = policy;
    this.#random = random;
    const isGiven = targets !== undefined && targets.length > 0;
    this.#places = isGiven ? placesOf(targets) : null;
  }

  routeOf(request: ModelRequest): BookedRoute {
    const { wire, model, url } = request;
    const key = `${url.origin} ${wire.operation} ${wire.format} ${model}`;
    const booked = this.#routes.get(key) ?? this.#book(url.origin);
    // A map goes in order of insertion: what is used comes last.
    this.#routes.delete(key);
    this.#routes.set(key, booked);
    if (this.#routes.size > ROUTES_MAX) this.#forget();
    return booked;
  }

  /** Hedges that were not begun, and why. */
  get hedgeRefusals(): Readonly<Record<HedgeRefusal, number>> {
    const sum = { ...this.#refusals };
    for (const { route } of this.#routes.values()) addTo(sum, route);
    return sum;
  }

  #book(origin: string): BookedRoute {
    const { policy } = this;
    const places = this.#places ?? [new CallPlace({ name: new URL(origin).host }, 0)];
    const targets = places.map(({ name, order, weight }) => {
      return new Target({ name, order, weight, sharesLimits: true, breaker: policy.breaker });
    });
    const route = makeCallRoute(policy, targets, this.#random);
    const retry = { ...policy.retry, attemptsMax: 1 };
    const once = { ...route, policy: { ...policy, retry, hedge: null }, hedger: null };
    return { places, route, once };
  }

  #forget(): void {
    const [oldest] = this.#routes;
    const [key, { route }] = oldest!;
    addTo(this.#refusals, route);
    this.#routes.delete(key);
  }
}

/** In records and traces a target is its name. */
function placesOf(targets: readonly ModelTarget[]): readonly CallPlace[] {
  const places = targets.map((target, at) => new CallPlace(target, at));
  for (const [at, { name }] of places.entries()) {
    if (places.findIndex((one) => one.name === name) === at) continue;
    throw new ManxError("MANX_FLAG_VALUE", {
      what: "two targets of one name",
      where: `targets[${at}].name`,
      expected: "a name of its own for each",
      got: JSON.stringify(name),
    });
  }
  return places;
}

function addTo(sum: Record<HedgeRefusal, number>, { hedger }: CallRoute): void {
  sum.saturated += hedger?.refusals.saturated ?? 0;
  sum.budget += hedger?.refusals.budget ?? 0;
}
