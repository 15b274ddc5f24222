/**
 * A model's stream with its span: whoever consumes it, and however the consumption ends, there is one span, with first and
 * last output, stalls and the tokens so far. It ends when the stream ends, breaks, or is left (casebook TR-05).
 */
import type { Clock } from "../clock/index.ts";
import type { OpenSpan } from "./open-span.ts";
import { type ChunkFacts, StreamWatch } from "./stream-watch.ts";

export interface ObserveOptions<Chunk> {
  /** Default: every chunk is output that a user can see. */
  readonly read?: (chunk: Chunk) => ChunkFacts;
  /** The least gap between two outputs that is a stall, from the gaps so far. Default 1 s. */
  readonly stallAboveUs?: (gapsUs: readonly number[]) => number;
}

const STALL_US = 1_000_000;
const ALL_OUTPUT: ChunkFacts = { isOutput: true };
/**
 * Passes the chunks on as they are and ends `span`: `ok` at the end, `cancelled` if the consumer leaves, `error` if the
 * source throws. To be consumed once; one that nobody consumes stays open and is closed with its turn.
 */
export async function* observeStream<Chunk>(
  span: OpenSpan,
  source: AsyncIterable<Chunk>,
  clock: Clock,
  options: ObserveOptions<Chunk> = {},
): AsyncGenerator<Chunk, void, undefined> {
  const stallAboveUs = options.stallAboveUs ?? (() => STALL_US);
  const watch = new StreamWatch(span, { stallAboveUs, isPulled: true });
  let isLeft = true;
  try {
    for await (const chunk of source) {
      watch.chunk(options.read?.(chunk) ?? ALL_OUTPUT, clock.nowUs());
      yield chunk;
      watch.asked(clock.nowUs());
    }
    isLeft = false;
    watch.close(clock.nowUs());
    span.end("ok");
  } catch (thrown) {
    isLeft = false;
    watch.close(clock.nowUs());
    span.fail(thrown);
    throw thrown;
  } finally {
    // A consumer that breaks out or throws comes by here alone.
    if (isLeft) {
      watch.close(clock.nowUs());
      span.end("cancelled");
    }
  }
}
