/**
 * Whole frames of an event stream: bytes up to and with the empty line that ends a frame are given out, an unfinished frame
 * is kept until the rest of it comes. What is given out is always complete for a client, so that something else can follow
 * it at any time. Nothing is copied in the usual case, a read that ends with a frame.
 *
 * Bounded: an unfinished frame of more than `heldBytesMax` is given out in parts, and `isSpilled` says so until it ends.
 */
const LF = 0x0a;
const CR = 0x0d;
const EMPTY: Buffer = Buffer.alloc(0);

export class FrameSplitter {
  readonly #heldBytesMax: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The newest bytes, as far as they tell whether a line that ends is empty. */
  #tail: Buffer = EMPTY;
  #isSpilled = false;

  constructor(heldBytesMax: number) {
    this.#heldBytesMax = heldBytesMax;
  }

  /** Part of an unfinished frame is out. */
  get isSpilled(): boolean {
    return this.#isSpilled;
  }

  /** @returns all frames that this read has completed, as one piece; empty if there is none. */
  push(chunk: Buffer): Buffer {
    if (chunk.length === 0) return EMPTY;
    const end = frameEnd(this.#tail, chunk);
    this.#tail = lastBytes(this.#tail, chunk);
    if (end === 0) {
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
      if (this.#heldBytes <= this.#heldBytesMax) return EMPTY;
      this.#isSpilled = true;
      return this.take();
    }
    const whole = end === chunk.length ? chunk : chunk.subarray(0, end);
    const out = this.#heldBytes === 0 ? whole : Buffer.concat([...this.#held, whole]);
    this.drop();
    this.#isSpilled = false;
    if (end < chunk.length) {
      this.#held.push(chunk.subarray(end));
      this.#heldBytes = chunk.length - end;
    }
    return out;
  }

  /** @returns the unfinished frame: the stream has ended well, so this was its last. */
  take(): Buffer {
    const held = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.drop();
    return held;
  }

  /** The stream was cut: half a frame is nothing. */
  drop(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }
}

/** @returns each frame of bytes that end with one. */
export function framesOf(frames: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  // Line ends within the frame so far, LF after CR counting with it; two in a row are an empty line.
  let isLineEmpty = false;
  for (let at = 0; at < frames.length; at += 1) {
    const byte = frames[at];
    if (byte !== LF && byte !== CR) {
      isLineEmpty = false;
      continue;
    }
    if (byte === CR && frames[at + 1] === LF) at += 1;
    if (isLineEmpty) {
      parts.push(frames.subarray(start, at + 1));
      start = at + 1;
    }
    isLineEmpty = true;
  }
  if (start < frames.length) parts.push(frames.subarray(start));
  return parts;
}

/** @returns the end of the last empty line in `chunk`, 0 if there is none. @param tail the bytes before it. */
function frameEnd(tail: Buffer, chunk: Buffer): number {
  const byteAt = (at: number): number | undefined => (at < 0 ? tail.at(at) : chunk[at]);
  for (let at = chunk.length - 1; at >= 0; at -= 1) {
    const byte = chunk[at];
    if (byte !== LF && byte !== CR) continue;
    // The line end before this one, if no other byte stands between the two.
    const before = byte === LF && byteAt(at - 1) === CR ? at - 2 : at - 1;
    const ended = byteAt(before);
    if (ended === LF || ended === CR) return at + 1;
  }
  return 0;
}

function lastBytes(tail: Buffer, chunk: Buffer): Buffer {
  const bytes = chunk.length >= 3 ? chunk : Buffer.concat([tail, chunk]);
  return Buffer.from(bytes.subarray(Math.max(0, bytes.length - 3)));
}
