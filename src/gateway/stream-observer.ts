/** An event stream in a wire format that can be decoded: whether it was whole, and its times. */
import {
  createDecoder,
  type StreamDecoder,
  type StreamFormat,
  type StreamMetrics,
  StreamTimeline,
} from "../stream/index.ts";
import type { BodyObserver, Ending } from "./observer.ts";

/** Bounds memory, and the work at the end of a stream: about an hour of tokens at 30 a second. */
const SAMPLES_MAX = 100_000;

export class StreamObserver implements BodyObserver {
  readonly #decoder: StreamDecoder;
  readonly #timeline: StreamTimeline;
  #ending: Ending | undefined;

  /** @param intendedUs when the request came; the clock of every instant here stands still while the client holds up. */
  constructor(format: StreamFormat, intendedUs: number) {
    this.#decoder = createDecoder(format);
    this.#timeline = new StreamTimeline({
      intendedUs,
      chunksKeptMax: SAMPLES_MAX,
      itlSamplesMax: SAMPLES_MAX,
    });
  }

  push(bytes: Buffer, nowUs: number): void {
    if (this.#ending !== undefined) return;
    try {
      this.#timeline.add(this.#decoder.push(bytes, nowUs));
    } catch {
      // A decoder does not throw; if one does, it must not take the stream with it.
      this.#ending = "unknown";
    }
  }

  end(nowUs: number): Ending {
    if (this.#ending === undefined) {
      this.#timeline.add(this.#decoder.end(nowUs));
      this.#timeline.end(nowUs);
      this.#ending = this.#readEnding();
    }
    return this.#ending;
  }

  get metrics(): StreamMetrics {
    return this.#timeline.metrics();
  }

  /** Frames that could not be read; an early end is none. */
  get faults(): number {
    const { faults, state } = this.#decoder.completion;
    return state === "incomplete" ? faults - 1 : faults;
  }

  #readEnding(): Ending {
    const { state, terminalMissing } = this.#decoder.completion;
    if (state === "open") return "unknown";
    return state === "complete" && terminalMissing ? "terminal_missing" : state;
  }
}
