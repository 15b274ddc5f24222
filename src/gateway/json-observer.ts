/** A JSON body without length and chunks is ended by the end of the connection: it was whole if it parses. */
import type { BodyObserver, Ending } from "./observer.ts";

/** A larger answer is forwarded unread. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

export class JsonObserver implements BodyObserver {
  #parts: Buffer[] = [];
  #bytes = 0;

  push(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > KEPT_BYTES_MAX) this.#parts = [];
    else this.#parts.push(bytes);
  }

  end(): Ending {
    if (this.#bytes > KEPT_BYTES_MAX) return "unknown";
    try {
      JSON.parse(Buffer.concat(this.#parts).toString("utf8"));
      return "complete";
    } catch {
      return "incomplete";
    }
  }
}
