/**
 * How well the caches of a model's provider are used: of each request what could have come from a cache, where and why it
 * parts from the one before it in its conversation, and whether marks that were set were honoured.
 */
import type { IncomingHttpHeaders } from "node:http";
import { type Divergence, LayoutMemory, layoutOf } from "../../policy/index.ts";
import type { CacheMetrics } from "./cache-metrics.ts";
import { conversationKey } from "./conversation-key.ts";

export interface WatchedRequest {
  /** Name of its route of models: a closed list. */
  readonly model: string;
  readonly tenant: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed, as the caller has sent it. */
  readonly body: Readonly<Record<string, unknown>>;
}

export class CacheWatch {
  readonly #metrics: CacheMetrics;
  readonly #memory = new LayoutMemory();

  constructor(metrics: CacheMetrics) {
    this.#metrics = metrics;
  }

  /** @returns where it parts from the one before of its conversation; undefined if it does not. */
  request({ body, ...who }: WatchedRequest): Divergence | undefined {
    try {
      const key = conversationKey(who, body);
      const { divergence, cacheableTokens } = this.#memory.follow(key, layoutOf(body));
      this.#metrics.followed(who.model, cacheableTokens, divergence);
      return divergence ?? undefined;
    } catch {
      // Nested too deep to be written out; a statistic is not worth a call.
      return undefined;
    }
  }

  /**
   * @param isPlanned marks were set that should work.
   * @param usage undefined if the upstream did not say.
   */
  ended(
    model: string,
    isPlanned: boolean,
    usage: { readonly cachedTokens: number; readonly writtenTokens?: number } | undefined,
  ): void {
    if (!isPlanned || usage === undefined) return;
    const isHonoured = usage.cachedTokens > 0 || (usage.writtenTokens ?? 0) > 0;
    this.#metrics.planned(model, isHonoured);
  }
}
