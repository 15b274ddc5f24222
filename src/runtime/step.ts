/** One message of the model within a turn: its bytes or chunks in, the results of its calls out. */
import type { Clock } from "../clock/index.ts";
import {
  type Completion,
  createDecoder,
  type DecodableFormat,
  type DecoderOptions,
  type StreamDecoder,
  type StreamEvent,
} from "../stream/index.ts";
import { NO_SPAN, type OpenSpan } from "../trace/index.ts";
import { AssistantMessage } from "./assistant-message.ts";
import type { DispatchScope } from "./dispatch-scope.ts";
import { Dispatcher } from "./dispatcher.ts";
import { StepTrace } from "./step-trace.ts";
import { type StreamVerdict, verdictOf } from "./stream-verdict.ts";
import type { TimeSpan } from "./time-span.ts";
import { resultMessages, type ToolResult } from "./tool-result.ts";

const UTF8 = new TextEncoder();

export interface StepOptions extends DecoderOptions {
  /** As it is asked for; shown by the step's span. */
  readonly model?: string;
  /** When the call was wanted, if that was before the step was made. Default: now. */
  readonly startUs?: number;
  /** False for a message that somebody else has asked for and read: no model call is recorded. Default true. */
  readonly recordsCall?: boolean;
}

export class Step<Format extends DecodableFormat = DecodableFormat> {
  readonly #clock: Clock;
  readonly #decoder: StreamDecoder<Format>;
  readonly #dispatcher: Dispatcher;
  readonly #assistant: AssistantMessage;
  readonly #trace: StepTrace | undefined;
  readonly #scope: DispatchScope;

  /** @param number from 1, within the turn. */
  constructor(format: Format, scope: DispatchScope, number: number, options: StepOptions = {}) {
    const { model, startUs, recordsCall = true, ...decoding } = options;
    this.#scope = scope;
    this.#clock = scope.deadline.clock;
    this.#assistant = new AssistantMessage(format);
    const decoder = createDecoder(format, { ...decoding, tap: this.#assistant });
    this.#decoder = decoder;
    const completion = (): Completion => decoder.completion;
    const about = { number, format, model, startUs, recordsCall, completion };
    this.#trace = StepTrace.begin(scope.trace, about);
    this.#dispatcher = new Dispatcher(scope, number, this.#trace);
    if (!scope.deadline.isOver)
      scope.prefetch?.think(number, this.#trace?.step ?? NO_SPAN, scope.admit);
  }

  /** Of the model's call, for what makes the request to hang its attempts on. */
  get span(): OpenSpan {
    return this.#trace?.call ?? NO_SPAN;
  }

  /**
   * Headers for this step's request, made when it is sent: what is left of the turn's time, and where it belongs in the
   * turn's record. @throws MANX_DEADLINE if it could not finish in time.
   */
  headers(least?: TimeSpan): Readonly<Record<string, string>> {
    const traceparent = this.span.traceparent();
    const headers = this.#scope.deadline.headers(least);
    if (traceparent === undefined) return headers;
    this.#scope.asked.put(traceparent, this.span);
    return { ...headers, traceparent };
  }

  get format(): Format {
    return this.#decoder.format;
  }

  /** How the message stands. */
  get completion(): Completion {
    return this.#decoder.completion;
  }

  /** Undefined as long as the message is open. */
  get verdict(): StreamVerdict | undefined {
    return this.#dispatcher.verdict;
  }

  /**
   * Bytes of the response, as they are read. Calls that they complete and that may start have started when this returns.
   * @returns what they say, for whoever shows text to a user.
   */
  push(bytes: Uint8Array): readonly StreamEvent[] {
    return this.#take(this.#decoder.push(bytes, this.#clock.nowUs()));
  }

  /** One chunk or event of an SDK, which has parsed the bytes already. */
  chunk(chunk: object): readonly StreamEvent[] {
    return this.push(UTF8.encode(`data: ${JSON.stringify(chunk)}\n\n`));
  }

  /** The bytes, or the SDK's chunks, have ended; also when that was an error. */
  end(): readonly StreamEvent[] {
    const events = this.#take(this.#decoder.end(this.#clock.nowUs()));
    this.#judge();
    return events;
  }

  /** Nobody wants the message any more: what began early is taken back. */
  cancel(): void {
    this.#dispatcher.end("cancelled");
  }

  /** What a guardrail or its caller says after the message may have ended: it does not count, and neither do its results. */
  takeBack(verdict: "refused" | "cancelled"): void {
    this.#dispatcher.takeBack(verdict);
  }

  /**
   * One result for each call, in the order of the calls, once the message has ended and all are settled; at the latest
   * when the turn's time is up. Never rejects.
   */
  results(): Promise<readonly ToolResult[]> {
    return this.#dispatcher.results;
  }

  /** As `results`, of the first call with this id alone; undefined if the message has none so far. Never rejects. */
  result(id: string): Promise<ToolResult> | undefined {
    return this.#dispatcher.result(id);
  }

  /**
   * The message itself in the form of this wire, to stand before `messages()` in the next request: text, calls, and what the
   * provider wants back as it came, such as signed or encrypted reasoning. Calls without results are left out; a message
   * that failed or broke off is none.
   */
  assistantMessage(): readonly object[] {
    return this.#assistant.messages(this.#decoder.completion, this.verdict);
  }

  /** The results in the form of this wire, for the next request; empty if the message was not one to answer. */
  async messages(): Promise<readonly object[]> {
    const results = await this.results();
    return this.verdict === "run" ? resultMessages(this.format, results) : [];
  }

  #judge(): void {
    const verdict = verdictOf(this.#decoder.completion);
    if (verdict !== undefined) this.#dispatcher.end(verdict);
  }

  #take(events: readonly StreamEvent[]): readonly StreamEvent[] {
    this.#dispatcher.take(events);
    this.#trace?.read(events);
    // Only these can end a message; asking after each read of a long argument would cost as much as reading it.
    if (events.some(({ type }) => type === "done" || type === "error" || type === "fault")) {
      this.#judge();
    }
    return events;
  }
}
