/** What a playout has added, and the stalls of the stream as it came and as it was shown. */
import { Histogram, histogramQuantile, type Quantile } from "../../stats/index.ts";
import { type Stalls, StreamTimeline } from "../../stream/index.ts";

export interface PlayoutReport {
  /** Per piece that was shown, in µs. */
  readonly addedDelay: { readonly p50: Quantile; readonly p99: Quantile };
  /** Of the first piece: what was added to TTFVT, in µs. Null before it. */
  readonly firstAddedUs: number | null;
  /** As in the timeline of a stream: a gap above 1 s, or above five times the stream's own median gap. */
  readonly stallsReceived: Stalls;
  readonly stallsShown: Stalls;
}

export class PlayoutWatch {
  readonly #delays = new Histogram();
  readonly #received = new Reads();
  readonly #shown = new Reads();
  #firstAddedUs: number | null = null;

  received(nowUs: number): void {
    this.#received.add(nowUs);
  }

  shown(nowUs: number, delayUs: number): void {
    this.#firstAddedUs ??= delayUs;
    this.#delays.record(delayUs);
    this.#shown.add(nowUs);
  }

  report(): PlayoutReport {
    const at = (q: number): Quantile => histogramQuantile(this.#delays, q);
    return {
      addedDelay: { p50: at(0.5), p99: at(0.99) },
      firstAddedUs: this.#firstAddedUs,
      stallsReceived: this.#received.stalls(),
      stallsShown: this.#shown.stalls(),
    };
  }
}

/** The timeline wants output; which does not matter for its stalls. */
class Reads {
  readonly #timeline = new StreamTimeline({ intendedUs: 0 });
  #frame = 0;

  add(atUs: number): void {
    const frame = this.#frame;
    this.#frame += 1;
    this.#timeline.add([{ type: "text-delta", choice: 0, text: "x", frame, atUs }]);
  }

  stalls(): Stalls {
    return this.#timeline.metrics().stalls;
  }
}
