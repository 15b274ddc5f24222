/** An event stream in a wire format that can be decoded: whether it was whole, how it gets on, and its times. */
import type { Completion } from "../completion.ts";
import type { EventListener } from "../event-sink.ts";
import type { Said } from "../frame-template.ts";
import { isThinkingAfter } from "../live-progress.ts";
import { createDecoder, type DecodableFormat } from "../stream-decoder.ts";
import {
  isOutput,
  isProgress,
  isVisible,
  type StreamEvent,
  type UpstreamError,
} from "../stream-event.ts";
import { type StreamMetrics, StreamTimeline } from "../timeline.ts";
import type { TokenUsage } from "../token-usage.ts";
import type { BodyObserver, Ending } from "./body-observer.ts";
import type { Transcript } from "./transcript.ts";

/** A decoder, or what decodes on the way to something else. */
export interface EventSource {
  push(bytes: Uint8Array, atUs: number): readonly StreamEvent[];
  end(atUs: number): readonly StreamEvent[];
  readonly completion: Completion;
}

/** Bounds memory, and the work at the end of a stream: about an hour of tokens at 30 a second. */
const SAMPLES_MAX = 100_000;

/** It listens to its own decoder, which calls `event` and `said`; another source gives lists of events. */
export class StreamObserver implements BodyObserver, EventListener {
  #source: EventSource;
  readonly #timeline: StreamTimeline;
  #ending: Ending | undefined;
  /** Of what has ended, made once. */
  #completion: Completion | undefined;
  /** The model has put something out, or said that it will not: there is something to deliver. */
  hasContent = false;
  /** Of the last read, as are the next two. */
  hasProgress = false;
  hasOutput = false;
  /** Output that a user can see. */
  hasVisible = false;
  isThinking = true;
  error: UpstreamError | undefined;
  readonly transcript: Transcript | undefined;
  /** First output of the model, on the same clock as the rest. */
  firstOutputUs: number | undefined;

  /**
   * @param intendedUs when the request came; the clock of every instant here stands still while the client holds up.
   * @param transcript what was said, where it may have to be gone on with.
   */
  constructor(source: EventSource | DecodableFormat, intendedUs: number, transcript?: Transcript) {
    this.transcript = transcript;
    // What is said is made into a text only where somebody keeps it.
    const listening = transcript === undefined ? { listener: this } : {};
    this.#source = typeof source === "string" ? createDecoder(source, listening) : source;
    this.#timeline = new StreamTimeline({
      intendedUs,
      chunksKeptMax: SAMPLES_MAX,
      itlSamplesMax: SAMPLES_MAX,
    });
  }

  /** What it has seen broke off; its times and counts go on with another source, for the caller's one stream. */
  goOn(source: EventSource): void {
    this.#source = source;
    this.#ending = undefined;
    this.#completion = undefined;
    this.hasContent = false;
    this.error = undefined;
  }

  push(bytes: Uint8Array, nowUs: number): void {
    this.hasProgress = false;
    this.hasOutput = false;
    this.hasVisible = false;
    if (this.#ending !== undefined) return;
    try {
      for (const event of this.#source.push(bytes, nowUs)) this.event(event);
    } catch {
      // A decoder does not throw; if one does, it must not take the stream with it.
      this.#ending = "unknown";
      this.hasContent = true;
    }
  }

  event(event: StreamEvent): void {
    this.#timeline.addEvent(event);
    this.transcript?.note(event);
    if (!isProgress(event)) return;
    this.hasProgress = true;
    if (event.type === "error") {
      this.error ??= event;
      return;
    }
    this.isThinking = isThinkingAfter(event, this.isThinking);
    if (isOutput(event)) this.#putOut(event.atUs, isVisible(event));
    else if (event.type === "finish" || event.type === "done") this.hasContent = true;
  }

  said(type: Said, units: number, frame: number, atUs: number): void {
    this.#timeline.addSaid(type, units, frame, atUs);
    this.hasProgress = true;
    this.isThinking = type === "reasoning-delta";
    this.#putOut(atUs, type === "text-delta");
  }

  #putOut(atUs: number, isVisible: boolean): void {
    this.firstOutputUs ??= atUs;
    this.hasOutput = true;
    this.hasContent = true;
    if (isVisible) this.hasVisible = true;
  }

  end(nowUs: number): Ending {
    if (this.#ending === undefined) {
      for (const event of this.#source.end(nowUs)) this.event(event);
      this.#timeline.end(nowUs);
      this.#completion = this.#source.completion;
      this.#ending = endingOf(this.#completion);
    }
    return this.#ending;
  }

  get metrics(): StreamMetrics {
    return this.#timeline.metrics();
  }

  /** What has been read says that it is whole, whether or not its bytes have ended. */
  get isWhole(): boolean {
    return this.completion.state === "complete";
  }

  get completion(): Completion {
    return this.#completion ?? this.#source.completion;
  }

  get usage(): TokenUsage {
    return this.completion.usage;
  }

  /** Frames that could not be read; an early end is none. */
  get faults(): number {
    const { faults, state } = this.completion;
    return state === "incomplete" ? faults - 1 : faults;
  }
}

function endingOf({ state, terminalMissing }: Completion): Ending {
  if (state === "open") return "unknown";
  return state === "complete" && terminalMissing ? "terminal_missing" : state;
}
