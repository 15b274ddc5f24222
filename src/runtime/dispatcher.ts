/**
 * From the events of one message to the results of its calls. A call begins in the same turn of the event loop in which
 * the read with its last brace came, if its effect allows; everything else waits for the message to be whole and to end
 * as one that asks for calls. What began early is taken back if it does not.
 *
 *     arriving ─ last brace ─► sealed ─ needs, commit ─► ready ─ check, admit ─► run ─► settled
 *         └──── broken, unknown, twice the same id ───────────────────────────────────────┘
 *
 * Invariants: each call starts once; an irreversible tool never starts before the verdict `run`; results come in the order
 * of the calls, one for each, whatever happened; they are there at the latest when the turn's time is up.
 */
import type { Cancel } from "../clock/index.ts";
import type { StreamEvent, ToolEnd } from "../stream/index.ts";
import type { Admission, CallEvent } from "./call-event.ts";
import { CallPlan } from "./call-plan.ts";
import { CallRun } from "./call-run.ts";
import { type CallPlace, UNTRACED } from "./call-trace.ts";
import type { DispatchScope } from "./dispatch-scope.ts";
import type { Checked } from "./input-check.ts";
import { ModelCall } from "./model-call.ts";
import { badArguments, errorText, type ResultText, unknownTool } from "./result-text.ts";
import { ResultWaits } from "./result-waits.ts";
import type { StepTrace } from "./step-trace.ts";
import { MAY_COME_AGAIN, type StreamVerdict, VERDICT_TEXT } from "./stream-verdict.ts";
import type { Tool } from "./tool.ts";
import type { ToolResult } from "./tool-result.ts";

export class Dispatcher {
  readonly #scope: DispatchScope;
  readonly #step: number;
  readonly #trace: StepTrace | undefined;
  readonly #calls = new Map<number, ModelCall>();
  readonly #ids = new Set<string>();
  readonly #plan = new CallPlan(this.#calls);
  #verdict: StreamVerdict | undefined;
  #endUs = 0;
  #isPumping = false;
  #resolve: (results: readonly ToolResult[]) => void = () => {};
  #results: Promise<readonly ToolResult[]>;
  readonly #letGo: Cancel;
  readonly #waits = new ResultWaits();

  /** @param step from 1, within the turn. */
  constructor(scope: DispatchScope, step: number, trace?: StepTrace) {
    this.#scope = scope;
    this.#step = step;
    this.#trace = trace;
    this.#results = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const { signal } = scope.deadline;
    const onAbort = (): void => this.#timeIsUp();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#letGo = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) this.#timeIsUp();
  }

  /** One for each call; after `takeBack` those of a message that does not count. */
  get results(): Promise<readonly ToolResult[]> {
    return this.#results;
  }

  /** Undefined as long as the message is open. */
  get verdict(): StreamVerdict | undefined {
    return this.#verdict;
  }

  take(events: readonly StreamEvent[]): void {
    if (this.#verdict !== undefined) return;
    // A piece of a long argument changes nothing that the plan knows of, and there may be tens of thousands.
    let hasNews = false;
    for (const event of events) {
      if (event.type === "tool-delta") {
        if (this.#extend(event.call, event.json, event.atUs)) hasNews = true;
        continue;
      }
      hasNews = true;
      if (event.type === "tool-start") {
        if (event.choice !== 0 || event.byServer) this.#scope.counts.ignored += 1;
        else this.#open(new ModelCall(event));
      } else if (event.type === "tool-end") this.#close(event, event.atUs);
    }
    if (hasNews) this.#pump();
  }

  /** @returns the result of the first call with this id, once it cannot change any more; undefined if there is none. */
  result(id: string): Promise<ToolResult> | undefined {
    if (this.#first(id) === undefined) return undefined;
    const result = this.#waits.wait(id);
    this.#answer(id);
    return result;
  }

  /** The message has ended; further calls change nothing. */
  end(verdict: StreamVerdict): void {
    if (this.#verdict !== undefined) return;
    this.#verdict = verdict;
    this.#endUs = this.#nowUs();
    this.#trace?.ended(verdict, this.#endUs);
    if (verdict === "run") {
      this.#plan.commit();
    } else this.#revokeAll(verdict);
    this.#scope.prefetch?.messageEnded(this.#step, verdict, this.#calls.values());
    this.#pump();
    for (const id of this.#waits.ids) this.#answer(id);
    this.#finishIfDone();
  }

  #first(id: string): ModelCall | undefined {
    return [...this.#calls.values()].find((call) => call.id === id);
  }

  /** Before the verdict even a good result may still be taken back. */
  #answer(id: string): void {
    if (this.#verdict === undefined) return;
    const call = this.#first(id);
    if (call?.outcome !== undefined) this.#waits.answer(id, call.result(this.#endUs));
  }

  /** The message does not count, though it may have ended well: what began is called off and undone, what it found is lost. */
  takeBack(verdict: "refused" | "cancelled"): void {
    const before = this.#verdict;
    if (before === undefined) this.end(verdict);
    if (before !== "run" && verdict !== "refused") return;
    this.#verdict = verdict;
    if (before !== "run") return;
    this.#revokeAll(verdict);
    for (const id of this.#waits.ids) this.#answer(id);
    this.#finishIfDone();
    this.#results = Promise.resolve(this.#collect());
  }

  #open(call: ModelCall): void {
    this.#calls.set(call.number, call);
    if (this.#ids.has(call.id))
      this.#refuse(call, errorText("invalid", "a call with this id came before"));
    this.#ids.add(call.id);
  }

  /** @returns whether more than the arguments has changed. */
  #extend(number: number, json: string, atUs: number): boolean {
    const call = this.#calls.get(number);
    if (call === undefined || call.outcome !== undefined) return false;
    const isWhole = call.push(json);
    if (call.name === "") return false;
    if (isWhole) this.#seal(call, call.pushedArgs, atUs);
    else if (call.run === undefined && !call.isSealed) this.#startOnFields(call);
    return isWhole || call.run !== undefined;
  }

  #close(end: ToolEnd, atUs: number): void {
    const call = this.#calls.get(end.call);
    if (call === undefined) return;
    call.nameBy(end);
    if (end.problem !== null) this.#refuse(call, errorText("invalid", end.problem));
    else if (!call.isSealed && call.outcome === undefined) {
      this.#seal(call, JSON.parse(end.argumentsText), atUs);
    }
  }

  #seal(call: ModelCall, args: unknown, atUs: number): void {
    call.seal(args, atUs);
    this.#tell("call-sealed", call);
    call.tool = this.#scope.tools.get(call.name);
    if (call.tool !== undefined && call.tool.effect !== "pure") this.#scope.prefetch?.changed();
    if (call.tool === undefined)
      this.#refuse(call, unknownTool(call.name, this.#scope.tools.names));
    else if (call.run !== undefined) this.#completeFields(call, call.tool);
    else this.#plan.place(call, call.tool);
  }

  /** A run that began with some fields gets the others, if they fit; if not, it should not have begun. */
  #completeFields(call: ModelCall, tool: Tool): void {
    if (call.hasChangedFields) {
      const { run } = call;
      call.run = undefined;
      call.breakWhole("its arguments have changed");
      run?.revoke("its arguments have changed");
      this.#check(call, tool);
      return;
    }
    this.#whenChecked(call, tool, (checked) => {
      if ("problem" in checked) this.#refuse(call, badArguments(checked.problem));
      else call.keepWhole(checked.args);
    });
  }

  #startOnFields(call: ModelCall): void {
    const tool = this.#scope.tools.get(call.name);
    if (tool === undefined || !tool.startsEarly || tool.needs.length > 0) return;
    // What is to be admitted has to be whole.
    if (this.#scope.admit !== undefined) return;
    const fields = call.fieldsFor(tool.startWhen);
    if (fields === undefined || this.#scope.prefetch?.mayBecome(tool, fields) === true) return;
    call.tool = tool;
    this.#plan.beginEarly(call.number);
    this.#begin(call, this.#newRun(call, tool, fields, call.promiseWhole()));
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    for (;;) {
      const { ready, skipped } = this.#plan.take();
      if (ready.length === 0 && skipped.length === 0) break;
      for (const { key, because } of skipped) this.#skip(key, because);
      for (const key of ready) this.#ready(this.#calls.get(key)!);
    }
    this.#isPumping = false;
  }

  #skip(key: number, because: number | undefined): void {
    const call = this.#calls.get(key)!;
    const need = this.#calls.get(because ?? -1)?.name ?? "the message";
    this.#settle(call, errorText("skipped", `not run, since ${need}, which it needs, failed`));
  }

  #ready(call: ModelCall): void {
    if (this.#plan.begin(call.number)) this.#check(call, call.tool!);
  }

  #check(call: ModelCall, tool: Tool): void {
    this.#whenChecked(call, tool, (checked) => {
      if ("problem" in checked) this.#settle(call, badArguments(checked.problem));
      else this.#admit(call, tool, checked.args);
    });
  }

  /** At once where the check can be; `then` is not called if the call was settled meanwhile. */
  #whenChecked(call: ModelCall, tool: Tool, then: (checked: Checked) => void): void {
    const checked = this.#scope.tools.check(tool, call.args);
    if (!(checked instanceof Promise)) {
      then(checked);
      return;
    }
    void checked.then((late) => {
      if (call.outcome === undefined) then(late);
      this.#pump();
    });
  }

  #admit(call: ModelCall, tool: Tool, args: unknown): void {
    const go = (admission: Admission): void => {
      if (call.outcome !== undefined) return;
      if (admission !== undefined) {
        this.#settle(call, errorText("blocked", `blocked: ${admission.blocked}`));
      } else this.#launch(call, tool, args);
      this.#pump();
    };
    const failed = (): void => go({ blocked: "its check has failed" });
    if (this.#scope.admit === undefined) {
      this.#launch(call, tool, args);
      return;
    }
    try {
      const { id, name } = call;
      const admission = this.#scope.admit({ id, name, effect: tool.effect, args });
      if (admission instanceof Promise) admission.then(go, failed);
      else go(admission);
    } catch {
      failed();
    }
  }

  #launch(call: ModelCall, tool: Tool, args: unknown): void {
    this.#begin(
      call,
      this.#begunRun(call, tool) ?? this.#newRun(call, tool, args, Promise.resolve(args)),
    );
  }

  /** By a stream that has failed, or by a guess. */
  #begunRun(call: ModelCall, tool: Tool): CallRun | undefined {
    if (tool.effect !== "pure") return undefined;
    const { shelf, prefetch, counts } = this.#scope;
    const kept = shelf.take(tool.name, call.args);
    if (kept !== undefined) counts.adopted += 1;
    return kept ?? prefetch?.claim(tool, call.args, call.id);
  }

  #newRun(call: ModelCall, tool: Tool, args: unknown, whole: Promise<unknown>): CallRun {
    const place = this.#placeOf(tool);
    return new CallRun(tool, { callId: call.id, args, whole, place }, this.#scope);
  }

  /** A call comes after the message that asks for it, and after the calls that it needs. */
  #placeOf(tool: Tool): CallPlace {
    if (this.#trace === undefined) return UNTRACED;
    const { step } = this.#trace;
    const after = [...this.#trace.after];
    for (const { name, run } of this.#calls.values()) {
      if (run !== undefined && tool.needs.includes(name)) after.push(run.span);
    }
    return { under: step, after };
  }

  #begin(call: ModelCall, run: CallRun): void {
    call.run = run;
    if (this.#verdict === undefined) this.#scope.counts.early += 1;
    this.#tell("call-start", call);
    run.whenSettled((outcome) => {
      if (call.run === run && call.outcome === undefined)
        this.#settle(call, outcome, outcome.value);
    });
    run.begin();
  }

  /** Whatever it may have begun should not have begun. */
  #refuse(call: ModelCall, text: ResultText): void {
    this.#plan.addBroken(call.number);
    // First, so that a run that is called off does not settle the call in its own words.
    this.#settle(call, text);
    call.breakWhole(text.text);
    const isShared = [...this.#calls.values()].some(
      (other) => other !== call && other.run !== undefined && other.run === call.run,
    );
    if (!isShared) call.run?.revoke(text.text);
  }

  #revokeAll(verdict: Exclude<StreamVerdict, "run">): void {
    this.#plan.giveUp();
    const why = VERDICT_TEXT[verdict];
    for (const call of this.#calls.values()) {
      const { run } = call;
      call.breakWhole(why);
      const wasSettled = call.outcome !== undefined;
      if (!wasSettled || call.outcome?.status === "ok") {
        call.outcome = { ...errorText("cancelled", why), endedUs: this.#nowUs() };
      }
      const mayKeep =
        run?.tool.effect === "pure" && call.isSealed && run.outcome?.status !== "failed";
      if (run !== undefined && mayKeep && MAY_COME_AGAIN.has(verdict)) {
        this.#scope.shelf.put(call.args, run);
      } else run?.revoke(why);
      if (!wasSettled) this.#tell("call-end", call);
    }
  }

  #timeIsUp(): void {
    if (this.#verdict === undefined) {
      this.end(this.#scope.deadline.isPast ? "late" : "cancelled");
      return;
    }
    const text = this.#scope.deadline.isPast
      ? errorText("timeout", "timeout: the turn's time is over")
      : errorText("cancelled", "the turn has ended");
    for (const call of this.#calls.values()) {
      if (call.outcome === undefined && call.run === undefined) this.#settle(call, text);
    }
    this.#pump();
  }

  #settle(call: ModelCall, text: ResultText, value?: unknown): void {
    if (call.outcome !== undefined) return;
    const { status, text: shown, charsCut } = text;
    call.outcome = { status, text: shown, charsCut, value, endedUs: this.#nowUs() };
    if (call.run === undefined) this.#trace?.neverRan(call, status);
    this.#tell("call-end", call);
    this.#answer(call.id);
    this.#plan.settle(call.number, status === "ok");
    this.#pump();
    this.#finishIfDone();
  }

  #finishIfDone(): void {
    if (this.#verdict === undefined) return;
    for (const { outcome } of this.#calls.values()) if (outcome === undefined) return;
    this.#letGo();
    this.#trace?.settled();
    this.#scope.prefetch?.stepEnded(this.#step, this.#verdict, this.#calls.values());
    this.#resolve(this.#collect());
  }

  #collect(): readonly ToolResult[] {
    return [...this.#calls.values()].map((call) => call.result(this.#endUs));
  }

  #tell(type: CallEvent["type"], call: ModelCall): void {
    const { observe, counts } = this.#scope;
    if (observe === undefined) return;
    const { number, id, name } = call;
    const told = { number, id, name, atUs: this.#nowUs() };
    try {
      if (type === "call-end") observe({ type, ...told, status: call.outcome!.status });
      else observe({ type, ...told });
    } catch {
      // Who looks on must not be able to break what it looks at.
      counts.observerErrors += 1;
    }
  }

  #nowUs(): number {
    return this.#scope.deadline.clock.nowUs();
  }
}
