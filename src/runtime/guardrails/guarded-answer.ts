/**
 * A guarded model call from its request to its last word, with at most one reformulation: asks the model and the rails of
 * the request at the same time, pushes what comes into a `GuardedStep`, and passes on what is clear.
 *
 *     round 1 ── clean ──────────────────────────────────────────► released, finished
 *        └── refused ── reformulate? ── round 2 ── clean ────────► released, finished   (path `reformulated`)
 *                           │              └── refused ──────────► error
 *                           └── no, too late, or shown already ──► error
 *
 * Invariants: two rounds at most, both within the turn's deadline; when an answer is refused its model call is aborted in
 * the same instant; what was shown of an answer that is asked for again has been taken back through `retract`, or it is not
 * asked for again.
 */
import type { Clock } from "../../clock/index.ts";
import type { GuardRefusal } from "../../policy/guard/index.ts";
import { type DecodableFormat, isVisible, type StreamEvent } from "../../stream/index.ts";
import { Outlet } from "../outlet.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import type { ToolResult } from "../tool-result.ts";
import { Turn } from "../turn.ts";
import { type GuardReport, refusalError } from "./guard-report.ts";
import type { GuardedStep, GuardedStepOptions } from "./guarded-step.ts";
import { type ModelSource, readsOf, type SourceItem } from "./model-source.ts";
import type { Rails } from "./rails.ts";

export interface AskRound {
  /** What to ask; in round 2 the reformulated text. */
  readonly request: string;
  /** 1 or 2. */
  readonly round: number;
  /** Aborts when the answer is refused or called off, or at the turn's end. */
  readonly signal: AbortSignal;
}

export interface GuardedAnswerOptions
  extends Pick<GuardedStepOptions, "speculate" | "span" | "step"> {
  readonly rails: Rails;
  readonly request: string;
  /** Calls the model. Begun in the same instant as the rails of the request. */
  readonly ask: (round: AskRound) => ModelSource | PromiseLike<ModelSource>;
  /** Of bytes and chunks. Default: `openai-chat`, and strings are plain pieces of text. */
  readonly format?: DecodableFormat;
  /** For its tools and its deadline. Default: a turn without either. */
  readonly turn?: Turn;
  readonly clock?: Clock;
  /** @returns the request in other words, or nothing, and then the refusal stands. Asked once, and told of no secret. */
  readonly reformulate?: (
    refusal: GuardRefusal,
    request: string,
  ) => string | undefined | PromiseLike<string | undefined>;
  /** The least time left in which a second answer is of use. Default 1 ms. */
  readonly reformulateLeast?: TimeSpan;
  /** Takes back what was shown, before another answer begins. Without it nothing is asked again once something was shown. */
  readonly retract?: (shownChars: number) => void;
}

const LEAST_US = 1_000;
const UTF8 = new TextEncoder();
/** Released characters that nobody has read yet; then the model's stream waits. */
const UNREAD_MAX = 256 * 1024;

/**
 * Begins at once. To be iterated once: what is clear, in order.
 *
 *     const answer = guardedAnswer({ rails, request, ask: ({ signal }) => fetch(url, { …, signal }) });
 *     for await (const event of answer) if (event.type === "text-delta") show(event.text);
 */
export function guardedAnswer(options: GuardedAnswerOptions): GuardedAnswer {
  return new GuardedAnswer(options);
}

export class GuardedAnswer implements AsyncIterable<StreamEvent> {
  /** Once the last round is over. Never rejects. */
  readonly outcome: Promise<GuardReport>;
  readonly #options: GuardedAnswerOptions;
  readonly #turn: Turn;
  readonly #ownsTurn: boolean;
  readonly #outlet: Outlet<StreamEvent>;
  readonly #startUs: number;
  readonly #leastUs: number;
  #step: GuardedStep;
  #round = 1;
  #isLeft = false;
  /** Events that a user can see, of this round, and their characters. */
  #visible = 0;
  #visibleChars = 0;
  /** Of the round before, if there was one. */
  #refused: { readonly report: GuardReport; readonly atUs: number } | undefined;
  #resume: (() => void) | undefined;
  /** What its source has thrown. */
  #broken: { readonly error: unknown } | undefined;
  #settle: (report: GuardReport) => void = () => {};

  /** @throws MANX_DURATION */
  constructor(options: GuardedAnswerOptions) {
    this.#options = options;
    const { turn, clock, reformulateLeast = LEAST_US } = options;
    this.#leastUs = spanUs(reformulateLeast, "reformulateLeast");
    this.#ownsTurn = turn === undefined;
    this.#turn = turn ?? new Turn({ tools: [], ...(clock !== undefined && { clock }) });
    this.#startUs = this.#nowUs();
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#outlet = new Outlet({
      sizeMax: UNREAD_MAX,
      onLeave: () => this.cancel(),
      onRoom: () => this.#goOn(),
    });
    this.#step = this.#begin(options.request);
  }

  /** Nobody wants it any more. */
  cancel(): void {
    this.#isLeft = true;
    this.#step.cancel();
  }

  /** What is clear. @throws MANX_GUARD_REFUSED, MANX_GUARD_FAILED behind it; what the model's client has thrown. */
  [Symbol.asyncIterator](): AsyncIterator<StreamEvent> {
    return this.#outlet;
  }

  /** The text alone that a user sees, piece by piece; in place of the events. */
  async *text(): AsyncGenerator<string, void, undefined> {
    for await (const event of this) {
      const isText = event.type === "text-delta" || event.type === "refusal-delta";
      if (isText && event.choice === 0 && event.text !== "") yield event.text;
    }
  }

  /** The results of the calls of the answer that stands. Never rejects. */
  async results(): Promise<readonly ToolResult[]> {
    await this.outcome;
    return this.#step.results();
  }

  /** The same in the form of the wire, for the next request. */
  async messages(): Promise<readonly object[]> {
    await this.outcome;
    return this.#step.messages();
  }

  #nowUs(): number {
    return this.#turn.deadline.clock.nowUs();
  }

  #begin(request: string): GuardedStep {
    const { rails, format = "openai-chat", speculate, span, step: stepOptions } = this.#options;
    const step = this.#turn.guarded(format, {
      rails,
      request,
      span,
      ...(speculate !== undefined && { speculate }),
      ...(stepOptions !== undefined && { step: stepOptions }),
      onRelease: (events) => this.#release(events),
    });
    void step.outcome.then((report) => this.#over(report));
    const { signal } = step;
    // A rail that answers at once may have refused already: then no model is asked.
    if (!signal.aborted) {
      const round = { request, round: this.#round, signal };
      void this.#run(step, round);
    }
    return step;
  }

  async #run(step: GuardedStep, round: AskRound): Promise<void> {
    let reads: AsyncIterator<SourceItem>;
    try {
      reads = readsOf(await this.#options.ask(round));
    } catch (error) {
      this.#break(step, error);
      return;
    }
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      // It may hang until its source does; nobody waits for it.
      Promise.resolve()
        .then(() => reads.return?.())
        .catch(ignore);
    };
    step.signal.addEventListener("abort", leave, { once: true });
    if (step.signal.aborted) leave();
    const isText = this.#options.format === undefined;
    let chunks = 0;
    try {
      while (!step.signal.aborted) {
        const { done, value } = await reads.next();
        if (done === true) break;
        if (typeof value === "string") {
          if (isText) step.chunk(textChunk(value, null));
          else step.push(UTF8.encode(value));
        } else {
          chunks += 1;
          if (value instanceof Uint8Array) step.push(value);
          else step.chunk(value);
        }
        if (this.#outlet.isFull && !step.signal.aborted) await this.#room(step.signal);
      }
      // Plain text has no last frame: its end is one.
      if (isText && chunks === 0) step.chunk(textChunk("", "stop"));
      step.end();
    } catch (error) {
      leave();
      this.#break(step, error);
    } finally {
      step.signal.removeEventListener("abort", leave);
    }
  }

  /** The client's error is told behind what was clear of the answer. */
  #break(step: GuardedStep, error: unknown): void {
    if (step.report !== undefined) return;
    this.#broken = { error };
    step.end();
  }

  #room(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        signal.removeEventListener("abort", goOn);
        resolve();
      };
      this.#resume = goOn;
      signal.addEventListener("abort", goOn, { once: true });
    });
  }

  #goOn(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  #release(events: readonly StreamEvent[]): void {
    for (const event of events) {
      if (isVisible(event)) {
        this.#visible += 1;
        this.#visibleChars += charsOf(event);
      }
      this.#outlet.put(event, Math.max(1, charsOf(event)));
    }
  }

  async #over(report: GuardReport): Promise<void> {
    if (report.refusal !== null && this.#broken === undefined && !this.#isLeft) {
      const request = await this.#otherWords(report.refusal);
      if (request !== undefined) {
        this.#refused = { report, atUs: this.#nowUs() };
        this.#round = 2;
        this.#step = this.#begin(request);
        return;
      }
    }
    this.#finish(this.#whole(report));
  }

  /** @returns what to ask instead, if that is still of use to anybody. */
  async #otherWords(refusal: GuardRefusal): Promise<string | undefined> {
    const { reformulate, retract, request } = this.#options;
    if (reformulate === undefined || this.#round > 1) return undefined;
    if (this.#shown().isAny && retract === undefined) return undefined;
    const { deadline } = this.#turn;
    if (!deadline.allows(this.#leastUs)) return undefined;
    try {
      const words = await this.#within(reformulate(refusal, request));
      if (typeof words !== "string" || !deadline.allows(this.#leastUs)) return undefined;
      const shown = this.#shown();
      // Its reader may have gone on, or away, meanwhile.
      if (this.#isLeft || (shown.isAny && retract === undefined)) return undefined;
      this.#outlet.drop();
      this.#visible = 0;
      this.#visibleChars = 0;
      if (shown.isAny) retract?.(shown.chars);
      return words;
    } catch {
      return undefined;
    }
  }

  /** What a reader has taken of the round so far; what is still unread can be dropped. */
  #shown(): { readonly isAny: boolean; readonly chars: number } {
    const unread = this.#outlet.unread.filter(isVisible);
    const chars = unread.reduce((sum, event) => sum + charsOf(event), 0);
    return { isAny: this.#visible > unread.length, chars: this.#visibleChars - chars };
  }

  /** No code of somebody else's is waited for beyond the turn. */
  #within<Value>(value: Value | PromiseLike<Value>): Promise<Value> {
    const { signal } = this.#turn.deadline;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      Promise.resolve(value)
        .then(resolve, reject)
        .finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  /** Both rounds as one call. */
  #whole(report: GuardReport): GuardReport {
    if (this.#refused === undefined) return report;
    const { report: before, atUs } = this.#refused;
    const isThrough = report.path === "clean" || report.path === "flagged";
    return {
      ...report,
      path: isThrough ? "reformulated" : report.path,
      rounds: 2,
      checks: [...before.checks, ...report.checks],
      checksLeftOut: before.checksLeftOut + report.checksLeftOut,
      refusedUs: atUs - this.#startUs,
    };
  }

  #finish(report: GuardReport): void {
    if (report.refusal !== null) this.#outlet.close({ error: refusalError(report) });
    else if (this.#broken !== undefined) this.#outlet.close(this.#broken);
    else if (report.path === "cut") this.#outlet.close({ error: this.#step.signal.reason });
    else this.#outlet.close();
    if (this.#ownsTurn) void this.#closeTurn();
    this.#settle(report);
  }

  async #closeTurn(): Promise<void> {
    await this.#step.results();
    await this.#turn.close();
  }
}

/** A piece of text as a chunk of the form that every step reads. */
function textChunk(content: string, finish: string | null): object {
  return { choices: [{ index: 0, delta: { content }, finish_reason: finish }] };
}

function charsOf(event: StreamEvent): number {
  return "text" in event ? event.text.length : 0;
}

function ignore(): void {}
