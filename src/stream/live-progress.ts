/**
 * Two clocks over a running stream: a ping proves that the connection lives, only progress proves that the model works
 * (casebook GW-09). Which events are progress is `isProgress`; silence is judged by what the stream was last doing, since
 * a model may rightly think for minutes but not stop in the middle of a sentence.
 */
import { isProgress, type StreamEvent } from "./stream-event.ts";

export interface SilenceLimits {
  /** Without any byte. */
  readonly bytesUs: number;
  /** Without progress in text or a tool call. */
  readonly progressUs: number;
  /** Without progress before the first output and while reasoning. */
  readonly thinkingUs: number;
}

export interface Silence {
  /** When the first limit will be reached, if nothing happens before. */
  readonly dueUs: number;
  readonly reason: "no_bytes" | "no_progress";
}

export class LiveProgress {
  #lastByteUs: number;
  #lastProgressUs: number;
  #isThinking = true;

  /** @param startUs when the head of the response came. */
  constructor(startUs: number) {
    this.#lastByteUs = startUs;
    this.#lastProgressUs = startUs;
  }

  get lastByteUs(): number {
    return this.#lastByteUs;
  }

  get lastProgressUs(): number {
    return this.#lastProgressUs;
  }

  /** Before the first output, or reasoning. */
  get isThinking(): boolean {
    return this.#isThinking;
  }

  /** A read, whatever was in it; then the events that it completed. */
  read(events: readonly StreamEvent[], atUs: number): void {
    this.#lastByteUs = atUs;
    for (const event of events) {
      if (!isProgress(event)) continue;
      this.#lastProgressUs = atUs;
      this.#isThinking = isThinkingAfter(event, this.#isThinking);
    }
  }

  /**
   * The client was not reading: for that time neither byte nor progress could come through, and it is not the model's.
   * @param heldUs how long, up to now.
   */
  excuse(heldUs: number): void {
    this.#lastByteUs += heldUs;
    this.#lastProgressUs += heldUs;
  }

  nextSilence(limits: SilenceLimits): Silence {
    const bytesDueUs = this.#lastByteUs + limits.bytesUs;
    const limitUs = this.#isThinking ? limits.thinkingUs : limits.progressUs;
    const progressDueUs = this.#lastProgressUs + limitUs;
    return bytesDueUs <= progressDueUs
      ? { dueUs: bytesDueUs, reason: "no_bytes" }
      : { dueUs: progressDueUs, reason: "no_progress" };
  }
}

/** Whether the model reasons once `event` has come, which is progress. @param wasThinking true before the first output. */
export function isThinkingAfter(event: StreamEvent, wasThinking: boolean): boolean {
  switch (event.type) {
    case "reasoning-delta":
    case "reasoning-signature":
      return true;
    case "block-start":
      return event.kind === "reasoning" || (event.kind === "other" && wasThinking);
    case "unknown":
      return wasThinking;
    default:
      return false;
  }
}
