/**
 * The spans of one step: the pass of the loop, the model's call in it, and its tool calls, each of which comes after what
 * it had to wait for. The call begins with the step, so a step is made before its request is sent; what a stream says is
 * written down as it arrives, what it cost when it has ended.
 */
import {
  type Completion,
  type DecodableFormat,
  isOutput,
  isVisible,
  STALL_MIN_US,
  type StreamEvent,
  stallThresholdUs,
} from "../stream/index.ts";
import { NO_SPAN, type OpenSpan, StreamWatch } from "../trace/index.ts";
import type { ResultStatus } from "./result-text.ts";
import type { StreamVerdict } from "./stream-verdict.ts";

export interface StepTraceOptions {
  /** From 1, within the turn. */
  readonly number: number;
  readonly format: DecodableFormat;
  /** As it is asked for. */
  readonly model?: string | undefined;
  /** When the caller wanted the call; default: now. */
  readonly startUs?: number | undefined;
  /** False: the message is one that somebody else has asked for and read. */
  readonly recordsCall: boolean;
  /** How the message stands. */
  readonly completion: () => Completion;
}

const PROVIDERS: Partial<Record<DecodableFormat, string>> = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  "anthropic-messages": "anthropic",
  gemini: "gcp.gemini",
};

export class StepTrace {
  readonly step: OpenSpan;
  readonly call: OpenSpan;
  readonly #format: DecodableFormat;
  readonly #completion: () => Completion;
  readonly #watch: StreamWatch;
  #isOpen = true;

  private constructor(step: OpenSpan, options: StepTraceOptions) {
    const { format, model, startUs } = options;
    const begin = startUs === undefined ? {} : { startUs };
    this.step = step;
    this.call = options.recordsCall ? step.begin("model-call", model ?? format, begin) : NO_SPAN;
    this.#format = format;
    this.#completion = options.completion;
    this.#watch = new StreamWatch(this.call, {
      stallAboveUs: stallThresholdUs,
      floorUs: STALL_MIN_US,
    });
    const provider = PROVIDERS[format];
    if (provider !== undefined) this.call.set("gen_ai.provider.name", provider);
    if (model !== undefined) this.call.set("gen_ai.request.model", model);
  }

  /** @returns undefined where nothing is recorded. */
  static begin(under: OpenSpan, options: StepTraceOptions): StepTrace | undefined {
    if (under === NO_SPAN) return undefined;
    const { number, startUs } = options;
    const step = under.begin("step", `step ${number}`, startUs === undefined ? {} : { startUs });
    return step === NO_SPAN ? undefined : new StepTrace(step, options);
  }

  /** What each call of the message had to wait for. */
  get after(): readonly OpenSpan[] {
    return this.call === NO_SPAN ? [] : [this.call];
  }

  /** What one read has brought. */
  read(events: readonly StreamEvent[]): void {
    const first = events.find(isOutput);
    if (first === undefined) return;
    this.#watch.chunk({ isOutput: true, isVisible: events.some(isVisible) }, first.atUs);
  }

  /** The message is over, and what it means is known. */
  ended(verdict: StreamVerdict, nowUs: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const completion = this.#completion();
    this.#watch.close(nowUs);
    const { call } = this;
    if (completion.model !== null) call.set("gen_ai.response.model", completion.model);
    if (completion.id !== null) call.set("gen_ai.response.id", completion.id);
    const reason = completion.rawReason ?? completion.reason;
    if (reason !== null) call.set("gen_ai.response.finish_reasons", [reason]);
    this.#usage(completion);
    if (verdict === "cancelled" || verdict === "late" || verdict === "refused")
      call.end("cancelled");
    else if (verdict === "failed" || verdict === "incomplete") {
      call.set("error.type", completion.error?.type ?? verdict);
      call.end("error");
    } else call.end("ok");
  }

  /** A call that was settled without a run: blocked, skipped, unknown, or with arguments that do not fit. */
  neverRan(
    { name, id }: { readonly name: string; readonly id: string },
    status: ResultStatus,
  ): void {
    const { after } = this;
    const span = this.step.begin("tool-call", name || "a call without a name", { after });
    span.set("gen_ai.tool.name", name);
    span.set("gen_ai.tool.call.id", id);
    span.set("error.type", status);
    span.end(status === "cancelled" ? "cancelled" : "error");
  }

  /** Nothing of the step is waited for any more. */
  settled(): void {
    this.step.end("ok");
  }

  #usage({ usage }: Completion): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
    // The convention counts cached tokens in, Anthropic's wire does not.
    const isApart = this.#format === "anthropic-messages";
    const cachedTokens = isApart ? (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) : 0;
    this.#count("input_tokens", inputTokens === null ? null : inputTokens + cachedTokens);
    this.#count("output_tokens", outputTokens);
    this.#count("cache_read.input_tokens", cacheReadTokens);
    this.#count("cache_write.input_tokens", cacheWriteTokens);
    this.#count("reasoning.output_tokens", reasoningTokens);
  }

  #count(name: string, tokens: number | null): void {
    if (tokens !== null) this.call.set(`gen_ai.usage.${name}`, tokens);
  }
}
