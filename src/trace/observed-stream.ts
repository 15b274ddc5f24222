/**
 * A model's stream with its span: whoever consumes it, and however the consumption ends, there is one span, with first and
 * last output, stalls and the tokens so far. It ends when the stream ends, breaks, or is left (casebook TR-05).
 */
import type { Clock } from "../clock/index.ts";
import type { OpenSpan } from "./open-span.ts";
import { EVENT } from "./span.ts";

export interface ChunkFacts {
  /** Text, reasoning, a tool call or a refusal; not a role, a comment or usage. */
  readonly isOutput: boolean;
  /** A user can see it. Default: as `isOutput`. */
  readonly isVisible?: boolean;
  /** Output tokens in this chunk, if they are known. */
  readonly tokens?: number;
  readonly finishReason?: string;
}

export interface ObserveOptions<Chunk> {
  /** Default: every chunk is output that a user can see. */
  readonly read?: (chunk: Chunk) => ChunkFacts;
  /** The least gap between two outputs that is a stall, from the gaps so far. Default 1 s. */
  readonly stallAboveUs?: (gapsUs: readonly number[]) => number;
}

const STALL_US = 1_000_000;
const ALL_OUTPUT: ChunkFacts = { isOutput: true };
/** For the limit of a stall; later gaps do not change it. */
const GAPS_KEPT_MAX = 1_000;
/** Pairs of events; the span's own limit comes on top. */
const STALLS_MAX = 20;

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
  const watch = new StreamWatch(span, options.stallAboveUs ?? (() => STALL_US));
  let isLeft = true;
  try {
    for await (const chunk of source) {
      watch.chunk(options.read?.(chunk) ?? ALL_OUTPUT, clock.nowUs());
      yield chunk;
      watch.asked(clock.nowUs());
    }
    isLeft = false;
    watch.close();
    span.end("ok");
  } catch (thrown) {
    isLeft = false;
    watch.close();
    span.fail(thrown);
    throw thrown;
  } finally {
    // A consumer that breaks out or throws comes by here alone.
    if (isLeft) {
      watch.close();
      span.end("cancelled");
    }
  }
}

class StreamWatch {
  readonly #span: OpenSpan;
  readonly #stallAboveUs: (gapsUs: readonly number[]) => number;
  readonly #gapsUs: number[] = [];
  #lastUs: number | undefined;
  #askedUs = 0;
  #isSeen = false;
  #stalls = 0;
  #tokens: number | undefined;
  #finishReason: string | undefined;

  constructor(span: OpenSpan, stallAboveUs: (gapsUs: readonly number[]) => number) {
    this.#span = span;
    this.#stallAboveUs = stallAboveUs;
  }

  chunk(facts: ChunkFacts, nowUs: number): void {
    if (facts.tokens !== undefined) this.#tokens = (this.#tokens ?? 0) + facts.tokens;
    this.#finishReason = facts.finishReason ?? this.#finishReason;
    if (!facts.isOutput) return;
    if (this.#lastUs === undefined) this.#span.event(EVENT.outputStart, nowUs);
    else this.#gap(Math.max(this.#lastUs, this.#askedUs), nowUs);
    this.#lastUs = nowUs;
    if (!this.#isSeen && (facts.isVisible ?? true)) {
      this.#isSeen = true;
      this.#span.event(EVENT.outputVisible, nowUs);
    }
  }

  /** The consumer wants the next chunk: a wait from here on is the source's, one before was the consumer's own. */
  asked(nowUs: number): void {
    this.#askedUs = nowUs;
  }

  #gap(fromUs: number, nowUs: number): void {
    const gapUs = nowUs - fromUs;
    if (gapUs > this.#stallAboveUs(this.#gapsUs) && this.#stalls < STALLS_MAX) {
      this.#stalls += 1;
      this.#span.event(EVENT.stallStart, fromUs);
      this.#span.event(EVENT.stallEnd, nowUs);
    }
    if (this.#gapsUs.length < GAPS_KEPT_MAX) this.#gapsUs.push(gapUs);
  }

  close(): void {
    if (this.#lastUs !== undefined) this.#span.event(EVENT.outputEnd, this.#lastUs);
    if (this.#tokens !== undefined) this.#span.set("gen_ai.usage.output_tokens", this.#tokens);
    if (this.#finishReason !== undefined) {
      this.#span.set("gen_ai.response.finish_reasons", [this.#finishReason]);
    }
  }
}
