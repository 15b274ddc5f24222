/**
 * Every way in which a stream can end (casebook GW-06). A response is whole if its wire said so: by a terminal frame, or
 * by a finish reason for each choice that had begun. A closed connection alone says nothing.
 *
 *     error seen ──────────────────────────► error
 *     terminal frame, or all finished ─┬─ had output ─► complete   (terminalMissing if one of the two is lacking)
 *                                      └─ had none ───► empty
 *     neither, and the bytes have ended ───► incomplete
 *
 * Nothing is invented: no finish reason, no terminal frame, no usage.
 */
import {
  type FinishReason,
  isOutput,
  type StreamEvent,
  type ToolEnd,
  type UpstreamError,
} from "./stream-event.ts";
import { type TokenUsage, USAGE_UNKNOWN } from "./token-usage.ts";

export type CompletionState = "open" | "complete" | "empty" | "incomplete" | "error";

export interface Completion {
  /** `open` until a terminal frame or the end of the bytes. */
  readonly state: CompletionState;
  /** Whole, but the terminal frame or the finish reason never came: usable, and worth counting. */
  readonly terminalMissing: boolean;
  /** First that was not empty. */
  readonly id: string | null;
  readonly model: string | null;
  /** Of the choice that finished first; null if none has. */
  readonly reason: FinishReason | null;
  readonly rawReason: string | null;
  readonly usage: TokenUsage;
  /** The response is whole and its usage was reported with or after the last output. */
  readonly usageComplete: boolean;
  readonly error: UpstreamError | null;
  /** Calls that have ended, in order of appearance. */
  readonly toolCalls: readonly ToolEnd[];
  /** The response is whole and asks for its calls to be run; those with a problem may still not be. */
  readonly mayRunTools: boolean;
  /** `fault` events so far; an early end is one. */
  readonly faults: number;
  readonly firstFault: string | null;
  /** Size of an unfinished frame at the end. */
  readonly tailBytes: number;
  /** Frames after the terminal one; they were not read. */
  readonly lateFrames: number;
}

export class CompletionTracker {
  lateFrames = 0;
  id: string | null = null;
  model: string | null = null;
  usage: TokenUsage = USAGE_UNKNOWN;
  #usageFrame = -1;
  #outputFrame = -1;
  /** Choices. Lists, since there is one as a rule, and at most as many as a wire may number. */
  #unfinished: number[] = [];
  readonly #finished: number[] = [];
  #reason: FinishReason | null = null;
  #rawReason: string | null = null;
  #asksForTools = false;
  #error: UpstreamError | null = null;
  #toolCalls: ToolEnd[] = [];
  #faults = 0;
  #firstFault: string | null = null;
  #isDone = false;
  #hasEnded = false;
  #tailBytes = 0;

  get isDone(): boolean {
    return this.#isDone;
  }

  /** The wire has said that the response is whole. */
  get isWhole(): boolean {
    return this.#isDone || (this.#finished.length > 0 && this.#unfinished.length === 0);
  }

  get state(): CompletionState {
    if (this.#error !== null) return "error";
    if (!this.#isDone && !this.#hasEnded) return "open";
    if (!this.isWhole) return "incomplete";
    return this.#outputFrame >= 0 ? "complete" : "empty";
  }

  /** A choice has begun; the response is not whole before it has finished. */
  begin(choice: number): void {
    if (this.#unfinished.includes(choice) || this.#finished.includes(choice)) return;
    this.#unfinished.push(choice);
  }

  #finish(choice: number): void {
    this.#unfinished = this.#unfinished.filter((other) => other !== choice);
    if (!this.#finished.includes(choice)) this.#finished.push(choice);
  }

  /** The model has put something out. */
  output(frame: number): void {
    this.#outputFrame = frame;
  }

  add(event: StreamEvent): void {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
      case "refusal-delta":
      case "tool-start":
      case "tool-delta":
        if (isOutput(event)) this.output(event.frame);
        return;
      case "tool-end":
        this.#toolCalls.push(event);
        return;
      case "finish":
        this.#finish(event.choice);
        this.#reason ??= event.reason;
        this.#rawReason ??= event.rawReason;
        this.#asksForTools ||= event.reason === "tool_calls";
        return;
      case "usage":
        this.usage = event.usage;
        this.#usageFrame = event.frame;
        return;
      case "error":
        this.#error ??= event;
        return;
      case "fault":
        this.#faults += 1;
        this.#firstFault ??= `${event.code}: ${event.detail}`;
        return;
      case "done":
        this.#isDone = true;
        return;
      default:
    }
  }

  end(tailBytes: number): void {
    this.#hasEnded = true;
    this.#tailBytes = tailBytes;
  }

  get completion(): Completion {
    const { state, id, model, usage, lateFrames } = this;
    const isWhole = state === "complete" || state === "empty";
    return {
      state,
      terminalMissing: isWhole && !(this.#isDone && this.#finished.length > 0),
      id,
      model,
      reason: this.#reason,
      rawReason: this.#rawReason,
      usage,
      usageComplete: isWhole && this.#usageFrame >= Math.max(0, this.#outputFrame),
      error: this.#error,
      toolCalls: this.#toolCalls,
      mayRunTools: state === "complete" && this.#asksForTools,
      faults: this.#faults,
      firstFault: this.#firstFault,
      tailBytes: this.#tailBytes,
      lateFrames,
    };
  }
}
