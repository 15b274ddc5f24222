/**
 * Bytes to frames of a server-sent event stream (WHATWG HTML, 9.2.6), the same wherever the bytes are cut: inside a
 * character, between CR and LF, inside a field's name.
 *
 * Invariant: bytes are held back until their line ends, and only whole lines are decoded. CR and LF never occur inside a
 * UTF-8 sequence, so no character is ever decoded in halves, and a lone CR ends a line at once: the LF that may follow it
 * in the next read is dropped then. Each byte is looked at a constant number of times.
 */

export type SseFrame =
  | { readonly kind: "event"; readonly event: string; readonly data: string }
  | { readonly kind: "comment"; readonly comment: string }
  /** The frame grew over the limit. What was held of it is gone; decoding goes on at the next frame. */
  | { readonly kind: "oversize"; readonly limitBytes: number };

export const FRAME_BYTES_MAX = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = 0xfeff;
/** A larger buffer is given back after use, so that one long line does not stay with an idle stream. */
const HELD_BYTES_KEPT = 64 * 1024;
const NO_BYTES = new Uint8Array(0);
const NO_FRAMES: readonly SseFrame[] = [];

export class SseDecoder {
  readonly #frameBytesMax: number;
  /** A mark inside the text is a character like others; only the first of a stream is dropped, by hand. */
  readonly #utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  #held = NO_BYTES;
  #heldBytes = 0;
  #isFirstLine = true;
  #afterCr = false;
  #eventName = "";
  #data: string | undefined;
  #moreData: string[] = [];
  /** Lines of the frame so far, in UTF-16 units, which are never more than its bytes. */
  #frameUnits = 0;
  #isOversize = false;
  /** The unfinished line was thrown away: its rest is no line of its own. */
  #lineSpilled = false;
  #frames: SseFrame[] = [];

  /** @param frameBytesMax largest frame, and so the most that is held; default 16 MiB. */
  constructor(frameBytesMax: number = FRAME_BYTES_MAX) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** @param bytes of one read; not kept, the caller may reuse them. @returns frames that this read has completed. */
  push(bytes: Uint8Array): readonly SseFrame[] {
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] !== LF && bytes[end - 1] !== CR) end -= 1;
    if (end > 0) this.#readLines(this.#decode(bytes.subarray(0, end)));
    if (end < bytes.length) this.#hold(bytes.subarray(end));
    if (this.#frames.length === 0) return NO_FRAMES;
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }

  /** The stream has ended. @returns size of an unfinished frame; it is no event, by the standard. */
  end(): number {
    if (this.#isOversize || this.#lineSpilled) return this.#frameBytesMax;
    return this.#heldBytes + this.#frameUnits;
  }

  #decode(bytes: Uint8Array): string {
    if (this.#heldBytes === 0) return this.#utf8.decode(bytes);
    this.#append(bytes);
    const text = this.#utf8.decode(this.#held.subarray(0, this.#heldBytes));
    this.#heldBytes = 0;
    if (this.#held.length > HELD_BYTES_KEPT) this.#held = NO_BYTES;
    return text;
  }

  #hold(bytes: Uint8Array): void {
    if (this.#lineSpilled) return;
    if (
      this.#isOversize ||
      this.#frameUnits + this.#heldBytes + bytes.length > this.#frameBytesMax
    ) {
      this.#heldBytes = 0;
      this.#held = NO_BYTES;
      this.#lineSpilled = true;
      this.#overflow();
      return;
    }
    this.#append(bytes);
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#heldBytes + bytes.length;
    if (needed > this.#held.length) {
      const grown = new Uint8Array(Math.max(256, needed, this.#held.length * 2));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes = needed;
  }

  /** @param text whole lines, each with its end. */
  #readLines(lines: string): void {
    let text = lines;
    let at = 0;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) at = 1;
    }
    if (this.#afterCr && text.charCodeAt(0) === LF) at = 1;
    this.#afterCr = false;
    if (text.includes("\r")) {
      this.#afterCr = text.charCodeAt(text.length - 1) === CR;
      text = text.slice(at).replace(/\r\n?/g, "\n");
      at = 0;
    }
    while (at < text.length) {
      const lineEnd = text.indexOf("\n", at);
      if (this.#lineSpilled) this.#lineSpilled = false;
      else if (lineEnd === at) this.#endFrame();
      else if (!this.#isOversize) this.#readLine(text, at, lineEnd);
      at = lineEnd + 1;
    }
  }

  #readLine(text: string, start: number, end: number): void {
    if (text.charCodeAt(start) === COLON) {
      const comment = text.slice(valueStart(text, start + 1, end), end);
      this.#frames.push({ kind: "comment", comment });
      return;
    }
    this.#frameUnits += end - start + 1;
    if (this.#frameUnits > this.#frameBytesMax) this.#overflow();
    else if (text.startsWith("data:", start)) {
      this.#addData(text.slice(valueStart(text, start + 5, end), end));
    } else if (text.startsWith("event:", start)) {
      this.#eventName = text.slice(valueStart(text, start + 6, end), end);
    } else {
      // A field without a colon has an empty value. `id`, `retry` and unknown fields mean nothing here.
      const line = text.slice(start, end);
      if (line === "data") this.#addData("");
      else if (line === "event") this.#eventName = "";
    }
  }

  #addData(value: string): void {
    if (this.#data === undefined) this.#data = value;
    else this.#moreData.push(value);
  }

  #endFrame(): void {
    if (this.#data !== undefined) {
      const data =
        this.#moreData.length === 0 ? this.#data : `${this.#data}\n${this.#moreData.join("\n")}`;
      this.#frames.push({ kind: "event", event: this.#eventName, data });
    }
    this.#dropFrame();
    this.#isOversize = false;
  }

  #overflow(): void {
    if (this.#isOversize) return;
    this.#dropFrame();
    this.#isOversize = true;
    this.#frames.push({ kind: "oversize", limitBytes: this.#frameBytesMax });
  }

  #dropFrame(): void {
    this.#eventName = "";
    this.#data = undefined;
    if (this.#moreData.length > 0) this.#moreData = [];
    this.#frameUnits = 0;
  }
}

/** Exactly one space after the colon belongs to the syntax. */
function valueStart(text: string, afterColon: number, end: number): number {
  return afterColon < end && text.charCodeAt(afterColon) === SPACE ? afterColon + 1 : afterColon;
}
