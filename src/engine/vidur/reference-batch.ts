/** One step of a reference policy: who computes how many tokens, in the order in which they were chosen. */
import type { ReferenceRequest } from "./reference-request.ts";

export class ReferenceBatch {
  readonly requests: ReferenceRequest[] = [];
  /** One entry per request. */
  readonly newTokens: number[] = [];
  /** Σ of `newTokens`. */
  tokens = 0;

  get size(): number {
    return this.requests.length;
  }

  reset(): void {
    this.requests.length = 0;
    this.newTokens.length = 0;
    this.tokens = 0;
  }

  add(request: ReferenceRequest, tokens: number): void {
    this.requests.push(request);
    this.newTokens.push(tokens);
    this.tokens += tokens;
  }
}
