/** What is written on a model call's span while its stream arrives: first and last output, stalls, tokens, finish reason. */
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

export interface StallRule {
  /** The least gap between two outputs that is a stall, from the gaps so far. */
  readonly stallAboveUs: (gapsUs: readonly number[]) => number;
  /** No gap up to this is a stall, so that the rule need not be asked for each. Default 0. */
  readonly floorUs?: number;
  /** Somebody asks for each chunk, and says so by `asked`. Default: they come by themselves. */
  readonly isPulled?: boolean;
}

/** For the limit of a stall; later gaps do not change it. */
const GAPS_KEPT_MAX = 1_000;
/** Pairs of events; the span's own limit comes on top. */
const STALLS_MAX = 20;

/** For whoever gets a stream piece by piece; `observeStream` does it for one that can be iterated. Ends no span. */
export class StreamWatch {
  readonly #span: OpenSpan;
  readonly #stallAboveUs: StallRule["stallAboveUs"];
  readonly #floorUs: number;
  readonly #isPulled: boolean;
  readonly #gapsUs: number[] = [];
  #lastUs: number | undefined;
  #askedUs = 0;
  /** Since the last output. */
  #isAsked = false;
  #isSeen = false;
  #stalls = 0;
  #tokens: number | undefined;
  #finishReason: string | undefined;

  constructor(span: OpenSpan, { stallAboveUs, floorUs = 0, isPulled = false }: StallRule) {
    this.#span = span;
    this.#stallAboveUs = stallAboveUs;
    this.#floorUs = floorUs;
    this.#isPulled = isPulled;
  }

  chunk(facts: ChunkFacts, nowUs: number): void {
    if (facts.tokens !== undefined) this.#tokens = (this.#tokens ?? 0) + facts.tokens;
    this.#finishReason = facts.finishReason ?? this.#finishReason;
    if (!facts.isOutput) return;
    if (this.#lastUs === undefined) this.#span.event(EVENT.outputStart, nowUs);
    else this.#gap(Math.max(this.#lastUs, this.#askedUs), nowUs);
    this.#lastUs = nowUs;
    this.#isAsked = false;
    if (!this.#isSeen && (facts.isVisible ?? true)) {
      this.#isSeen = true;
      this.#span.event(EVENT.outputVisible, nowUs);
    }
  }

  /** The consumer wants the next chunk: a wait from here on is the source's, one before was the consumer's own. */
  asked(nowUs: number): void {
    if (!this.#isAsked) this.#askedUs = nowUs;
    this.#isAsked = true;
  }

  #gap(fromUs: number, nowUs: number): void {
    const gapUs = nowUs - fromUs;
    const mayStall = gapUs > this.#floorUs && this.#stalls < STALLS_MAX;
    if (mayStall && gapUs > this.#stallAboveUs(this.#gapsUs)) {
      this.#stalls += 1;
      this.#span.event(EVENT.stallStart, fromUs);
      this.#span.event(EVENT.stallEnd, nowUs);
    }
    if (this.#gapsUs.length < GAPS_KEPT_MAX) this.#gapsUs.push(gapUs);
  }

  /** The stream is over, however that came about. */
  close(nowUs: number): void {
    if (this.#lastUs !== undefined) this.#close(this.#lastUs, nowUs);
    if (this.#tokens !== undefined) this.#span.set("gen_ai.usage.output_tokens", this.#tokens);
    if (this.#finishReason !== undefined) {
      this.#span.set("gen_ai.response.finish_reasons", [this.#finishReason]);
    }
  }

  #close(lastUs: number, nowUs: number): void {
    this.#span.event(EVENT.outputEnd, lastUs);
    // Whoever has not asked has not waited.
    if (this.#isPulled && !this.#isAsked) return;
    const fromUs = this.#isPulled ? this.#askedUs : lastUs;
    if (nowUs <= fromUs) return;
    this.#span.event(EVENT.tailStart, fromUs);
    this.#span.event(EVENT.tailEnd, nowUs);
  }
}
