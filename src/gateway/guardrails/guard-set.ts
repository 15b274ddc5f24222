/**
 * The guardrails of a configuration: which of them a call has to pass, and who checks. Calls that run keep the set that they
 * began with.
 */
import type { Clock } from "../../clock/index.ts";
import {
  GUARD_WINDOW,
  type GuardPolicy,
  type GuardResult,
  type GuardTax,
  type RequestScope,
} from "../../policy/index.ts";
import type { GuardrailConfig, GuardrailWindowConfig } from "../config/index.ts";
import type { ModelRoutes } from "../model-routes.ts";
import type { Route } from "../routes.ts";
import { isAnswerOf } from "./answer-pieces.ts";
import type { Checker } from "./checker.ts";
import { HttpChecker } from "./http-checker.ts";
import { ModelChecker } from "./model-checker.ts";
import { PatternChecker } from "./pattern-checker.ts";

/** What calls of one model have to pass. */
export interface GuardPlan {
  readonly policy: GuardPolicy;
  /** One per rule. */
  readonly checkers: readonly Checker[];
  /** The widest that any rule for requests wants. */
  readonly scope: RequestScope;
}

export interface GuardSetOptions {
  readonly guardrails: readonly GuardrailConfig[];
  readonly window: GuardrailWindowConfig;
  readonly routes: ModelRoutes;
  readonly clock: Clock;
  readonly via: string;
  readonly watch: GuardWatch;
}

/** Who wants to know what checks say, and what they cost. */
export interface GuardWatch {
  checked(result: GuardResult): void;
  /** One guarded call has ended. @param model name of its route. */
  ended(model: string, tax: GuardTax): void;
}

export class GuardSet {
  readonly #options: GuardSetOptions;
  readonly #checkers: readonly Checker[];
  #calls = 0;
  #isRetired = false;
  readonly #plans = new Map<string, GuardPlan | null>();

  /** @throws MANX_SECRET_MISSING */
  constructor(options: GuardSetOptions) {
    this.#options = options;
    this.#checkers = options.guardrails.map((one) => this.#checkerOf(one));
  }

  /** @param model name of a route of models: a closed list. @returns null if the call passes unchecked. */
  planFor(model: string, route: Route): GuardPlan | null {
    if (!isAnswerOf(route.name)) return null;
    let plan = this.#plans.get(model);
    if (plan === undefined) {
      plan = this.#planOf(model);
      this.#plans.set(model, plan);
    }
    return plan;
  }

  /** A guarded call begins; `leave` is called once for it. */
  enter(): void {
    this.#calls += 1;
  }

  leave(model: string, tax: GuardTax): void {
    this.#calls -= 1;
    this.#options.watch.ended(model, tax);
    this.#closeIfIdle();
  }

  checked(result: GuardResult): void {
    this.#options.watch.checked(result);
  }

  /** Another set is used from now on; its connections stay for the calls that began with it. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfIdle();
  }

  #closeIfIdle(): void {
    if (this.#isRetired && this.#calls === 0) void this.close();
  }

  async close(): Promise<void> {
    const closing = this.#checkers.map((one) => (one instanceof HttpChecker ? one.close() : null));
    await Promise.all(closing);
  }

  #planOf(model: string): GuardPlan | null {
    const { guardrails, window } = this.#options;
    const chosen = guardrails.flatMap((one, at) => {
      return one.models === null || one.models.includes(model) ? [{ one, at }] : [];
    });
    if (chosen.length === 0) return null;
    const rules = chosen.map(({ one: { name, stage, budgetUs, onFailure, when } }) => {
      return { name, stage, budgetUs, onFailure, when };
    });
    const isWide = chosen.some(({ one }) => one.stage === "request" && one.scope === "all");
    return {
      policy: { ...GUARD_WINDOW, ...window, rules },
      checkers: chosen.map(({ at }) => this.#checkers[at]!),
      scope: isWide ? "all" : "new",
    };
  }

  #checkerOf(one: GuardrailConfig): Checker {
    const { stage, budgetUs } = one;
    if (one.kind === "pattern") {
      return new PatternChecker({ patterns: one.patterns, onMatch: one.onMatch, budgetUs });
    }
    if (one.kind === "http") return new HttpChecker({ url: new URL(one.url), key: one.key, stage });
    const { routes, clock, via } = this.#options;
    return new ModelChecker({ model: one.model, instruction: one.instruction, routes, clock, via });
  }
}
