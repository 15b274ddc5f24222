/**
 * The body that the caller reads: the winner's bytes, unchanged and in order, as fast as they are read and no faster. What
 * broke off never ends as if it were whole: an event stream ends with one error event in its own format, and every body that
 * broke off ends in an error.
 *
 * Of an event stream whole lines go on; half a line waits for its rest, so that an error event can follow cleanly.
 */
import { Fifo } from "../../core/index.ts";
import { LineGate } from "../../stream/index.ts";

const COLON = 0x3a;

export interface BodyEvents {
  /** The caller waits for more. */
  onWanted(): void;
  /** It does not want the rest. */
  onCancelled(reason: unknown): void;
}

export class AnswerBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #gate: LineGate<Uint8Array> | undefined;
  #queue = new Fifo<Uint8Array>();
  /** The newest part that is more than a comment or the empty line behind an event. */
  #said: Uint8Array | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #end: { readonly error?: unknown } | undefined;
  #isClosed = false;
  isWanted = false;

  constructor(isEventStream: boolean, events: BodyEvents) {
    this.#gate = isEventStream ? new LineGate() : undefined;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.isWanted = true;
          this.#flush();
          if (this.isWanted && !this.#isClosed) events.onWanted();
        },
        cancel: (reason) => {
          this.#isClosed = true;
          this.#queue = new Fifo();
          events.onCancelled(reason);
        },
      },
      // Nothing is asked for that the caller has not asked for.
      { highWaterMark: 0 },
    );
  }

  push(chunk: Uint8Array): void {
    if (this.#gate === undefined) this.#queue.push(chunk);
    else this.#gate.push(chunk, this.#keep);
    this.#flush();
  }

  /** The answer is whole. */
  end(): void {
    if (this.#end !== undefined) return;
    this.#gate?.flush(this.#keep);
    this.#end = {};
    this.#flush();
  }

  /** @param frame an event that tells of the error, from the last bytes before it; undefined for none. */
  fail(error: unknown, frame?: (said: Uint8Array | undefined) => Uint8Array): void {
    if (this.#end !== undefined) return;
    // The half line of a stream that was cut is nothing.
    this.#gate?.drop();
    if (frame !== undefined && this.#gate?.atLineEnd === true) this.#queue.push(frame(this.#said));
    this.#end = { error };
    this.#flush();
  }

  readonly #keep = (part: Uint8Array): void => {
    this.#queue.push(part);
    if (part.length > 4 && part[0] !== COLON) this.#said = part;
  };

  #flush(): void {
    const controller = this.#controller!;
    while (this.isWanted && !this.#isClosed && this.#queue.size > 0) {
      const part = this.#queue.shift()!;
      // Before it is handed on: the caller may ask for the next one from within.
      this.isWanted = false;
      controller.enqueue(part);
    }
    if (this.#end === undefined || this.#isClosed || this.#queue.size > 0) return;
    this.#isClosed = true;
    if ("error" in this.#end) controller.error(this.#end.error);
    else controller.close();
  }
}
