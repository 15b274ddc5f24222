/**
 * Bytes to frames of a server-sent event stream (WHATWG HTML, 9.2.6), the same wherever the bytes are cut: inside a
 * character, between CR and LF, inside a field's name. Frames are told as they are found: a list of objects for each read
 * would cost more than finding them.
 *
 * Invariant: bytes are held back until their line ends, and only whole lines are decoded. CR and LF never occur inside a
 * UTF-8 sequence, so no character is ever decoded in halves, and a lone CR ends a line at once: the LF that may follow it
 * in the next read is dropped then. Each byte is looked at a constant number of times.
 */

export interface FrameListener {
  /**
   * A frame begins, and may be taken by its text alone.
   * @param lines whole lines, each ended by LF. @param at where the frame begins.
   * @returns where the first one begins that was not taken; `at` if none was.
   */
  skim(lines: string, at: number): number;
  /** @param name of the event, "" if it has none. */
  event(name: string, data: string): void;
  comment(comment: string): void;
  /** The frame grew over the limit. What was held of it is gone; reading goes on at the next frame. */
  oversize(limitBytes: number): void;
}

export const FRAME_BYTES_MAX = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = 0xfeff;
/** A larger buffer is given back after use, so that one long line does not stay with an idle stream. */
const HELD_BYTES_KEPT = 64 * 1024;
const KEPT_UNITS_MAX = 4 * 1024;
/** An event's name and number, which some servers write by themselves. */
const BEGUN_UNITS_MAX = 512;
const NO_BYTES = new Uint8Array(0);

/**
 * A mark inside the text is a character like others; only the first of a stream is dropped, by hand. One for all streams,
 * since it keeps nothing from one call to the next.
 */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export class SseFrames {
  readonly #frameBytesMax: number;
  readonly #listener: FrameListener;
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
  /** What is being read, and where the frame at hand begins in it; −1 if that is no longer there. */
  #lines = "";
  #frameStart = -1;
  /** First lines of a frame, as they were read before. */
  #begun = "";

  /** @param frameBytesMax largest frame, and so the most that is held. */
  constructor(frameBytesMax: number, listener: FrameListener) {
    this.#frameBytesMax = frameBytesMax;
    this.#listener = listener;
  }

  /** @param bytes of one read; not kept, the caller may reuse them. */
  push(bytes: Uint8Array): void {
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] !== LF && bytes[end - 1] !== CR) end -= 1;
    // In the usual case a read ends with a line: a view of all of it would be one object more for each.
    if (end === bytes.length) {
      if (end > 0) this.#readLines(this.#decode(bytes));
      return;
    }
    if (end > 0) this.#readLines(this.#decode(bytes.subarray(0, end)));
    this.#hold(bytes.subarray(end));
  }

  /** While the listener is told of an event: the frame's lines, with the empty one; "" if they are no longer there. */
  get frameText(): string {
    if (this.#frameStart < 0) return "";
    const end = this.#lines.indexOf("\n\n", this.#frameStart);
    const text = this.#lines.slice(this.#frameStart, end + 2);
    if (this.#lines.length <= KEPT_UNITS_MAX) return text;
    // Whoever keeps a slice keeps what it was cut from; what is joined is a string of its own.
    return [text.slice(0, 1), text.slice(1)].join("");
  }

  /** The stream has ended. @returns size of an unfinished frame; it is no event, by the standard. */
  end(): number {
    if (this.#isOversize || this.#lineSpilled) return this.#frameBytesMax;
    return this.#heldBytes + this.#frameUnits;
  }

  #decode(bytes: Uint8Array): string {
    if (this.#heldBytes === 0) return utf8.decode(bytes);
    this.#append(bytes);
    const text = utf8.decode(this.#held.subarray(0, this.#heldBytes));
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

  /** @param lines whole, each with its end. */
  #readLines(lines: string): void {
    const text = this.#begun + this.#withLineFeeds(lines);
    let at = this.#begun.length;
    this.#lines = text;
    this.#frameStart = at > 0 || this.#isBetweenFrames ? 0 : -1;
    if (at > 0) at = this.#skimBegun(text, at);
    for (;;) {
      if (at === this.#frameStart) {
        at = this.#listener.skim(text, at);
        this.#frameStart = at;
      }
      if (at >= text.length) break;
      const lineEnd = text.indexOf("\n", at);
      if (this.#lineSpilled) this.#lineSpilled = false;
      else if (lineEnd === at) {
        this.#endFrame();
        this.#frameStart = lineEnd + 1;
      } else if (!this.#isOversize) this.#readLine(text, at, lineEnd);
      at = lineEnd + 1;
    }
    this.#begun = this.#isBegun ? text.slice(this.#frameStart) : "";
    this.#lines = "";
  }

  /** @returns the lines, each ended by LF, without a mark at the very first and without the other half of a CRLF. */
  #withLineFeeds(lines: string): string {
    let at = 0;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (lines.charCodeAt(0) === BYTE_ORDER_MARK) at = 1;
    }
    if (this.#afterCr && lines.charCodeAt(0) === LF) at = 1;
    this.#afterCr = lines.charCodeAt(lines.length - 1) === CR;
    const text = at === 0 ? lines : lines.slice(at);
    return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
  }

  /** The frame whose first lines came in an earlier read: with the rest of them it may be one to be taken as it is. */
  #skimBegun(text: string, at: number): number {
    const end = this.#listener.skim(text, 0);
    if (end === 0) return at;
    this.#dropFrame();
    this.#frameStart = end;
    return end;
  }

  /** Some of the frame at hand is there, all of it in `#lines`, and not so much that joining it again would cost. */
  get #isBegun(): boolean {
    if (this.#frameStart < 0 || this.#frameUnits === 0) return false;
    return this.#lines.length - this.#frameStart <= BEGUN_UNITS_MAX;
  }

  /** No line of a frame is there yet; a comment belongs to none. */
  get #isBetweenFrames(): boolean {
    return this.#frameUnits === 0 && !this.#isOversize && !this.#lineSpilled;
  }

  #readLine(text: string, start: number, end: number): void {
    if (text.charCodeAt(start) === COLON) {
      this.#listener.comment(text.slice(valueStart(text, start + 1, end), end));
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
      this.#listener.event(this.#eventName, data);
    }
    this.#dropFrame();
    this.#isOversize = false;
  }

  #overflow(): void {
    if (this.#isOversize) return;
    this.#dropFrame();
    this.#isOversize = true;
    this.#listener.oversize(this.#frameBytesMax);
  }

  #dropFrame(): void {
    this.#eventName = "";
    this.#data = undefined;
    if (this.#moreData.length > 0) this.#moreData = [];
    this.#frameUnits = 0;
    this.#begun = "";
  }
}

/** Exactly one space after the colon belongs to the syntax. */
function valueStart(text: string, afterColon: number, end: number): number {
  return afterColon < end && text.charCodeAt(afterColon) === SPACE ? afterColon + 1 : afterColon;
}
