/**
 * A `Step` behind its rails. The checks of the request begin with it, beside the model call that its owner starts; what
 * the model says is decoded and its tools are dispatched as ever, but only what is clear is released:
 *
 *     bytes ─► Step ─┬─ events ─► GuardDriver ─► released events
 *                    └─ calls ──► pure, reversible: at once, at the guard's risk; all others: when the message is clear
 *
 * Invariants: nothing unchecked is released; a tool whose run cannot be taken back does not begin before all of the message
 * is clear; after a refusal what has begun is called off and undone, its results are lost, and `signal` has aborted.
 */
import { eventPiece } from "../../policy/guard/index.ts";
import type { Completion, DecodableFormat, StreamEvent } from "../../stream/index.ts";
import type { OpenSpan } from "../../trace/index.ts";
import type { AdmissibleCall, Admission } from "../call-event.ts";
import type { DispatchScope } from "../dispatch-scope.ts";
import { Outlet } from "../outlet.ts";
import { Step, type StepOptions } from "../step.ts";
import { type StreamVerdict, VERDICT_TEXT } from "../stream-verdict.ts";
import type { TimeSpan } from "../time-span.ts";
import { resultMessages, type ToolResult } from "../tool-result.ts";
import { GuardDriver } from "./guard-driver.ts";
import { type GuardReport, refusalError } from "./guard-report.ts";
import type { Rails } from "./rails.ts";

export interface GuardedStepOptions {
  readonly rails: Rails;
  /** What the user asks, and what tools have found since the model spoke last: checked by the rails of the request. */
  readonly request: string;
  /**
   * Which tools may run before the verdict, their results being lost if it is bad: those that can be taken back (default),
   * pure ones only, or none.
   */
  readonly speculate?: "reversible" | "pure" | "none";
  /** Told what is clear, as soon as it is. Default: it is kept for `events`. */
  readonly onRelease?: (events: readonly StreamEvent[]) => void;
  /** Gets a child of kind `guardrail` for each check. Default: the turn's trace. */
  readonly span?: OpenSpan | undefined;
  /** As for a step without a guard. */
  readonly step?: StepOptions;
  /** A reader of `events` has made room after `isFull`. */
  readonly onRoom?: () => void;
}

/** Characters that wait for a reader; then `isFull`. */
const UNREAD_MAX = 256 * 1024;

export class GuardedStep<Format extends DecodableFormat = DecodableFormat> {
  /** Once the guard has spoken. Never rejects. */
  readonly outcome: Promise<GuardReport>;
  readonly #options: GuardedStepOptions;
  readonly #scope: DispatchScope;
  readonly #step: Step<Format>;
  readonly #driver: GuardDriver<StreamEvent>;
  readonly #outlet: Outlet<StreamEvent>;
  readonly #controller = new AbortController();
  readonly #cleared: Promise<boolean>;
  #settleOutcome: (report: GuardReport) => void = () => {};
  #settleCleared: (isClear: boolean) => void = () => {};
  #report: GuardReport | undefined;

  /** @param number from 1, within the turn. */
  constructor(format: Format, scope: DispatchScope, number: number, options: GuardedStepOptions) {
    const { onRoom } = options;
    this.#options = options;
    this.#scope = scope;
    this.outcome = new Promise((resolve) => {
      this.#settleOutcome = resolve;
    });
    this.#cleared = new Promise((resolve) => {
      this.#settleCleared = resolve;
    });
    this.#outlet = new Outlet({
      sizeMax: UNREAD_MAX,
      onLeave: () => this.cancel(),
      ...(onRoom !== undefined && { onRoom }),
    });
    const guarded = { ...scope, admit: (call: AdmissibleCall) => this.#admit(call) };
    this.#step = new Step(format, guarded, number, options.step);
    this.#driver = new GuardDriver(
      { rails: options.rails, deadline: scope.deadline, span: options.span ?? scope.trace },
      {
        release: (events) => this.#release(events),
        over: (end, report) => this.#over(end, report),
      },
    );
    this.#driver.begin(options.request);
  }

  get format(): Format {
    return this.#step.format;
  }

  /** Of the model's call, as in a step. */
  get span(): OpenSpan {
    return this.#step.span;
  }

  get completion(): Completion {
    return this.#step.completion;
  }

  /** Undefined as long as the message is open. */
  get verdict(): StreamVerdict | undefined {
    return this.#step.verdict;
  }

  /** For the model call: aborts when the answer is refused, called off, or out of time. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Undefined until the guard has spoken. */
  get report(): GuardReport | undefined {
    return this.#report;
  }

  /** So much is released and not read that no more should be pushed. */
  get isFull(): boolean {
    return this.#outlet.isFull;
  }

  /**
   * What is clear, in order, if there is no `onRelease`; to be read once. Who leaves it calls the answer off.
   * @throws MANX_GUARD_REFUSED, MANX_GUARD_FAILED after the last that was clear; what the turn ended with, if it did.
   */
  get events(): AsyncIterableIterator<StreamEvent, undefined> {
    return this.#outlet;
  }

  /** Bytes of the response, as they are read. */
  push(bytes: Uint8Array): void {
    if (!this.#driver.isOver) this.#take(this.#step.push(bytes));
  }

  /** One chunk or event of an SDK, which has parsed the bytes already. */
  chunk(chunk: object): void {
    if (!this.#driver.isOver) this.#take(this.#step.chunk(chunk));
  }

  /** The bytes, or the SDK's chunks, have ended; also when that was an error. */
  end(): void {
    if (this.#driver.isOver) return;
    this.#take(this.#step.end());
    // A call that never ended is none; the text before it is checked to its end.
    const { state } = this.#step.completion;
    this.#driver.end(state === "complete" || state === "empty");
  }

  /** Nobody wants the answer any more: what began early is taken back. */
  cancel(): void {
    this.#driver.stop();
  }

  /** One result for each call, once the guard has spoken and all are settled. Never rejects. */
  async results(): Promise<readonly ToolResult[]> {
    await this.outcome;
    return this.#step.results();
  }

  /** As `results`, of one call. */
  async result(id: string): Promise<ToolResult | undefined> {
    await this.outcome;
    return this.#step.result(id);
  }

  /** As in a step, once the guard has spoken; nothing of a message that was refused or called off. */
  async assistantMessage(): Promise<readonly object[]> {
    const { path } = await this.outcome;
    return path === "cut" ? [] : this.#step.assistantMessage();
  }

  /** As in a step. @throws MANX_DEADLINE */
  headers(least?: TimeSpan): Readonly<Record<string, string>> {
    return this.#step.headers(least);
  }

  /** The results in the form of this wire; empty if the message was not one to answer, or was refused. */
  async messages(): Promise<readonly object[]> {
    const results = await this.results();
    return this.verdict === "run" ? resultMessages(this.format, results) : [];
  }

  #take(events: readonly StreamEvent[]): void {
    for (const event of events) {
      const piece = eventPiece(event) ?? faultPiece(event);
      this.#driver.push(event, piece === undefined ? [] : [piece], sizeOf(event));
    }
  }

  #admit(call: AdmissibleCall): Admission | Promise<Admission> {
    const { speculate = "reversible" } = this.#options;
    const mayGuess = call.effect === "pure" ? speculate !== "none" : speculate === "reversible";
    if (mayGuess && (call.effect === "pure" || call.effect === "reversible")) {
      return this.#scope.admit?.(call);
    }
    return this.#cleared.then((isClear) => {
      return isClear ? this.#scope.admit?.(call) : { blocked: VERDICT_TEXT.refused };
    });
  }

  #release(events: readonly StreamEvent[]): void {
    const { onRelease } = this.#options;
    if (onRelease === undefined) {
      for (const event of events) this.#outlet.put(event, sizeOf(event));
      return;
    }
    try {
      onRelease(events);
    } catch (thrown) {
      // Nobody takes what is clear: as if its reader had left.
      this.#controller.abort(thrown);
      this.cancel();
    }
  }

  #over(end: "finished" | "refused" | "cut", report: GuardReport): void {
    this.#report = report;
    this.#settleCleared(end === "finished");
    if (end === "finished") this.#outlet.close();
    else if (end === "refused") {
      const error = refusalError(report);
      this.#step.takeBack("refused");
      this.#controller.abort(error);
      this.#outlet.close({ error });
    } else {
      const { signal } = this.#scope.deadline;
      this.#step.takeBack("cancelled");
      const error: unknown = signal.aborted ? signal.reason : calledOff();
      this.#controller.abort(error);
      this.#outlet.close({ error });
    }
    this.#settleOutcome(report);
  }
}

/** What cannot be read may hold what the model has said. */
function faultPiece(event: StreamEvent): ReturnType<typeof eventPiece> {
  if (event.type !== "fault" || event.detail === "") return undefined;
  return { kind: "prose", choice: 0, name: "fault", text: event.detail };
}

function sizeOf(event: StreamEvent): number {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
    case "refusal-delta":
      return event.text.length;
    case "tool-delta":
      return event.json.length;
    case "tool-end":
      return event.argumentsText.length;
    default:
      return 1;
  }
}

function calledOff(): DOMException {
  return new DOMException("the answer was called off", "AbortError");
}
