/** Which targets a model's calls may go to, and what is known about them. Built from the configuration; replaced as a whole when that changes. */
import { ManxError, nearestName } from "../core/index.ts";
import type { CallRoute } from "../policy/index.ts";
import type { HeaderList } from "./headers.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

export interface Upstream {
  readonly name: string;
  readonly pool: UpstreamPool;
  /** Path before each route, from its URL. */
  readonly prefix: string;
  /** The gateway's own credentials for it; null: the caller's are passed on. */
  readonly credentials: HeaderList | null;
}

/** One target of a model; index as in the route's `call.targets`. */
export interface Line {
  readonly upstream: Upstream;
  /** Its name for the model; null: as the caller has it. */
  readonly model: string | null;
}

export interface ModelRoute {
  /** Also its metric label: models are a closed list. */
  readonly name: string;
  readonly call: CallRoute;
  readonly lines: readonly Line[];
}

export const ANY_MODEL = "*";

export class ModelRoutes {
  readonly #routes: ReadonlyMap<string, ModelRoute>;

  constructor(routes: readonly ModelRoute[]) {
    this.#routes = new Map(routes.map((route) => [route.name, route]));
  }

  get all(): Iterable<ModelRoute> {
    return this.#routes.values();
  }

  /**
   * @param model undefined for a request that names none (a list of models, say).
   * @throws MANX_MODEL_UNKNOWN with the nearest name.
   */
  find(model: string | undefined): ModelRoute {
    const route =
      (model === undefined ? undefined : this.#routes.get(model)) ?? this.#routes.get(ANY_MODEL);
    if (route !== undefined) return route;
    const names = [...this.#routes.keys()];
    const nearest = model === undefined ? undefined : nearestName(model, names);
    throw new ManxError("MANX_MODEL_UNKNOWN", {
      where: "model",
      expected: "a model of this gateway",
      got: model === undefined ? "none" : JSON.stringify(model.slice(0, 80)),
      ...(nearest !== undefined && { hint: `did you mean ${JSON.stringify(nearest)}?` }),
    });
  }
}
