/**
 * The times of one stream. Two clocks start it: the instant at which the caller wanted to send (`intendedUs`), from which
 * everything counts that a user would feel, and the one at which the request went out (`sentUs`).
 *
 *     intended ··· sent ········ headers ····· first output ── chunk ─gap─ chunk ── … ── last output ··· end
 *        ├──────── TTFB ───────────┤               │                                        │             │
 *        ├──────── TTFT ───────────────────────────┤ <──────── chunk gaps, ITL, TPOT ──────►│             │
 *        ├──────── E2E ───────────────────────────────────────────────────────────────────────────────────┤
 *
 * A chunk is the output events of one wire frame, at the instant of the read that completed it; two in one read have a
 * gap of 0. What is undefined is null, never 0.
 */
import type { Said } from "./frame-template.ts";
import { STALL_MIN_US, type Stalls, stallThresholdUs } from "./stalls.ts";
import { isOutput, isVisible, type StreamEvent } from "./stream-event.ts";
import { spreadTokens } from "./token-spread.ts";
import type { TokenUsage } from "./token-usage.ts";

/** @returns tokens in a piece of output, ≥ 0. */
export type TokenCounter = (text: string) => number;

export interface TimelineOptions {
  readonly intendedUs: number;
  /** Default: characters stand in for tokens when the server's count is spread over the chunks. */
  readonly countTokens?: TokenCounter;
  /** Most chunks whose gaps are kept; further ones count in totals, worst gap and stalls. Default 100,000. */
  readonly chunksKeptMax?: number;
  /** Most ITL samples; a report may claim any number of tokens. Default 1,000,000. */
  readonly itlSamplesMax?: number;
}

/** All times in whole µs; those with a name of their own from the intended start. */
export interface StreamMetrics {
  /** First byte of the response: its head. */
  readonly ttfbUs: number | null;
  /** First output of any kind. */
  readonly ttftUs: number | null;
  /** First output that a user can see. */
  readonly ttfvtUs: number | null;
  /** First output, from the actual sending. */
  readonly serviceTtftUs: number | null;
  readonly lastOutputUs: number | null;
  /** Last byte of the response. */
  readonly e2eUs: number | null;
  /** Between consecutive chunks; one fewer than chunks, up to the limit. */
  readonly chunkGapsUs: readonly number[];
  /** One per token after the first chunk: a chunk of k tokens after a gap g gives k samples that sum to g. */
  readonly itlUs: readonly number[];
  /** (last − first output) / (tokens − tokens of the first chunk); null if all came in one chunk. */
  readonly tpotUs: number | null;
  readonly chunks: number;
  /** Streamed tokens: reasoning that the server counts but does not stream is left out. */
  readonly tokens: number | null;
  readonly tokensSource: "usage" | "tokenizer" | "chunks" | null;
  /** How tokens were shared out to chunks: `usage` if the server counted beside each one. */
  readonly spreadBy: "usage" | "tokenizer" | "characters" | "chunks" | null;
  readonly stalls: Stalls;
  /** Share of gaps below 1 ms; much of it means that something on the way gathers chunks. */
  readonly coalescedShare: number | null;
  /** Chunk gaps and ITL samples beyond the limits. */
  readonly samplesLeftOut: number;
}

const CHUNKS_KEPT_MAX = 100_000;
const ITL_SAMPLES_MAX = 1_000_000;
/** No answer is longer; a larger count is not believed. */
const TOKENS_MAX = 1_000_000_000;
const COALESCED_BELOW_US = 1_000;
const POSITIONS_MAX = 100;
/** Gaps above the least stall that are kept for chunks beyond the limit. */
const LATE_LONG_GAPS_MAX = 1_000;

interface TokenCounts {
  readonly tokens: number;
  readonly source: NonNullable<StreamMetrics["tokensSource"]>;
  readonly spreadBy: NonNullable<StreamMetrics["spreadBy"]>;
  /** One per kept chunk, then one for all others if there are any; null if each chunk has one token, as most have. */
  readonly perChunk: readonly number[] | null;
}

export class StreamTimeline {
  readonly #intendedUs: number;
  readonly #countTokens: TokenCounter | undefined;
  readonly #chunksKeptMax: number;
  readonly #itlSamplesMax: number;
  #sentUs: number | null = null;
  #headersUs: number | null = null;
  #firstUs: number | null = null;
  #firstVisibleUs: number | null = null;
  #lastUs = 0;
  #endUs: number | null = null;
  #chunks = 0;
  #frame = -1;
  /** Of each kept chunk but the first. */
  readonly #gapsUs: number[] = [];
  /** Tokens or characters of each kept chunk. */
  readonly #weights: number[] = [];
  #otherWeight = 0;
  /** The server's count after each chunk, as far as it told. */
  readonly #running: number[] = [];
  #usage: TokenUsage | null = null;
  #usageFrame = -1;
  #hasReasoning = false;
  #worstGapUs = -1;
  #coalesced = 0;
  readonly #lateLongGapsUs: number[] = [];

  constructor(options: TimelineOptions) {
    this.#intendedUs = options.intendedUs;
    this.#countTokens = options.countTokens;
    this.#chunksKeptMax = options.chunksKeptMax ?? CHUNKS_KEPT_MAX;
    this.#itlSamplesMax = options.itlSamplesMax ?? ITL_SAMPLES_MAX;
  }

  /** The request's first byte was handed to an open connection. */
  sent(atUs: number): void {
    this.#sentUs = atUs;
  }

  /** The head of the response has come. */
  headers(atUs: number): void {
    this.#headersUs ??= atUs;
  }

  /** @param events in order, each at the instant of its read; instants never decrease. */
  add(events: readonly StreamEvent[]): void {
    for (const event of events) this.addEvent(event);
  }

  addEvent(event: StreamEvent): void {
    if (event.type === "usage") this.#addUsage(event.usage, event.frame);
    else if (isOutput(event)) {
      if (event.type === "reasoning-delta") this.#hasReasoning = true;
      const isFirstVisible = this.#firstVisibleUs === null && isVisible(event);
      this.#addOutput(event.frame, event.atUs, this.#weightOf(event), isFirstVisible);
    }
  }

  /** In place of an event whose text is not at hand. @param units its size in UTF-16, which stands for its tokens. */
  addSaid(type: Said, units: number, frame: number, atUs: number): void {
    const isText = type === "text-delta";
    if (!isText) this.#hasReasoning = true;
    this.#addOutput(frame, atUs, units, isText && this.#firstVisibleUs === null);
  }

  /** The last byte has come, or the stream was given up. */
  end(atUs: number): void {
    this.#endUs = atUs;
  }

  /** The figures so far; costs time in proportion to chunks and tokens. */
  metrics(): StreamMetrics {
    const counts = this.#tokenCounts();
    const { itlUs, leftOut } = this.#itl(counts);
    const gaps = this.#chunks - 1;
    return {
      ttfbUs: this.#since(this.#headersUs),
      ttftUs: this.#since(this.#firstUs),
      ttfvtUs: this.#since(this.#firstVisibleUs),
      serviceTtftUs:
        this.#firstUs === null || this.#sentUs === null ? null : this.#firstUs - this.#sentUs,
      lastOutputUs: this.#firstUs === null ? null : this.#since(this.#lastUs),
      e2eUs: this.#since(this.#endUs),
      chunkGapsUs: this.#gapsUs.slice(),
      itlUs,
      tpotUs: this.#tpotUs(counts),
      chunks: this.#chunks,
      tokens: counts?.tokens ?? null,
      tokensSource: counts?.source ?? null,
      spreadBy: counts?.spreadBy ?? null,
      stalls: this.#stalls(counts),
      coalescedShare: gaps < 1 ? null : this.#coalesced / gaps,
      samplesLeftOut: leftOut + Math.max(0, gaps - this.#gapsUs.length),
    };
  }

  #since(atUs: number | null): number | null {
    return atUs === null ? null : atUs - this.#intendedUs;
  }

  #addUsage(usage: TokenUsage, frame: number): void {
    this.#usage = usage;
    this.#usageFrame = frame;
    // Beside each chunk, or not at all: a report that skips a chunk cannot tell the chunks' shares.
    const isBesideNewest = frame === this.#frame && this.#running.length === this.#chunks - 1;
    if (isBesideNewest && usage.outputTokens !== null && this.#chunks <= this.#chunksKeptMax) {
      this.#running.push(usage.outputTokens);
    }
  }

  #addOutput(frame: number, atUs: number, weight: number, isFirstVisible: boolean): void {
    if (frame !== this.#frame) this.#addChunk(frame, atUs);
    if (isFirstVisible) this.#firstVisibleUs = atUs;
    if (this.#chunks <= this.#chunksKeptMax) this.#weights[this.#chunks - 1]! += weight;
    else this.#otherWeight += weight;
  }

  #addChunk(frame: number, atUs: number): void {
    this.#frame = frame;
    this.#chunks += 1;
    const isKept = this.#chunks <= this.#chunksKeptMax;
    if (isKept) this.#weights.push(0);
    if (this.#firstUs === null) this.#firstUs = atUs;
    else {
      const gapUs = atUs - this.#lastUs;
      if (gapUs > this.#worstGapUs) this.#worstGapUs = gapUs;
      if (gapUs < COALESCED_BELOW_US) this.#coalesced += 1;
      if (isKept) this.#gapsUs.push(gapUs);
      else if (gapUs > STALL_MIN_US && this.#lateLongGapsUs.length < LATE_LONG_GAPS_MAX) {
        this.#lateLongGapsUs.push(gapUs);
      }
    }
    this.#lastUs = atUs;
  }

  #weightOf(event: StreamEvent): number {
    const text = outputText(event);
    // Redacted reasoning has been thought, however short it looks.
    if (text === "") return 1;
    return this.#countTokens === undefined ? text.length : Math.max(0, this.#countTokens(text));
  }

  #tokenCounts(): TokenCounts | null {
    if (this.#chunks === 0) return null;
    const byTokenizer = this.#countTokens !== undefined;
    const tokens = this.#reportedTokens();
    if (tokens !== null) {
      const exact = this.#runningCounts(tokens);
      if (exact !== null) return { tokens, source: "usage", spreadBy: "usage", perChunk: exact };
      const spreadBy = byTokenizer ? "tokenizer" : "characters";
      return { tokens, source: "usage", spreadBy, perChunk: this.#spread(tokens) };
    }
    if (byTokenizer) {
      const kept = this.#weights.reduce((before, weight) => before + weight, 0);
      const sum = Math.round(kept + this.#otherWeight);
      const perChunk = this.#spread(sum);
      return { tokens: sum, source: "tokenizer", spreadBy: "tokenizer", perChunk };
    }
    const perChunk = this.#onePerChunk();
    return { tokens: this.#chunks, source: "chunks", spreadBy: "chunks", perChunk };
  }

  /** Of chunks that were not kept, whose tokens are counted together. */
  get #others(): number {
    return this.#chunks - this.#weights.length;
  }

  #onePerChunk(): readonly number[] | null {
    if (this.#others === 0) return null;
    return [...this.#weights.map(() => 1), this.#others];
  }

  #spread(tokens: number): readonly number[] | null {
    const weights = this.#weights;
    if (this.#others > 0) return spreadTokens(tokens, [...weights, this.#otherWeight]);
    // As many as there are chunks: each has the one that it is owed.
    return tokens === weights.length ? null : spreadTokens(tokens, weights);
  }

  /** The server's count of what was streamed, if it was given with or after the last chunk: earlier ones are no total. */
  #reportedTokens(): number | null {
    const { outputTokens, reasoningTokens } = this.#usage ?? {};
    if (outputTokens == null || outputTokens > TOKENS_MAX) return null;
    if (this.#usageFrame < this.#frame) return null;
    const hidden = this.#hasReasoning ? 0 : (reasoningTokens ?? 0);
    return outputTokens > hidden ? outputTokens - hidden : null;
  }

  /** Exact counts, if the server told its count beside each of several chunks. */
  #runningCounts(tokens: number): readonly number[] | null {
    const running = this.#running;
    if (running.length !== this.#chunks || running.length < 2) return null;
    const counts = running.map((sum, chunk) => sum - (chunk === 0 ? 0 : running[chunk - 1]!));
    const last = running.at(-1)!;
    if (counts.some((count) => count < 0) || counts[0] === 0 || last !== tokens) return null;
    return counts;
  }

  #tpotUs(counts: TokenCounts | null): number | null {
    if (counts === null || this.#firstUs === null) return null;
    const later = counts.tokens - firstOf(counts);
    return later < 1 ? null : Math.round((this.#lastUs - this.#firstUs) / later);
  }

  #itl(counts: TokenCounts | null): { itlUs: number[]; leftOut: number } {
    if (counts === null) return { itlUs: [], leftOut: 0 };
    const { perChunk } = counts;
    const itlUs =
      perChunk === null
        ? this.#gapsUs.slice(0, this.#itlSamplesMax)
        : sharedGaps(this.#gapsUs, perChunk, this.#itlSamplesMax);
    return { itlUs, leftOut: counts.tokens - firstOf(counts) - itlUs.length };
  }

  #stalls(counts: TokenCounts | null): Stalls {
    const worstGapUs = this.#worstGapUs < 0 ? null : this.#worstGapUs;
    // No threshold is lower: in nearly all streams no gap has to be looked at, and no median to be found.
    if (this.#worstGapUs <= STALL_MIN_US) {
      return { count: 0, stalledUs: 0, worstGapUs, positions: [] };
    }
    const thresholdUs = stallThresholdUs(this.#gapsUs);
    const perChunk = counts?.perChunk ?? null;
    const positions: number[] = [];
    let [count, stalledUs, before] = [0, 0, 0];
    for (const [i, gapUs] of this.#gapsUs.entries()) {
      before += perChunk === null ? 1 : perChunk[i]!;
      if (gapUs <= thresholdUs) continue;
      count += 1;
      stalledUs += gapUs;
      if (positions.length < POSITIONS_MAX) positions.push(before);
    }
    for (const gapUs of this.#lateLongGapsUs) {
      if (gapUs <= thresholdUs) continue;
      count += 1;
      stalledUs += gapUs;
    }
    return { count, stalledUs, worstGapUs, positions };
  }
}

/** Tokens of the first chunk. */
function firstOf({ perChunk }: TokenCounts): number {
  return perChunk === null ? 1 : perChunk[0]!;
}

/** A gap's time, shared by the tokens that came after it in whole µs. */
function sharedGaps(
  gapsUs: readonly number[],
  perChunk: readonly number[],
  samplesMax: number,
): number[] {
  const itlUs: number[] = [];
  let carriedUs = 0;
  for (let i = 0; i < gapsUs.length; i += 1) {
    const tokens = perChunk[i + 1]!;
    carriedUs += gapsUs[i]!;
    // A chunk without a whole token passes its gap on to the next one.
    if (tokens === 0) continue;
    const kept = Math.min(tokens, samplesMax - itlUs.length);
    const base = Math.floor(carriedUs / tokens);
    const larger = carriedUs - base * tokens;
    for (let k = 0; k < kept; k += 1) itlUs.push(k < larger ? base + 1 : base);
    carriedUs = 0;
  }
  return itlUs;
}

function outputText(event: StreamEvent): string {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
    case "refusal-delta":
      return event.text;
    case "tool-start":
      return event.name;
    case "tool-delta":
      return event.json;
    default:
      return "";
  }
}
