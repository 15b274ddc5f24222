/**
 * Where the readers of a wire format put their events. It stamps each with the frame at hand and shows it to the
 * completion, so that neither a reader nor a tool-call table has to think of either.
 */
import { CompletionTracker } from "./completion.ts";
import type { StreamEvent, StreamEventBody } from "./stream-event.ts";

const NO_EVENTS: readonly StreamEvent[] = [];

export class EventSink {
  readonly tracker = new CompletionTracker();
  #frame = -1;
  #atUs = 0;
  #events: StreamEvent[] = [];

  /** A frame begins; what is emitted from now on belongs to it. */
  nextFrame(atUs: number): void {
    this.#frame += 1;
    this.#atUs = atUs;
  }

  /** @param body taken over: it is stamped in place, since a copy per token would cost more than the decoding. */
  emit(body: StreamEventBody): void {
    const event = body as Writable<StreamEvent>;
    event.frame = this.#frame;
    event.atUs = this.#atUs;
    this.tracker.add(event);
    this.#events.push(event);
  }

  /** Events not yet taken. */
  get pending(): number {
    return this.#events.length;
  }

  /** The newest event, if exactly one has been emitted since `pending` was `before`. */
  onlySince(before: number): StreamEvent | undefined {
    return this.#events.length === before + 1 ? this.#events[before] : undefined;
  }

  /** What was emitted since the last call. */
  take(): readonly StreamEvent[] {
    if (this.#events.length === 0) return NO_EVENTS;
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };
