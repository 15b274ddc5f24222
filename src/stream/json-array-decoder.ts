/**
 * Gemini's two framings of one stream: server-sent events with `alt=sse`, and without it one JSON array whose elements
 * arrive one by one. The first byte that is no blank tells which. Elements come out as events, so that the rest of the
 * decoder sees no difference; the array's own closing bracket is what an SSE stream of this provider does not have.
 *
 * Invariant: bytes are cut at braces only, never inside a character, and each is looked at once.
 */
import { type FrameListener, SseFrames } from "./sse-frames.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BLANKS: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];
/** EF BB BF, which some relays put in front. */
const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf];

export class JsonArrayDecoder {
  readonly #frameBytesMax: number;
  readonly #listener: FrameListener;
  #sse: SseFrames | undefined;
  #isArray = false;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #hasClosed = false;
  /** Pieces of the element at hand. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isOversize = false;

  constructor(frameBytesMax: number, listener: FrameListener) {
    this.#frameBytesMax = frameBytesMax;
    this.#listener = listener;
  }

  push(bytes: Uint8Array): void {
    if (this.#sse === undefined && !this.#isArray) this.#recognise(bytes);
    if (this.#sse !== undefined) this.#sse.push(bytes);
    else if (this.#isArray) this.#elements(bytes);
  }

  /** An element of the array has no lines of its own. */
  get frameText(): string {
    return this.#sse?.frameText ?? "";
  }

  /** @returns size of what is unfinished: an element, or the array itself. */
  end(): number {
    if (this.#sse !== undefined) return this.#sse.end();
    if (!this.#isArray || this.#hasClosed) return 0;
    return Math.max(1, this.#heldBytes);
  }

  #recognise(bytes: Uint8Array): void {
    const first = bytes.find((byte) => !BLANKS.includes(byte) && !BYTE_ORDER_MARK.includes(byte));
    if (first === undefined) return;
    if (first === OPEN_BRACKET) this.#isArray = true;
    else this.#sse = new SseFrames(this.#frameBytesMax, this.#listener);
  }

  #elements(bytes: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (this.#inString) this.#stringByte(byte);
      else if (byte === QUOTE) this.#inString = this.#depth > 0;
      else if (byte === OPEN_BRACE) {
        if (this.#depth === 0) from = at;
        this.#depth += 1;
      } else if (byte === CLOSE_BRACE && this.#depth > 0) {
        this.#depth -= 1;
        if (this.#depth > 0) continue;
        this.#hold(bytes.subarray(from, at + 1));
        this.#tell();
        from = at + 1;
      } else if (byte === CLOSE_BRACKET && this.#depth === 0) this.#hasClosed = true;
    }
    if (this.#depth > 0) this.#hold(bytes.slice(from));
  }

  #stringByte(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  #hold(bytes: Uint8Array): void {
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#frameBytesMax) {
      this.#isOversize = true;
      this.#held = [];
    } else if (!this.#isOversize) this.#held.push(bytes);
  }

  #tell(): void {
    const [held, isOversize] = [this.#held, this.#isOversize];
    const whole = new Uint8Array(isOversize ? 0 : this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    this.#isOversize = false;
    if (isOversize) {
      this.#listener.oversize(this.#frameBytesMax);
      return;
    }
    let at = 0;
    for (const piece of held) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#listener.event("", new TextDecoder().decode(whole));
  }
}
