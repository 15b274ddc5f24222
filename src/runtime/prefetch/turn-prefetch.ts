/**
 * Prefetching in one turn. While the model thinks, likely calls are begun; when it asks for one of them, by name and
 * canonical arguments, the call takes over the run; everything else is thrown away, and nobody sees its result.
 *
 *     step begins ─► guesses ─► begun ─┬─ asked for ────────────► adopted
 *                                      ├─ a call changes something ─► thrown away
 *                                      └─ not in the message ───────► thrown away
 *
 * Invariants: each run is adopted once, unless its tool says that a result may be shared; a run that began before something
 * was changed is never adopted after it; a failed one is never adopted.
 */
import {
  type LoggedStep,
  type PastCall,
  type PrefetchCandidate,
  TurnPast,
} from "../../policy/prefetch/index.ts";
import { NO_SPAN, type OpenSpan } from "../../trace/index.ts";
import { CallRun } from "../call-run.ts";
import { type CallPlace, UNTRACED } from "../call-trace.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { DispatchScope } from "../dispatch-scope.ts";
import type { Checked } from "../input-check.ts";
import type { ModelCall } from "../model-call.ts";
import { callKey } from "../run-shelf.ts";
import { MAY_COME_AGAIN, type StreamVerdict } from "../stream-verdict.ts";
import type { Tool } from "../tool.ts";
import { BegunCall } from "./begun-call.ts";
import type { PrefetchDesk, ThrowAway } from "./prefetch-desk.ts";

interface Guess extends PrefetchCandidate {
  readonly known: Tool;
  readonly call: string;
}

interface OpenStep {
  readonly startUs: number;
  readonly guesses: readonly Guess[];
  thinkUs: number;
}

/** The step that a guess is made for. */
interface Origin {
  readonly step: number;
  readonly under: OpenSpan;
  readonly admit: DispatchScope["admit"];
}

/** Further steps are not logged. */
const STEPS_MAX = 1_000;

export class TurnPrefetch {
  readonly #desk: PrefetchDesk;
  readonly #scope: DispatchScope;
  readonly #past: TurnPast;
  readonly #begun = new Map<string, BegunCall>();
  /** Runs that were adopted, and that another call with the same arguments may share. */
  readonly #shared = new Map<string, BegunCall>();
  readonly #steps = new Map<number, OpenStep>();
  readonly #log: LoggedStep[] = [];
  #guessed = 0;
  #changing = 0;
  #isClosed = false;

  constructor(desk: PrefetchDesk, scope: DispatchScope, input: unknown) {
    this.#desk = desk;
    this.#scope = scope;
    this.#past = new TurnPast(input);
  }

  /** The model begins to think. @param under the step's span. @param admit the step's: a guard's may be its own. */
  think(step: number, under: OpenSpan, admit: DispatchScope["admit"]): void {
    if (this.#isClosed) return;
    const startUs = this.#nowUs;
    const guesses = this.#desk.governor.isZero ? [] : this.#guesses();
    this.#steps.set(step, { startUs, guesses, thinkUs: 0 });
    const fresh = guesses.filter(({ call }) => !this.#isUnderWay(call, step));
    if (this.#changing > 0) {
      for (const _ of fresh) this.#desk.refused("changing");
      return;
    }
    const verdicts = this.#desk.governor.decide(fresh, {
      running: this.#desk.running,
      turn: this.#guessed,
    });
    for (const one of verdicts) if (!one.start) this.#desk.refused(one.why);
    const started = verdicts.filter((one) => one.start);
    // Something runs: whatever else was refused, it is not off.
    if (started.length > 0) this.#desk.lastRefusal = undefined;
    for (const { candidate } of started) this.#start(candidate, { step, under, admit });
  }

  /** @returns a run for a call of the model that may begin now. */
  claim(tool: Tool, args: unknown, callId: string): CallRun | undefined {
    const call = callKey(tool.name, args);
    const shared = this.#shared.get(call);
    if (shared !== undefined && !shared.isStale(this.#nowUs)) return shared.run;
    const begun = this.#begun.get(call);
    if (begun === undefined) return undefined;
    this.#begun.delete(call);
    if (begun.run === undefined) begun.notBegun();
    else if (begun.isStale(this.#nowUs)) begun.throwAway("stale", this.#nowUs);
    else if (begun.isOpen) {
      this.#scope.counts.prefetchHits += 1;
      if (tool.prefetch?.isCacheable === true) this.#shared.set(call, begun);
      return begun.adopt(callId, this.#nowUs);
    }
    return undefined;
  }

  /** Whether a call that has these fields so far may still become one that is begun. */
  mayBecome(tool: Tool, fields: Readonly<Record<string, unknown>>): boolean {
    for (const { tool: known, args } of this.#openGuesses()) {
      const guessed = args as Readonly<Record<string, unknown>>;
      const agrees = ([name, value]: [string, unknown]): boolean =>
        Object.hasOwn(guessed, name) && canonicalJson(guessed[name]) === canonicalJson(value);
      if (known === tool.name && Object.entries(fields).every(agrees)) return true;
    }
    return false;
  }

  /** A call that changes something is meant: what was read before it is old. */
  changed(): void {
    this.#throwAll("changed");
    this.#shared.clear();
  }

  /** The code of such a call begins, or has ended. */
  changing(isOver: boolean): void {
    this.#changing += isOver ? -1 : 1;
    this.changed();
  }

  /** @param asked all calls of the message so far. */
  messageEnded(step: number, verdict: StreamVerdict, asked: Iterable<ModelCall>): void {
    const open = this.#steps.get(step);
    if (open === undefined) return;
    open.thinkUs = this.#nowUs - open.startUs;
    if (MAY_COME_AGAIN.has(verdict)) return;
    if (verdict !== "run" && verdict !== "no-calls") {
      this.#throwAll("ended", step);
      return;
    }
    const calls = new Set<string>();
    for (const { isSealed, name, args } of asked) if (isSealed) calls.add(callKey(name, args));
    this.#desk.governor.thought(open.thinkUs);
    for (const guess of open.guesses) this.#desk.governor.scored(guess, calls.has(guess.call));
    for (const [call, begun] of [...this.#begun]) {
      // What the message asks for may still wait for what it needs.
      if (begun.step <= step && !calls.has(call)) this.#throw(call, begun, "missed");
    }
  }

  /** All calls of the message have their results. */
  stepEnded(step: number, verdict: StreamVerdict, calls: Iterable<ModelCall>): void {
    const open = this.#steps.get(step);
    this.#steps.delete(step);
    if (open === undefined || MAY_COME_AGAIN.has(verdict)) return;
    this.#throwAll("missed", step);
    this.#shared.clear();
    if (verdict !== "run" && verdict !== "no-calls") return;
    const known = [...calls].filter(({ isSealed, tool }) => isSealed && tool !== undefined);
    this.#past.add(known.map((call) => pastCall(step, call)));
    for (const call of known) this.#count(call);
    if (this.#log.length < STEPS_MAX) {
      this.#log.push({
        thinkUs: open.thinkUs,
        calls: known.map((call) => ({
          tool: call.name,
          args: call.args,
          tookUs: tookUs(call) ?? 0,
          ...(call.outcome?.status === "ok" && { result: call.outcome.value }),
        })),
      });
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#throwAll("ended");
    this.#shared.clear();
    this.#desk.ended({ input: this.#past.input, steps: this.#log });
  }

  #guesses(): readonly Guess[] {
    const { tools, slots } = this.#scope;
    const found: Guess[] = [];
    for (const guess of this.#desk.predictor.guesses(this.#past)) {
      const known = tools.get(guess.tool);
      if (known?.prefetch === undefined) this.#desk.refused("not-prefetchable");
      else {
        const { resource, prefetch } = known;
        const call = callKey(guess.tool, guess.args);
        const pressure = slots.pressure(resource);
        found.push({ ...guess, known, call, resource, pressure, cost: prefetch.cost });
      }
    }
    return found;
  }

  *#openGuesses(): Generator<Guess> {
    for (const { guesses } of this.#steps.values()) {
      for (const guess of guesses) if (this.#begun.has(guess.call)) yield guess;
    }
  }

  /** A message that failed is asked for again: what was begun for it serves the next one. */
  #isUnderWay(call: string, step: number): boolean {
    const begun = this.#begun.get(call);
    if (begun !== undefined) begun.step = step;
    return begun !== undefined || this.#scope.shelf.has(call);
  }

  #start(guess: Guess, at: Origin): void {
    this.#guessed += 1;
    const begun = new BegunCall(guess.known, at.step, this.#desk);
    this.#begun.set(guess.call, begun);
    const check = this.#scope.tools.check(guess.known, guess.args);
    if (check instanceof Promise) {
      void check.then((checked) => this.#checked(guess, begun, checked, at));
    } else this.#checked(guess, begun, check, at);
  }

  #checked(guess: Guess, begun: BegunCall, checked: Checked, at: Origin): void {
    if (!begun.isOpen) return;
    if ("problem" in checked) {
      this.#giveUp(guess, begun, "invalid");
      return;
    }
    const { admit, under } = at;
    const go = (isBlocked: boolean): void => {
      if (!begun.isOpen) return;
      if (isBlocked) this.#giveUp(guess, begun, "blocked");
      else this.#run(guess, begun, checked.args, under);
    };
    if (admit === undefined) {
      go(false);
      return;
    }
    const { name, effect } = guess.known;
    try {
      const id = guessId(this.#guessed);
      const admission = admit({ id, name, effect, args: checked.args, isGuess: true });
      if (admission instanceof Promise) {
        admission.then(
          (late) => go(late !== undefined),
          () => go(true),
        );
      } else go(admission !== undefined);
    } catch {
      go(true);
    }
  }

  #giveUp({ call }: Guess, begun: BegunCall, why: "invalid" | "blocked"): void {
    if (this.#begun.get(call) === begun) this.#begun.delete(call);
    begun.notBegun();
    this.#desk.refused(why);
  }

  #run({ known, call }: Guess, begun: BegunCall, args: unknown, under: OpenSpan): void {
    const place: CallPlace = under === NO_SPAN ? UNTRACED : { under, after: [] };
    const run = new CallRun(
      known,
      {
        callId: guessId(this.#guessed),
        args,
        whole: Promise.resolve(args),
        place,
        guess: { released: (how) => this.#desk.released(how) },
      },
      this.#scope,
    );
    begun.run = run;
    run.whenSettled(({ status }) => {
      begun.settled();
      if (!begun.isOpen || status === "ok") return;
      if (this.#begun.get(call) === begun) this.#begun.delete(call);
      const isOver = this.#scope.deadline.isOver;
      const why = isOver ? "ended" : status === "cancelled" ? "evicted" : "failed";
      if (run.startedUs === null) this.#desk.refused("slots");
      begun.throwAway(why, this.#nowUs);
    });
    run.begin();
    if (run.startedUs === null) return;
    this.#desk.begun += 1;
    this.#scope.counts.prefetched += 1;
  }

  #throwAll(why: ThrowAway, step = Number.POSITIVE_INFINITY): void {
    for (const [call, begun] of [...this.#begun]) {
      if (begun.step <= step) this.#throw(call, begun, why);
    }
  }

  #throw(call: string, begun: BegunCall, why: ThrowAway): void {
    this.#begun.delete(call);
    begun.throwAway(why, this.#nowUs);
  }

  #count(call: ModelCall): void {
    const { name, resource, prefetch } = call.tool!;
    const us = tookUs(call);
    if (us === undefined) return;
    const { governor } = this.#desk;
    governor.purse.earn(prefetch?.cost ?? 1);
    if (call.outcome?.status === "ok") governor.took(name, resource, us);
  }

  get #nowUs(): number {
    return this.#scope.deadline.clock.nowUs();
  }
}

function guessId(number: number): string {
  return `guess_${number}`;
}

function pastCall(step: number, { name, args, outcome }: ModelCall): PastCall {
  return {
    step,
    tool: name,
    args,
    result: outcome?.status === "ok" ? outcome.value : undefined,
  };
}

/** µs of the call's runs; undefined if there was none. */
function tookUs({ run }: ModelCall): number | undefined {
  const outcome = run?.outcome;
  return outcome === undefined || outcome.startedUs === null
    ? undefined
    : outcome.endedUs - outcome.startedUs;
}
