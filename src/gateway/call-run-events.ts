/** What a `CallRun` tells whoever answers the client. Exactly one of `onEnd` and `onFailure` ends it, unless it is abandoned. */
import type { ManxError } from "../core/index.ts";
import type { CallFailure } from "../policy/index.ts";
import type { Ending, UpstreamError } from "../stream/index.ts";
import type { Reception } from "./reception.ts";

export interface CallRunEvents {
  /** The first attempt is on its way. */
  onSent(nowUs: number): void;
  /** Of the first attempt that has one, be it a refusal. */
  onFirstHead(upstream: string, nowUs: number): void;
  /** The model's first output. */
  onContent(ttftUs: number, isStream: boolean): void;
  /** Of the stream that is delivered. @param atUs on the clock that stands still while the client holds up. */
  onFirstOutput(upstream: string, atUs: number): void;
  /** @param canAppend see `Delivery.head`. @returns nothing; the body follows. */
  onHead(status: number, headers: string[], canAppend: boolean): void;
  onBytes(chunk: Buffer): void;
  onEnd(ending: Ending, last: Buffer | undefined): void;
  onFailure(failure: CallFailure, facts: FailureFacts): void;
}

/** What is known of the way in which a call has failed. */
export interface FailureFacts {
  /** Of the attempt that failed last. */
  readonly fault: ManxError | undefined;
  /** What the upstream said inside an answer that had begun well. */
  readonly inBand: UpstreamError | undefined;
  /** The last refusal, whole. */
  readonly refused: Reception | undefined;
}
