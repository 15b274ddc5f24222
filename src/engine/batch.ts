/**
 * One step's work: which requests compute how many tokens, and the sums that a cost model prices. Reused from step to
 * step, since a twin composes a hundred thousand of them a second.
 */
import type { EngineRequest } from "./request.ts";

export class Batch {
  readonly requests: EngineRequest[] = [];
  /** Tokens computed this step, one entry per request. */
  readonly newTokens: number[] = [];
  prefillSequences = 0;
  prefillTokens = 0;
  /** Σ over prefill chunks of n tokens on c computed ones: n · c + n · (n + 1) / 2 pairs of query and key. */
  prefillPairs = 0;
  /** Σ over prefill chunks of the computed tokens that they read again. */
  prefillContext = 0;
  decodeSequences = 0;
  /** Σ over decodes of the tokens whose KV is read, the new one included. */
  decodeContext = 0;
  /** The largest of them: what one thread block per sequence has to read alone. */
  decodeLongest = 0;
  /** Tokens that a draft model proposed for decodes and this step verifies, beside the one that each computes anyway. */
  draftTokens = 0;
  /** Time that proposing them takes before the step itself. */
  draftUs = 0;
  /** Tokens whose KV goes to host memory and comes from there before the step itself. */
  swapOutTokens = 0;
  swapInTokens = 0;

  get size(): number {
    return this.requests.length;
  }

  get tokens(): number {
    return this.prefillTokens + this.decodeSequences + this.draftTokens;
  }

  reset(): void {
    // Setting a length to 0 gives the list's memory back, to be asked for again in the next step.
    while (this.requests.length > 0) {
      this.requests.pop();
      this.newTokens.pop();
    }
    this.prefillSequences = 0;
    this.prefillTokens = 0;
    this.prefillPairs = 0;
    this.prefillContext = 0;
    this.decodeSequences = 0;
    this.decodeContext = 0;
    this.decodeLongest = 0;
    this.draftTokens = 0;
    this.draftUs = 0;
    this.swapOutTokens = 0;
    this.swapInTokens = 0;
  }

  /** The next `tokens` of a request: one more of its answer, or a piece of what has to be computed first. */
  add(request: EngineRequest, tokens: number): void {
    if (tokens === 1 && request.generated > 0 && request.computed > 0) this.addDecode(request);
    else this.addPrefill(request, tokens);
  }

  /** A chunk of a prompt, or of a context that has to be computed again. */
  addPrefill(request: EngineRequest, tokens: number): void {
    this.requests.push(request);
    this.newTokens.push(tokens);
    this.countPrefill(tokens, request.computed);
  }

  /** One more token of an answer under way. */
  addDecode(request: EngineRequest): void {
    this.requests.push(request);
    this.newTokens.push(1);
    this.countDecode(request.computed + 1);
  }

  /** Takes a member that will not run after all out again. Rare, so all sums are made anew. Answers whether it was one. */
  takeBack(request: EngineRequest): boolean {
    const at = this.requests.lastIndexOf(request);
    if (at < 0) return false;
    const requests = this.requests.toSpliced(at, 1);
    const newTokens = this.newTokens.toSpliced(at, 1);
    this.reset();
    for (const [i, other] of requests.entries()) this.add(other, newTokens[i]!);
    return true;
  }

  /** Work without a request behind it: the padding of a static batch. */
  countPrefill(tokens: number, computed: number): void {
    this.prefillSequences += 1;
    this.prefillTokens += tokens;
    this.prefillPairs += tokens * computed + (tokens * (tokens + 1)) / 2;
    this.prefillContext += computed;
  }

  countDecode(context: number): void {
    this.decodeSequences += 1;
    this.decodeContext += context;
    if (context > this.decodeLongest) this.decodeLongest = context;
  }
}
