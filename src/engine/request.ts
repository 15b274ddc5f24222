/**
 * One request inside the engine: how many of its tokens exist, how many are in the KV memory, and what that memory has set
 * aside for it. The scheduler owns these fields; a driver hangs what it needs on `tag`.
 *
 *     prompt ............ generated
 *     |---- known = promptTokens + generated ----|
 *     |---- computed ----|                          KV exists for these
 *     |---- reservedTokens -----------------|       KV memory set aside, ≥ computed
 *
 * A step that computes up to `known` yields one more token; its KV is written by the step that yields the one after. So
 * an output of D tokens takes the end of the prefill and D − 1 decode steps.
 */
import { assert } from "../core/index.ts";

export type RequestState = "waiting" | "running" | "finished" | "aborted";

export interface RequestShape {
  /** ≥ 1. */
  readonly promptTokens: number;
  /** ≥ 1; the twin knows how long an answer will be, a real engine knows only its limit. */
  readonly outputTokens: number;
  /**
   * Names of the prompt's pieces, each of as many tokens as the KV memory's `pieceTokens`, the last one perhaps shorter. A
   * name stands for everything up to its piece's end: two requests with the same name there have the same prefix.
   */
  readonly prefixIds?: readonly number[] | undefined;
  /** Class; the lower, the sooner, as in vLLM. Default 0. Without a meaning unless the order of the queue is by priority. */
  readonly priority?: number | undefined;
  /** On whose behalf, for the order by fair share. Default "". */
  readonly tenant?: string | undefined;
}

/** Stands in until a memory gives a request its own list; never written to. */
const NO_BLOCKS: number[] = [];

export class EngineRequest<Tag = unknown> implements RequestShape {
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly arrivedUs: number;
  readonly tag: Tag;
  readonly prefixIds: readonly number[] | undefined;
  readonly priority: number;
  readonly tenant: string;
  state: RequestState = "waiting";
  computed = 0;
  generated = 0;
  reservedTokens = 0;
  /** Prompt tokens taken over from the prefix cache when it was first let in. */
  cachedTokens = 0;
  preemptions = 0;
  /** Tokens whose KV lies in host memory until it is let in again. Owned by the host's memory. */
  hostTokens = 0;
  /** Steps in which others were let in before it because it did not fit. */
  passes = 0;
  /** Its number in the order of arrival. Owned by the queue's order; 0 where that needs none. */
  turn = 0;
  /** Blocks in order, if the memory tells them apart. Owned by the KV memory, like the next two fields. */
  blocks: number[] = NO_BLOCKS;
  /** Name under which its own blocks can be found after it was thrown out; 0 if it never was. */
  ownName = 0;
  /** Computed tokens at which the memory wants to be told. */
  sealTokens = Number.POSITIVE_INFINITY;
  /** First time that it was put into a batch; kept over pre-emptions. NaN until then, like the times below. */
  scheduledUs = Number.NaN;
  firstTokenUs = Number.NaN;
  lastTokenUs = Number.NaN;

  constructor(shape: RequestShape, arrivedUs: number, tag: Tag) {
    assert(shape.promptTokens >= 1 && Number.isInteger(shape.promptTokens), "a prompt has tokens");
    assert(shape.outputTokens >= 1 && Number.isInteger(shape.outputTokens), "an output has tokens");
    this.promptTokens = shape.promptTokens;
    this.outputTokens = shape.outputTokens;
    this.arrivedUs = arrivedUs;
    this.tag = tag;
    this.prefixIds = shape.prefixIds;
    this.priority = shape.priority ?? 0;
    this.tenant = shape.tenant ?? "";
    assert(Number.isFinite(this.priority), "a priority is a number");
  }

  get known(): number {
    return this.promptTokens + this.generated;
  }

  /** All but the last of an answer under way is computed: each step yields one more of it. */
  get isDecoding(): boolean {
    return this.generated > 0 && this.computed > 0 && this.known - this.computed === 1;
  }

  /** Thrown out in the middle of its answer, all of whose KV lies in host memory: nothing has to be computed again. */
  get returnsToAnswer(): boolean {
    return this.generated > 0 && this.hostTokens > 0 && this.known - this.hostTokens === 1;
  }

  /** Most tokens that ever lie in the KV memory: that of the last output token is never written. */
  get longestTokens(): number {
    return this.promptTokens + this.outputTokens - 1;
  }
}
