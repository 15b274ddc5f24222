/** Which targets a model's calls may go to, and what is known about them. Replaced as a whole when the configuration changes. */
import { ManxError, nearestName } from "../core/index.ts";
import type { CallRoute } from "../policy/index.ts";
import type { CacheMarksConfig, PolicyConfig } from "./config/index.ts";
import type { Upstream } from "./upstream.ts";

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
  readonly policy: PolicyConfig;
  readonly cacheMarks: CacheMarksConfig | null;
}

const ANY_MODEL = "*";

export class ModelRoutes {
  readonly #routes: ReadonlyMap<string, ModelRoute>;

  constructor(routes: readonly ModelRoute[]) {
    this.#routes = new Map(routes.map((route) => [route.name, route]));
  }

  get all(): readonly ModelRoute[] {
    return [...this.#routes.values()];
  }

  /** Names that callers may ask for, without `*`. */
  get names(): readonly string[] {
    return [...this.#routes.keys()].filter((name) => name !== ANY_MODEL);
  }

  /** Whether every name is served. */
  get takesAny(): boolean {
    return this.#routes.has(ANY_MODEL);
  }

  /**
   * @param model undefined for a request that names none (a list of models, say).
   * @throws MANX_MODEL_UNKNOWN with the nearest name.
   */
  find(model: string | undefined): ModelRoute {
    const exact = model === undefined ? undefined : this.#routes.get(model);
    const route = exact ?? this.#routes.get(ANY_MODEL);
    if (route !== undefined) return route;
    const nearest = model === undefined ? undefined : nearestName(model, this.names);
    throw new ManxError("MANX_MODEL_UNKNOWN", {
      where: "model",
      expected: "a model of this gateway",
      got: model === undefined ? "none" : JSON.stringify(model.slice(0, 80)),
      ...(nearest !== undefined && { hint: `did you mean ${JSON.stringify(nearest)}?` }),
    });
  }
}
