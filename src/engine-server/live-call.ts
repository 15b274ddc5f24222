/** One request under way: what the engine's events mean for its client, and its times as the client sees them. */

import type { Answer } from "./answer.ts";
import type { CallRequest } from "./call-request.ts";
import type { Delivery } from "./delivery.ts";

export class LiveCall {
  readonly request: CallRequest;
  readonly answer: Answer;
  readonly delivery: Delivery;
  /** When its body was complete. */
  readonly arrivedUs: number;
  /** When its last token so far was written; NaN before the first. */
  lastTokenUs = Number.NaN;

  constructor(request: CallRequest, answer: Answer, delivery: Delivery, arrivedUs: number) {
    this.request = request;
    this.answer = answer;
    this.delivery = delivery;
    this.arrivedUs = arrivedUs;
  }
}
