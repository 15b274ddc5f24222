/**
 * A cap on long prompts that are computed at the same time, so that short ones find room in every step (vLLM's
 * `max_long_partial_prefills`). A request is long if it still had more than `longTokens` to compute when it was let in, and
 * counts until its prompt is done.
 */
import type { EngineRequest } from "./request.ts";

export class LongPrefills {
  readonly #longTokens: number;
  readonly #most: number;
  #underWay: EngineRequest[] = [];

  /** @param most long ones at a time; 0 for any number. */
  constructor(longTokens: number, most: number) {
    this.#longTokens = longTokens;
    this.#most = most;
  }

  /** Whether one with `rest` tokens to compute may begin now. */
  admits(rest: number): boolean {
    if (this.#most === 0 || rest <= this.#longTokens) return true;
    this.#underWay = this.#underWay.filter(
      (request) => request.state === "running" && !request.isDecoding,
    );
    return this.#underWay.length < this.#most;
  }

  /** It has begun, right after `admits` had answered yes. */
  enter(request: EngineRequest, rest: number): void {
    if (this.#most > 0 && rest > this.#longTokens) this.#underWay.push(request);
  }
}
