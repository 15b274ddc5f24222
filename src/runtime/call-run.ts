/**
 * One call from "may run" to its result: a place, then one run, repeated if it throws and may be repeated, hedged if it is
 * slow and may be. It knows nothing of streams and ids, so that a call whose stream died can be taken over by the one
 * that says it again.
 *
 * Invariants: one outcome; a tool whose effect does not allow it is never run twice; a place is held until the code has
 * ended or was given up; what was revoked is undone once, after the code has ended.
 */
import type { Cancel } from "../clock/index.ts";
import { durationText } from "../core/index.ts";
import type { OpenSpan } from "../trace/index.ts";
import { type CallPlace, CallTrace } from "./call-trace.ts";
import type { Deadline } from "./deadline.ts";
import { type Ending, Execution, type Release } from "./execution.ts";
import type { OpenWork } from "./open-work.ts";
import { errorText, type ResultText, thrownText, valueText } from "./result-text.ts";
import type { Loan, Slots } from "./slots.ts";
import type { Tool, UndoneRun } from "./tool.ts";
import type { TurnCounts } from "./turn-counts.ts";
import { undoRun } from "./undo-run.ts";

/** What the calls of a turn share. */
export interface RunScope {
  readonly deadline: Deadline;
  readonly slots: Slots;
  readonly counts: TurnCounts;
  readonly work: OpenWork;
  readonly graceUs: number;
  /** Told when a tool that changes something begins, and when it has ended. */
  readonly changing?: ((isOver: boolean) => void) | undefined;
}

export interface RunOutcome extends ResultText {
  /** µs on the clock; null if no run was begun. */
  readonly startedUs: number | null;
  readonly endedUs: number;
  readonly attempts: number;
  /** As the tool answered it; undefined unless the status is `ok`. */
  readonly value: unknown;
}

export interface CallInput {
  readonly callId: string;
  readonly args: unknown;
  /** The whole, checked arguments, if `args` is only what had come. */
  readonly whole: Promise<unknown>;
  readonly place: CallPlace;
  /**
   * Begins on a guess. Until it is adopted it only borrows a place, is not repeated and not hedged. Told how its code let
   * go, if it was called off.
   */
  readonly guess?: { readonly released: (how: Release) => void };
}

export class CallRun {
  readonly tool: Tool;
  readonly #trace: CallTrace;
  readonly #scope: RunScope;
  readonly #input: CallInput;
  readonly #live = new Set<Execution>();
  readonly #listeners: ((outcome: RunOutcome) => void)[] = [];
  #outcome: RunOutcome | undefined;
  #startedUs: number | null = null;
  #attempts = 0;
  #hasHedged = false;
  #isRevoked = false;
  /** Runs whose code has ended, in case they have to be undone. */
  readonly #ended: UndoneRun[] = [];
  #leaveQueue: Cancel | undefined;
  #isAsked: boolean;
  #loan: Loan | undefined;
  #cancelHedge: Cancel | undefined;
  #deadline: Deadline | undefined;
  #letGo: Cancel | undefined;

  constructor(tool: Tool, input: CallInput, scope: RunScope) {
    this.tool = tool;
    this.#input = input;
    this.#scope = scope;
    this.#isAsked = input.guess === undefined;
    this.#trace = new CallTrace(tool, input.callId, input.place);
  }

  get span(): OpenSpan {
    return this.#trace.span;
  }

  get outcome(): RunOutcome | undefined {
    return this.#outcome;
  }

  /** µs on the clock; null before the first run. */
  get startedUs(): number | null {
    return this.#startedUs;
  }

  /** @param listener called at once if the outcome is there. */
  whenSettled(listener: (outcome: RunOutcome) => void): void {
    if (this.#outcome !== undefined) listener(this.#outcome);
    else this.#listeners.push(listener);
  }

  /** May run, and does as soon as there is a place. */
  begin(): void {
    // A run that was taken over has begun already.
    if (this.#outcome !== undefined || this.#deadline !== undefined) return;
    const { deadline } = this.#scope;
    const { deadlineUs } = this.tool;
    this.#deadline = deadline.child(Number.isFinite(deadlineUs) ? { within: deadlineUs } : {});
    if (this.#deadline.isOver) {
      this.#settle(this.#lateText());
      return;
    }
    // While it waits for a place, the deadline goes on.
    const onAbort = (): void => this.#settle(this.#lateText());
    this.#deadline.signal.addEventListener("abort", onAbort, { once: true });
    this.#letGo = () => this.#deadline?.signal.removeEventListener("abort", onAbort);
    this.#enqueue();
  }

  /** The model has asked for what was begun on a guess: an ordinary call from now on. */
  adopt(callId: string): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#loan?.keep();
    this.#trace.adopt(callId);
    if (this.#outcome === undefined && this.#live.size > 0) this.#armHedge();
  }

  /** Nobody wants the result; what has been done stays. */
  cancel(why: string): void {
    if (this.#outcome !== undefined) return;
    for (const execution of [...this.#live]) execution.cancel(why);
    this.#settle(errorText("cancelled", why));
  }

  /** As if it had not been: cancelled, and undone where it has done something. */
  revoke(why: string): void {
    if (this.#isRevoked) return;
    this.#isRevoked = true;
    this.#trace.revoke();
    this.cancel(why);
    for (const run of this.#ended.splice(0)) this.#undo(run);
  }

  #enqueue(): void {
    const { slots } = this.#scope;
    if (!this.#isAsked) {
      this.#loan = slots.lend(this.tool.resource, () => this.revoke("its place is needed"));
      if (this.#loan === undefined) this.#settle(errorText("cancelled", "no place is free"));
      else this.#run();
      return;
    }
    this.#leaveQueue = slots.take(this.tool.resource, () => {
      this.#leaveQueue = undefined;
      this.#run();
    });
  }

  #run(): void {
    const { tool } = this;
    const { counts, graceUs, work } = this.#scope;
    const deadline = this.#deadline!;
    if (!deadline.allows(tool.leastUs)) {
      this.#give();
      if (this.#live.size === 0)
        this.#settle(errorText("timeout", "not begun: too little time is left"));
      return;
    }
    work.begin();
    this.#attempts += 1;
    const attempt = this.#attempts;
    this.#startedUs ??= deadline.clock.nowUs();
    counts.started += 1;
    const { callId, args, whole } = this.#input;
    const span = this.#trace.run(attempt);
    const execution = new Execution(
      deadline,
      { graceUs },
      {
        run: ({ signal, atUs, leftUs }) =>
          tool.run(args as never, {
            signal,
            deadlineUs: atUs,
            leftUs,
            callId,
            attempt,
            span,
            whole: whole as Promise<never>,
          }),
        settled: (ending) => {
          this.#trace.ran(span, ending);
          this.#ending(execution, ending);
        },
        released: (how) => {
          if (how !== "ended") counts[how] += 1;
          this.#input.guess?.released(how);
          this.#give();
          work.end();
        },
        ended: (ending) => this.#codeEnded(ending),
      },
    );
    this.#live.add(execution);
    if (attempt === 1 && this.#isAsked) this.#armHedge();
    if (tool.effect !== "pure") this.#scope.changing?.(false);
    execution.begin();
  }

  #give(): void {
    this.#loan?.keep();
    this.#scope.slots.give(this.tool.resource);
  }

  #armHedge(): void {
    const { hedgeAfterUs } = this.tool;
    if (!Number.isFinite(hedgeAfterUs)) return;
    const { clock } = this.#scope.deadline;
    this.#cancelHedge = clock.at(this.#startedUs! + hedgeAfterUs, () => this.#hedge());
  }

  #hedge(): void {
    if (this.#outcome !== undefined || this.#hasHedged || this.#live.size === 0) return;
    this.#hasHedged = true;
    this.#scope.counts.hedged += 1;
    this.#enqueue();
  }

  #ending(execution: Execution, ending: Ending): void {
    this.#live.delete(execution);
    if (this.#outcome !== undefined) return;
    switch (ending.kind) {
      case "value":
        this.#settle(valueText(ending.value, this.tool), ending.value);
        return;
      case "threw":
        if (this.#live.size > 0) return;
        if (this.#isAsked && this.#attempts < this.tool.attemptsMax) {
          this.#scope.counts.repeated += 1;
          this.#leaveQueue?.();
          this.#enqueue();
        } else this.#settle(thrownText(ending.error));
        return;
      case "timeout":
        this.#settle(this.#lateText());
        return;
      case "cancelled":
        this.#settle(errorText("cancelled", ending.why));
    }
  }

  #codeEnded(ending: Ending): void {
    const { undo } = this.tool;
    if (this.tool.effect !== "pure") this.#scope.changing?.(true);
    if (undo === undefined) return;
    const run: UndoneRun =
      ending.kind === "value"
        ? { ended: "ok", result: ending.value }
        : { ended: "failed", error: ending.kind === "threw" ? ending.error : undefined };
    if (this.#isRevoked) this.#undo(run);
    else this.#ended.push(run);
  }

  #undo(run: UndoneRun): void {
    const { callId, args } = this.#input;
    undoRun(this.tool, { callId, args, run }, this.#scope);
  }

  /** Says the limit if it is the tool's own: how much of the turn was left differs from run to run. */
  #lateText(): ResultText {
    const own = this.tool.deadlineUs;
    const parent = this.#scope.deadline;
    const isOwn = Number.isFinite(own) && !(parent.isOver || parent.isPast);
    if (parent.isOver && !parent.isPast) return errorText("cancelled", "the turn has ended");
    return errorText(
      "timeout",
      isOwn ? `timeout after ${durationText(own)}` : "timeout: the turn's time is over",
    );
  }

  #settle(text: ResultText, value?: unknown): void {
    if (this.#outcome !== undefined) return;
    const { clock } = this.#scope.deadline;
    this.#outcome = {
      ...text,
      startedUs: this.#startedUs,
      endedUs: clock.nowUs(),
      attempts: this.#attempts,
      value: text.status === "ok" ? value : undefined,
    };
    this.#trace.end(text.status);
    this.#leaveQueue?.();
    this.#cancelHedge?.();
    this.#letGo?.();
    const { counts } = this.#scope;
    if (text.status === "timeout") counts.timeouts += 1;
    if (text.charsCut > 0) counts.truncated += 1;
    // Where time is up the deadline ends the runs, and tells them so.
    if (text.status !== "timeout") {
      for (const execution of [...this.#live]) execution.cancel("another run was faster");
    }
    this.#deadline?.close();
    for (const listener of this.#listeners.splice(0)) listener(this.#outcome);
  }
}
