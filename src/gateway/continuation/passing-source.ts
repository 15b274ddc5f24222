/** The bytes of a stream as they came, but in whole frames only, so that another attempt can go on after any of them. */
import {
  type Completion,
  createDecoder,
  type StreamDecoder,
  type StreamEvent,
  type StreamFormat,
} from "../../stream/index.ts";
import { FrameSplitter } from "../frame-splitter.ts";
import type { OutgoingSource } from "../outgoing-source.ts";

const FRAME_BYTES_MAX = 1024 * 1024;
const CREATED = /"created"\s*:\s*(\d{1,12})/;

export class PassingSource implements OutgoingSource {
  readonly #decoder: StreamDecoder;
  readonly #splitter = new FrameSplitter(FRAME_BYTES_MAX);
  #out: Buffer[] = [];
  #hasBegun = false;
  /** Unix time, seconds, as the first frames of a chat have it; 0 if none has. */
  createdS = 0;
  readonly isBroken = false;

  constructor(format: StreamFormat) {
    this.#decoder = createDecoder(format);
  }

  push(bytes: Buffer, atUs: number): readonly StreamEvent[] {
    if (!this.#hasBegun) this.#readCreated(bytes);
    this.#keep(this.#splitter.push(bytes));
    return this.#decoder.push(bytes, atUs);
  }

  end(atUs: number): readonly StreamEvent[] {
    const events = this.#decoder.end(atUs);
    // Of a stream that is not whole half a frame is nothing.
    if (this.completion.state === "incomplete") this.#splitter.drop();
    else this.#keep(this.#splitter.take());
    return events;
  }

  /** Part of a frame that is larger than any is out: nothing can follow it. */
  get isSpilled(): boolean {
    return this.#splitter.isSpilled;
  }

  get completion(): Completion {
    return this.#decoder.completion;
  }

  take(): Buffer {
    const out = this.#out;
    this.#out = [];
    return out.length === 1 ? out[0]! : Buffer.concat(out);
  }

  #keep(frames: Buffer): void {
    if (frames.length > 0) this.#out.push(frames);
  }

  #readCreated(bytes: Buffer): void {
    this.#hasBegun = true;
    this.createdS = Number(CREATED.exec(bytes.toString("latin1"))?.[1] ?? 0);
  }
}
