/**
 * A JSON body: one without length and chunks is ended by the end of the connection, and was whole if it parses. And one that
 * came with 200 may still say that the call has failed.
 */
import type { BodyObserver, Ending } from "../stream/index.ts";

/** A larger answer is forwarded unread. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

export class JsonObserver implements BodyObserver {
  readonly #isUnsized: boolean;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(isUnsized: boolean) {
    this.#isUnsized = isUnsized;
  }

  push(bytes: Buffer): void {
    if (!this.#isUnsized) return;
    this.#bytes += bytes.length;
    if (this.#bytes > KEPT_BYTES_MAX) this.#parts = [];
    else this.#parts.push(bytes);
  }

  end(): Ending {
    // The transport knows better.
    if (!this.#isUnsized) return "unknown";
    if (this.#bytes > KEPT_BYTES_MAX) return "unknown";
    try {
      JSON.parse(Buffer.concat(this.#parts).toString("utf8"));
      return "complete";
    } catch {
      return "incomplete";
    }
  }
}
