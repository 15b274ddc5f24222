/** What can be set about continuous batching. Only the first three have to be. */
import type { QueueOrder } from "./order/queue-order.ts";
import type { HostPool } from "./swap/host-pool.ts";

export const MIXINGS = ["decode-first", "prefill-first"] as const;
export type Mixing = (typeof MIXINGS)[number];

export interface ContinuousOptions {
  /** Most requests under way at a time. */
  readonly sequencesMax: number;
  /** Most tokens computed in a step. A whole prompt that is longer runs in a step of its own. */
  readonly tokensMax: number;
  readonly prompts: "whole" | "chunked";
  /**
   * Chunked only: what a request takes as it enters. Default "known": room for all that it has so far. "step": room for
   * its first piece, all of it having to fit at that moment all the same (vLLM's `scheduler_reserve_full_isl`).
   */
  readonly admission?: "known" | "step";
  /**
   * Chunked only: a step is composed while the one before it runs, as vLLM's asynchronous scheduling does to keep the GPU
   * busy. It knows neither who arrives nor who ends meanwhile: a newcomer waits one step longer, and place and memory of
   * one that has ended come free one step later. Default false.
   */
  readonly ahead?: boolean;
  /**
   * Where the KV of one that is thrown out goes, to come back before anybody new is let in. Default: nowhere, it is
   * computed again.
   */
  readonly host?: HostPool | undefined;
  /** Who is let in next. Default: first come, first served. */
  readonly order?: QueueOrder;
  /**
   * Under an order by priority: one that waits without place or memory throws out the last of those that run, if that is of
   * a worse class. Default false: it waits until somebody ends.
   */
  readonly priorityPreempts?: boolean;
  /** Chunked only: what a step begins with. Default "decode-first". */
  readonly mixing?: Mixing;
  /** Prefill-first or whole: after so many steps of prompts answers have one. Default and 0: never, and they may starve. */
  readonly consecutivePrefillsMax?: number;
  /** Chunked only: most tokens of one request in a step. Default and 0: any. */
  readonly requestTokensMax?: number;
  /** Most prompts of more than `longPromptTokens` uncached tokens that are under way at a time. Default and 0: any. */
  readonly longPrefillsMax?: number;
  readonly longPromptTokens?: number;
  /**
   * In how many steps others may pass a request that does not fit. Default 0: strict order. Only memory counts: one that
   * waits for its turn among long prompts is passed by shorter ones without end, since those ahead of it do end.
   */
  readonly passesMax?: number;
}
