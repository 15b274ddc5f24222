/**
 * Lets whole lines of an event stream through at once and keeps an unfinished last line back until the rest of it comes.
 * A client can do nothing with half a line; but if the upstream is cut there, an error event can still follow cleanly,
 * where otherwise it would be glued to the half line and read as broken JSON. Nothing is copied or changed: in the usual
 * case (a read that ends with a line end) the chunk goes through as it is.
 *
 * Bounded: a line longer than HELD_BYTES_MAX is let through in parts.
 */
const HELD_BYTES_MAX = 256 * 1024;
const LF = 0x0a;
const CR = 0x0d;

export class LineGate<Bytes extends Uint8Array> {
  #held: Bytes[] = [];
  #heldBytes = 0;

  #spilled = false;

  /** False while part of an over-long line is out: nothing can be appended after that. */
  get atLineEnd(): boolean {
    return !this.#spilled;
  }

  /** Calls `out` with what may go on, in order, zero to many times. */
  push(chunk: Bytes, out: (part: Bytes) => void): void {
    const last = chunk[chunk.length - 1];
    if (last === undefined) return;
    if (last === LF || last === CR) {
      this.flush(out);
      this.#spilled = false;
      out(chunk);
      return;
    }
    const lineEnd = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1;
    if (lineEnd > 0) {
      this.flush(out);
      this.#spilled = false;
      out(chunk.subarray(0, lineEnd) as Bytes);
    }
    const rest = lineEnd > 0 ? (chunk.subarray(lineEnd) as Bytes) : chunk;
    this.#held.push(rest);
    this.#heldBytes += rest.length;
    if (this.#heldBytes > HELD_BYTES_MAX) {
      this.flush(out);
      this.#spilled = true;
    }
  }

  /** The stream has ended well: what is left was its last line. */
  flush(out: (part: Bytes) => void): void {
    if (this.#heldBytes === 0) return;
    const held = this.#held;
    this.drop();
    for (const part of held) out(part);
  }

  /** The stream was cut: the half line is nothing. */
  drop(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }
}
