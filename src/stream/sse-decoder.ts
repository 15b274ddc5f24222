/** Frames of a server-sent event stream as a list for each read, for whoever wants nothing but them. */
import { FRAME_BYTES_MAX, type FrameListener, SseFrames } from "./sse-frames.ts";

export type SseFrame =
  | { readonly kind: "event"; readonly event: string; readonly data: string }
  | { readonly kind: "comment"; readonly comment: string }
  /** The frame grew over the limit. What was held of it is gone; decoding goes on at the next frame. */
  | { readonly kind: "oversize"; readonly limitBytes: number };

const NO_FRAMES: readonly SseFrame[] = [];

export class SseDecoder {
  readonly #frames: SseFrames;
  readonly #list = new FrameList();

  /** @param frameBytesMax largest frame, and so the most that is held; default 16 MiB. */
  constructor(frameBytesMax: number = FRAME_BYTES_MAX) {
    this.#frames = new SseFrames(frameBytesMax, this.#list);
  }

  /** @param bytes of one read; not kept, the caller may reuse them. @returns frames that this read has completed. */
  push(bytes: Uint8Array): readonly SseFrame[] {
    this.#frames.push(bytes);
    return this.#list.take();
  }

  /** The stream has ended. @returns size of an unfinished frame; it is no event, by the standard. */
  end(): number {
    return this.#frames.end();
  }
}

class FrameList implements FrameListener {
  #frames: SseFrame[] = [];

  skim(_lines: string, at: number): number {
    return at;
  }

  event(event: string, data: string): void {
    this.#frames.push({ kind: "event", event, data });
  }

  comment(comment: string): void {
    this.#frames.push({ kind: "comment", comment });
  }

  oversize(limitBytes: number): void {
    this.#frames.push({ kind: "oversize", limitBytes });
  }

  take(): readonly SseFrame[] {
    if (this.#frames.length === 0) return NO_FRAMES;
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }
}
