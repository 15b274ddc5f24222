/**
 * What the head of an HTTP/1.1 response says: its status, its headers, and where its body ends (RFC 9112, 6.3). Two who
 * read one head differently are how a response is smuggled to the wrong caller, so whatever may be read in two ways is
 * refused: a length beside a transfer coding, more than one length, a coding other than `chunked`, a line that ends in a
 * bare LF, a value that goes on in the next line, a space before a colon.
 */

export type Framing =
  /** `lengthBytes` of it, which may be none. */
  | "length"
  | "chunked"
  /** All until the connection ends. */
  | "close";

const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/;
/** As far as they are well-formed. One run over all of them, in compiled code, costs less than a look at each byte. */
const FIELDS = /(?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*/y;
const LENGTH = /^\d+$/;
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/** @returns whether `text` is nothing but whole and well-formed header lines from `from` to `to`. */
export function areFields(text: string, from: number, to: number): boolean {
  FIELDS.lastIndex = from;
  FIELDS.test(text);
  return FIELDS.lastIndex === to;
}

export class H1Head {
  /** 0: its line has not come. */
  status = 0;
  /** Names and values in turn, as they came, without the white space around a value. */
  rawHeaders: string[] = [];
  framing: Framing = "close";
  lengthBytes = 0;
  /** The connection may carry another request when this response has ended well. */
  keepsAlive = false;
  /** Value of `Keep-Alive`. */
  keepAlive: string | undefined;
  #isHttp10 = false;
  /** All of it, behind a comma. */
  #connection = "";
  #length: string | undefined;
  #coding: string | undefined;

  begin(): void {
    this.status = 0;
    this.rawHeaders = [];
    this.keepAlive = undefined;
    this.#connection = "";
    this.#length = undefined;
    this.#coding = undefined;
  }

  /**
   * @param text whole lines, as in a `LineBlock`. @param isWhole with the empty line at its end.
   * @returns what is wrong with them.
   */
  read(text: string, isWhole: boolean): string | undefined {
    let from = 0;
    if (this.status === 0) {
      if (!STATUS_LINE.test(text)) return "no status line of HTTP/1.1";
      this.#isHttp10 = text[7] === "0";
      this.status = Number(text.slice(9, 12));
      from = text.indexOf("\n") + 1;
    }
    const to = isWhole ? text.length - 2 : text.length;
    if (!areFields(text, from, to)) return "a malformed header";
    return this.#readFields(text, from, to) ?? (isWhole ? this.#frame() : undefined);
  }

  #readFields(text: string, from: number, to: number): string | undefined {
    for (let at = from; at < to; ) {
      const colon = text.indexOf(":", at);
      const lineEnd = text.indexOf("\r", colon);
      let start = colon + 1;
      while (isBlank(text.charCodeAt(start))) start += 1;
      let end = lineEnd;
      while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
      const name = text.slice(at, colon);
      const value = text.slice(start, end);
      this.rawHeaders.push(name, value);
      const wrong = this.#note(name, value);
      if (wrong !== undefined) return wrong;
      at = lineEnd + 2;
    }
    return undefined;
  }

  /** Of the headers that concern the connection. By length first: most are none of them. */
  #note(name: string, value: string): string | undefined {
    switch (name.length) {
      case 10:
        if (isNamed(name, "connection")) this.#connection += `,${value}`;
        else if (isNamed(name, "keep-alive")) this.keepAlive = value;
        return undefined;
      case 14:
        if (!isNamed(name, "content-length")) return undefined;
        if (this.#length !== undefined) return "more than one Content-Length";
        this.#length = value;
        return undefined;
      case 17:
        if (!isNamed(name, "transfer-encoding")) return undefined;
        if (this.#coding !== undefined) return "more than one Transfer-Encoding";
        this.#coding = value;
        return undefined;
      default:
        return undefined;
    }
  }

  #frame(): string | undefined {
    const { status } = this;
    const length = this.#length;
    const coding = this.#coding;
    if (status === 101) return "a change of protocol that nobody asked for";
    if (length !== undefined && coding !== undefined) return "both a length and a transfer coding";
    if (length !== undefined && !(LENGTH.test(length) && Number.isSafeInteger(Number(length)))) {
      return "a Content-Length that is no number of bytes";
    }
    if (coding !== undefined && !isNamed(coding, "chunked")) return "an unknown transfer coding";
    const isBodiless = status < 200 || status === 204 || status === 304;
    this.framing = framingOf(isBodiless, coding, length);
    this.lengthBytes = isBodiless ? 0 : Number(length ?? 0);
    this.keepsAlive = this.framing !== "close" && this.#saysToKeep();
    return undefined;
  }

  #saysToKeep(): boolean {
    if (CLOSE.test(this.#connection)) return false;
    // HTTP/1.0 knows no chunks: somebody on the way may not have seen where the body ends (RFC 9112, 6.1).
    return !this.#isHttp10 || (KEEP_ALIVE.test(this.#connection) && this.framing !== "chunked");
  }
}

function framingOf(isBodiless: boolean, coding?: string, length?: string): Framing {
  if (isBodiless) return "length";
  if (coding !== undefined) return "chunked";
  return length === undefined ? "close" : "length";
}

/** @param wanted of the same length. Most spell it one way, so that nothing is made of it. */
function isNamed(name: string, wanted: string): boolean {
  return name === wanted || name.toLowerCase() === wanted;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
