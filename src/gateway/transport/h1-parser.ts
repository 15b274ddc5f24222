/**
 * Bytes of HTTP/1.1 responses in, heads and bodies out: incremental, strict and without I/O. Body pieces are views into the
 * bytes that were read, so nothing is copied and whoever keeps one keeps the read's buffer.
 *
 *     idle ──begin──► head ──► length | chunked | close ──► idle
 *                     ▲ └1xx┘
 *
 * Invariant: any way to split the bytes gives the same head, the same body and the same end. For requests other than HEAD
 * and CONNECT, whose responses end elsewhere.
 *
 * Never laxer than llhttp, which a test holds against it; where it is stricter stands in
 * docs/decisions/2026-11-30-own-http1-client.md.
 */
import { H1Chunks } from "./h1-chunks.ts";
import { type Framing, H1Head } from "./h1-head.ts";
import { LineBlock } from "./h1-line-block.ts";

export interface H1ResponseEvents {
  /** The final head. @param rawHeaders names and values in turn. */
  onHead(status: number, rawHeaders: string[]): void;
  /** Never empty. */
  onBytes(chunk: Buffer): void;
  /** The last that the parser does in a `feed`: the next request may begin in here. */
  onEnd(): void;
}

const VERSION = "HTTP/1.";

export class H1Parser {
  readonly #events: H1ResponseEvents;
  readonly #block = new LineBlock();
  readonly #head = new H1Head();
  readonly #chunks: H1Chunks;
  #stage: "idle" | "head" | Framing = "idle";
  #leftBytes = 0;
  /** Of the response that has ended: nothing speaks against another request, neither its head nor bytes after its end. */
  keepsAlive = true;

  constructor(events: H1ResponseEvents) {
    this.#events = events;
    this.#chunks = new H1Chunks((chunk) => events.onBytes(chunk));
  }

  /** Value of `Keep-Alive` in the head. */
  get keepAlive(): string | undefined {
    return this.#head.keepAlive;
  }

  /** A response is due. */
  begin(): void {
    this.#stage = "head";
    this.keepsAlive = false;
    this.#beginHead();
  }

  /** @returns what is wrong with it; nothing may be fed after that. */
  feed(data: Buffer): string | undefined {
    let at = 0;
    while (this.#stage === "head" && at < data.length) {
      at = this.#block.read(data, at);
      const wrong = this.#readHead();
      if (wrong !== undefined) return wrong;
    }
    switch (this.#stage) {
      case "head":
        return undefined;
      case "length":
        this.#feedLength(data, at);
        return undefined;
      case "chunked":
        return this.#feedChunks(data, at);
      case "close":
        if (at < data.length) this.#events.onBytes(at === 0 ? data : data.subarray(at));
        return undefined;
      default:
        return "bytes that nobody asked for";
    }
  }

  /** The connection has ended in good order. @returns whether the response has as well. */
  finish(): boolean {
    if (this.#stage !== "close") return false;
    this.#end(false);
    return true;
  }

  #beginHead(): void {
    this.#block.begin();
    this.#head.begin();
  }

  #readHead(): string | undefined {
    const head = this.#head;
    const { text, isWhole, isTooLong, held } = this.#block;
    if (isTooLong) return "a head beyond measure";
    if (text !== "") {
      const wrong = head.read(text, isWhole);
      if (wrong !== undefined) return wrong;
    } else if (head.status === 0 && !VERSION.startsWith(held!.toString("latin1", 0, 7))) {
      // At once, since whoever speaks something else may wait for our next word.
      return "no HTTP/1.1";
    }
    if (isWhole) this.#endHead();
    return undefined;
  }

  #endHead(): void {
    const { status, rawHeaders, framing, lengthBytes } = this.#head;
    if (status < 200) {
      this.#beginHead();
      return;
    }
    this.#stage = framing;
    this.#leftBytes = lengthBytes;
    if (framing === "chunked") this.#chunks.begin();
    this.#events.onHead(status, rawHeaders);
  }

  #feedLength(data: Buffer, at: number): void {
    const end = Math.min(data.length, at + this.#leftBytes);
    this.#leftBytes -= end - at;
    if (end > at) this.#events.onBytes(data.subarray(at, end));
    if (this.#leftBytes === 0) this.#end(end < data.length);
  }

  #feedChunks(data: Buffer, at: number): string | undefined {
    const chunks = this.#chunks;
    const end = chunks.feed(data, at);
    if (chunks.isDone) this.#end(end < data.length);
    return chunks.wrong;
  }

  /** @param hasMore bytes that belong to no response. */
  #end(hasMore: boolean): void {
    this.#stage = "idle";
    this.keepsAlive = this.#head.keepsAlive && !hasMore;
    this.#events.onEnd();
  }
}
