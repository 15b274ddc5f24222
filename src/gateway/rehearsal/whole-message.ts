/**
 * Tells where one HTTP/1.1 message ends, between two sides that both keep to what they are given: one message at a time on a
 * connection, by its length or in chunks. Not for messages of strangers.
 */
const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";
const LENGTH = /\r\ncontent-length: *(\d+)/i;

export class WholeMessage {
  #head = "";
  #hasHead = false;
  /** Of the body, still to come; undefined: it comes in chunks. */
  #leftBytes: number | undefined;
  #tail = "";

  /** First line and headers, once they are there. */
  get head(): string {
    return this.#head;
  }

  /** @returns whether the message is whole by now. */
  push(read: Buffer): boolean {
    let body = read;
    if (!this.#hasHead) {
      const at = this.#takeHead(read);
      if (at === undefined) return false;
      body = read.subarray(at);
    }
    if (this.#leftBytes === undefined) {
      const end = body.subarray(Math.max(0, body.length - LAST_CHUNK.length));
      this.#tail = (this.#tail + end.toString("latin1")).slice(-LAST_CHUNK.length);
      return this.#tail === LAST_CHUNK;
    }
    this.#leftBytes -= body.length;
    return this.#leftBytes <= 0;
  }

  /** @returns where the body begins in this read. */
  #takeHead(read: Buffer): number | undefined {
    const before = this.#head.length;
    const text = this.#head + read.toString("latin1");
    const at = text.indexOf(HEAD_END);
    this.#head = at < 0 ? text : text.slice(0, at);
    if (at < 0) return undefined;
    this.#hasHead = true;
    const length = LENGTH.exec(this.#head)?.[1];
    this.#leftBytes = length === undefined ? undefined : Number(length);
    this.#tail = "";
    return at + HEAD_END.length - before;
  }
}
