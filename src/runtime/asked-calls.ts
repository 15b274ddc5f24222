/**
 * Model calls of a turn by what their requests say of them, so that a `fetch` that only sees the request finds the span
 * that is already there and does not record the same call a second time.
 */
import { NO_SPAN, type OpenSpan } from "../trace/index.ts";

/** Requests that may be under way at once; the oldest are forgotten, and recorded by the `fetch` alone. */
const CALLS_MAX = 64;

export class AskedCalls {
  readonly #byTraceparent = new Map<string, OpenSpan>();

  put(traceparent: string, span: OpenSpan): void {
    if (span === NO_SPAN) return;
    this.#byTraceparent.set(traceparent, span);
    if (this.#byTraceparent.size <= CALLS_MAX) return;
    for (const oldest of this.#byTraceparent.keys()) {
      this.#byTraceparent.delete(oldest);
      return;
    }
  }

  find(traceparent: string | null): OpenSpan | undefined {
    return traceparent === null ? undefined : this.#byTraceparent.get(traceparent);
  }
}
