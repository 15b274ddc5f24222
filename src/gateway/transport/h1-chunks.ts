/**
 * A body in chunks (RFC 9112, 7.1), taken apart: each piece of data is a view into the bytes that were read. Extensions and
 * trailers are checked and dropped; nobody uses them, and all of them are hop-by-hop.
 *
 *     size ──;──► extension
 *      ▲ └───CR──────┴──► size-lf ──► data ──► data-cr ──► data-lf ──┐
 *      │                     └─0─► trailers ──► done                 │
 *      └─────────────────────────────────────────────────────────────┘
 */
import { areFields } from "./h1-head.ts";
import { LineBlock } from "./h1-line-block.ts";

type Stage =
  | "size"
  | "extension"
  | "size-lf"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailers"
  | "done";

/** Enough for every number of bytes that there can be, and for a few zeros. */
const SIZE_DIGITS_MAX = 16;
const EXTENSION_BYTES_MAX = 1_024;
/** `;name`, `;name=value` and `;name="value"`, without any white space. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~\dA-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~\dA-Za-z]+|"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)+$/;

const CR = 13;
const LF = 10;
const SEMICOLON = 59;

/** Value of a hexadecimal digit by its code; −1: it is none. */
const DIGITS = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit += 1) {
  const text = digit.toString(16);
  DIGITS[text.charCodeAt(0)] = digit;
  DIGITS[text.toUpperCase().charCodeAt(0)] = digit;
}

export class H1Chunks {
  readonly #onBytes: (chunk: Buffer) => void;
  readonly #trailers = new LineBlock();
  #stage: Stage = "size";
  #digits = 0;
  /** Of this chunk; in `data`, what is left of it. */
  #sizeBytes = 0;
  #extension = "";
  /** What is wrong with the body; nothing more is read then. */
  wrong: string | undefined;

  constructor(onBytes: (chunk: Buffer) => void) {
    this.#onBytes = onBytes;
  }

  get isDone(): boolean {
    return this.#stage === "done";
  }

  begin(): void {
    this.#trailers.begin();
    this.#beginChunk();
    this.wrong = undefined;
  }

  /** @returns where in `data` the body ends; all of it if the body goes on. */
  feed(data: Buffer, from: number): number {
    let at = from;
    while (at < data.length && this.#stage !== "done" && this.wrong === undefined) {
      if (this.#stage === "data") at = this.#takeData(data, at);
      else if (this.#stage === "trailers") at = this.#takeTrailers(data, at);
      else {
        this.#takeByte(data[at]!);
        at += 1;
      }
    }
    return at;
  }

  #beginChunk(): void {
    this.#stage = "size";
    this.#digits = 0;
    this.#sizeBytes = 0;
    this.#extension = "";
  }

  #takeData(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#sizeBytes);
    this.#sizeBytes -= end - at;
    if (this.#sizeBytes === 0) this.#stage = "data-cr";
    this.#onBytes(data.subarray(at, end));
    return end;
  }

  #takeTrailers(data: Buffer, at: number): number {
    const block = this.#trailers;
    const end = block.read(data, at);
    const { text, isWhole } = block;
    if (block.isTooLong) this.wrong = "trailers beyond measure";
    else if (!areFields(text, 0, isWhole ? text.length - 2 : text.length)) {
      this.wrong = "a malformed trailer";
    } else if (isWhole) this.#stage = "done";
    return end;
  }

  #takeByte(byte: number): void {
    switch (this.#stage) {
      case "size":
        this.#takeDigit(byte);
        break;
      case "extension":
        this.#takeExtension(byte);
        break;
      case "size-lf":
        if (byte !== LF) this.wrong = "a chunk size without an end";
        this.#stage = this.#sizeBytes === 0 ? "trailers" : "data";
        break;
      case "data-cr":
        if (byte !== CR) this.wrong = "a chunk longer than its size";
        this.#stage = "data-lf";
        break;
      default:
        if (byte !== LF) this.wrong = "a chunk without an end";
        this.#beginChunk();
    }
  }

  #takeDigit(byte: number): void {
    const digit = DIGITS[byte]!;
    if (digit >= 0) {
      this.#digits += 1;
      this.#sizeBytes = this.#sizeBytes * 16 + digit;
      if (this.#digits > SIZE_DIGITS_MAX || this.#sizeBytes > Number.MAX_SAFE_INTEGER) {
        this.wrong = "a chunk size beyond measure";
      }
    } else if (this.#digits === 0) this.wrong = "no chunk size";
    else if (byte === CR) this.#stage = "size-lf";
    else if (byte === SEMICOLON) {
      this.#stage = "extension";
      this.#extension = ";";
    } else this.wrong = "no chunk size";
  }

  #takeExtension(byte: number): void {
    if (byte !== CR) {
      this.#extension += String.fromCharCode(byte);
      if (this.#extension.length > EXTENSION_BYTES_MAX)
        this.wrong = "a chunk extension beyond measure";
    } else if (EXTENSIONS.test(this.#extension)) this.#stage = "size-lf";
    else this.wrong = "a malformed chunk extension";
  }
}
