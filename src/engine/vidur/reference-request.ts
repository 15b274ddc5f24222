/**
 * One request in a reference policy. Invariant: prompt + output never changes; only the border between the two does.
 *
 *     |------- promptTokens -------|---- outputTokens ----|
 *     |---- processed ----|                                  KV exists, or the token is about to be read
 *
 * The step that ends the prompt yields the first output token, which counts as processed at once. So an output of D tokens
 * takes the end of the prefill and D − 1 decode steps.
 */
import { ManxError } from "../../core/index.ts";

export interface ReferenceShape {
  readonly id: number;
  /** Seconds. */
  readonly arrivedS: number;
  /** ≥ 1. */
  readonly promptTokens: number;
  /** ≥ 1. */
  readonly outputTokens: number;
}

export class ReferenceRequest {
  readonly id: number;
  readonly arrivedS: number;
  readonly totalTokens: number;
  promptTokens: number;
  processed = 0;
  /** The prompt is computed, so that every further step is a decode. */
  isReady = false;
  /** Owned by the block ledger. */
  blocks = 0;
  restarts = 0;
  /** Start of the first step that it was part of, kept over restarts. NaN until then, like the times below. Seconds. */
  scheduledS = Number.NaN;
  /** End of the first prefill, kept over restarts. */
  firstTokenS = Number.NaN;
  completedS = Number.NaN;

  /** @throws MANX_REQUEST_INVALID if a length is no whole number from 1 or the arrival no time from 0. */
  constructor({ id, arrivedS, promptTokens, outputTokens }: ReferenceShape) {
    const isTime = Number.isFinite(arrivedS) && arrivedS >= 0;
    if (!isTime || !isLength(promptTokens) || !isLength(outputTokens)) {
      throw new ManxError("MANX_REQUEST_INVALID", {
        where: `request ${id}`,
        expected: "an arrival in seconds from 0, a prompt and an output of at least 1 token",
        got: `${arrivedS} s, ${promptTokens} + ${outputTokens} tokens`,
      });
    }
    this.id = id;
    this.arrivedS = arrivedS;
    this.promptTokens = promptTokens;
    this.totalTokens = promptTokens + outputTokens;
  }

  get outputTokens(): number {
    return this.totalTokens - this.promptTokens;
  }

  get isCompleted(): boolean {
    return this.processed === this.totalTokens;
  }

  /** A step that computed `tokens` of it has ended. */
  advance(tokens: number, nowS: number): void {
    this.processed += tokens;
    if (this.processed === this.promptTokens) {
      this.isReady = true;
      this.processed += 1;
      if (Number.isNaN(this.firstTokenS)) this.firstTokenS = nowS;
    }
    if (this.isCompleted) this.completedS = nowS;
  }

  /**
   * Back to the start with all that it has as its prompt. Of a request in mid-prefill that makes the unread prompt tokens
   * output: a flaw of Vidur's that parity needs, since it decides how many steps the request takes.
   */
  restart(): void {
    this.promptTokens = this.processed;
    this.processed = 0;
    this.isReady = false;
    this.restarts += 1;
  }
}

function isLength(tokens: number): boolean {
  return Number.isInteger(tokens) && tokens >= 1;
}
