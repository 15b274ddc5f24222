/** One request under way: what the engine's events mean for its client, and its times as the client sees them. */

import type { Answer } from "./answer.ts";
import type { CallRequest } from "./call-request.ts";
import type { Delivery } from "./delivery.ts";

export interface LiveCallParts {
  readonly request: CallRequest;
  readonly answer: Answer;
  readonly delivery: Delivery;
  readonly arrivedUs: number;
  readonly tenant?: string;
}

export class LiveCall {
  readonly request: CallRequest;
  readonly answer: Answer;
  readonly delivery: Delivery;
  /** When its body was complete. */
  readonly arrivedUs: number;
  /** On whose behalf; "" for nobody in particular. */
  readonly tenant: string;
  /** That the engine has told of. */
  tokens = 0;
  /** Engine that it was routed to; −1 before that. */
  entry = -1;
  /** Of its prompt, what its engine has to compute before the first token, as far as the router knows. */
  pendingTokens = 0;
  /** When its last token so far was written; NaN before the first. */
  lastTokenUs = Number.NaN;
  #leftInStep = 0;

  constructor(parts: LiveCallParts) {
    this.request = parts.request;
    this.answer = parts.answer;
    this.delivery = parts.delivery;
    this.arrivedUs = parts.arrivedUs;
    this.tenant = parts.tenant ?? "";
  }

  /** The engine tells of one more token, of `inStep` that the same step yields. Answers whether it is the last of them. */
  countToken(inStep: number): boolean {
    this.tokens += 1;
    if (this.#leftInStep === 0) this.#leftInStep = inStep;
    this.#leftInStep -= 1;
    return this.#leftInStep === 0;
  }

  /** What it adds to the work of its engine, for a router. */
  get openTokens(): number {
    return this.request.prompt.tokens + this.answer.tokens;
  }
}
