/**
 * What prompts lose of their caches. The share that hits is `tokens_total{kind="cached"}` over `cacheable_tokens_total`: of
 * tokens that a cache could have served, and not of all, since nobody can cache what is new.
 */
import type { Divergence } from "../../policy/index.ts";
import type { CounterFamily } from "../seeing/metric-family.ts";
import type { MetricPage } from "../seeing/metric-page.ts";

export class CacheMetrics {
  readonly #cacheable: CounterFamily;
  readonly #breaks: CounterFamily;
  readonly #missed: CounterFamily;
  readonly #plans: CounterFamily;

  constructor(page: MetricPage) {
    this.#cacheable = page.counter(
      "cacheable_tokens_total",
      "Prompt tokens, about, that stood in the request before of the same conversation",
      ["model"],
    );
    this.#breaks = page.counter(
      "cache_breaks_total",
      "Requests that part from the one before of the same conversation, by what differs first",
      ["model", "cause"],
    );
    this.#missed = page.counter(
      "cache_missed_tokens_total",
      "Prompt tokens, about, behind the first difference, which no cache can serve",
      ["model", "cause"],
    );
    this.#plans = page.counter(
      "cache_plans_total",
      "Requests with marks of this gateway, by whether the upstream's usage shows a cache written or read",
      ["model", "confirmed"],
    );
  }

  followed(model: string, cacheableTokens: number | null, divergence: Divergence | null): void {
    if (cacheableTokens !== null)
      this.#cacheable.add(this.#cacheable.book.at(model), cacheableTokens);
    if (divergence === null) return;
    const { cause, missedTokens } = divergence;
    this.#breaks.add(this.#breaks.book.at(model, cause));
    this.#missed.add(this.#missed.book.at(model, cause), missedTokens);
  }

  planned(model: string, isConfirmed: boolean): void {
    this.#plans.add(this.#plans.book.at(model, isConfirmed ? "yes" : "no"));
  }
}
