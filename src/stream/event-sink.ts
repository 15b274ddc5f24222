/**
 * Where the readers of a wire format put their events. It stamps each with the frame at hand and shows it to the
 * completion, so that neither a reader nor a tool-call table has to think of either.
 */
import { CompletionTracker } from "./completion.ts";
import type { Said } from "./frame-template.ts";
import type { StreamEvent, StreamEventBody } from "./stream-event.ts";

/** For whoever looks at events as they come and keeps none: there is no list of them, and for most not even an event. */
export interface EventListener {
  event(event: StreamEvent): void;
  /** Text or reasoning has been said, in place of its event. @param units of it, at least one: its size in UTF-16. */
  said(type: Said, units: number, frame: number, atUs: number): void;
}

const NO_EVENTS: readonly StreamEvent[] = [];

export class EventSink {
  readonly tracker = new CompletionTracker();
  readonly #listener: EventListener | undefined;
  #frame = -1;
  #atUs = 0;
  #events: StreamEvent[] = [];
  /** Of the frame at hand. */
  #emitted = 0;
  #newest: StreamEvent | undefined;

  /** @param listener takes the events; without one they are there to be taken. */
  constructor(listener: EventListener | undefined) {
    this.#listener = listener;
  }

  /** A frame begins; what is emitted from now on belongs to it. */
  nextFrame(atUs: number): void {
    this.#frame += 1;
    this.#atUs = atUs;
    this.#emitted = 0;
    this.#newest = undefined;
  }

  /** @param body taken over: it is stamped in place, since a copy per token would cost more than the decoding. */
  emit(body: StreamEventBody): void {
    const event = body as Writable<StreamEvent>;
    event.frame = this.#frame;
    event.atUs = this.#atUs;
    this.tracker.add(event);
    this.#emitted += 1;
    this.#newest = event;
    if (this.#listener === undefined) this.#events.push(event);
    else this.#listener.event(event);
  }

  /** In place of an event that says something; only where somebody listens. */
  say(type: Said, units: number): void {
    this.tracker.output(this.#frame);
    this.#listener!.said(type, units, this.#frame, this.#atUs);
  }

  /** What the frame at hand has given, if that is one event. */
  get onlyEvent(): StreamEvent | undefined {
    return this.#emitted === 1 ? this.#newest : undefined;
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
