/**
 * Whether a JSON body that is not held to its end is whole. One without length and chunks is ended by the end of the
 * connection; and one that is framed well may still stop in the middle of its text.
 *
 * Bounded: up to `readAbove` bytes are kept, which whoever holds the body keeps as well; of what is beyond, none.
 */
import { type BodyObserver, type Ending, JsonEndCheck } from "../stream/index.ts";

export interface JsonObserverOptions {
  /** Neither a length nor chunks. */
  readonly isUnsized: boolean;
  /** Bytes up to which whoever holds the body looks at it himself. */
  readonly readAbove: number;
}

export class JsonObserver implements BodyObserver {
  readonly #options: JsonObserverOptions;
  #parts: Buffer[] = [];
  #bytes = 0;
  #check: JsonEndCheck | undefined;

  constructor(options: JsonObserverOptions) {
    this.#options = options;
  }

  push(bytes: Buffer): void {
    if (this.#check !== undefined) {
      this.#check.push(bytes);
      return;
    }
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#options.readAbove) return;
    this.#check = new JsonEndCheck();
    for (const part of this.#parts) this.#check.push(part);
    this.#parts = [];
  }

  end(): Ending {
    const { isUnsized } = this.#options;
    if (this.#check?.isCutShort === true) return "incomplete";
    // The transport knows better.
    if (!isUnsized) return "unknown";
    if (this.#check !== undefined) return "complete";
    try {
      JSON.parse(Buffer.concat(this.#parts).toString("utf8"));
      return "complete";
    } catch {
      return "incomplete";
    }
  }
}
