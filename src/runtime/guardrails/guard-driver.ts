/**
 * Runs a `GuardMachine` on a clock with the rails that it asks for, over units of any kind.
 *
 *     push ─► held units ─► GuardMachine ─┬─ release ─► sink.release
 *                    rails ◄─ check ──────┤
 *                                         └─ refuse, finish, or called off ─► sink.over
 *
 * Invariants: `over` is told once and last; by then no rail is waited for and no timer is set; nothing that was held goes
 * out after a refusal, or when the turn's time is up.
 */
import { type Cancel, DueTimer } from "../../clock/index.ts";
import { Fifo } from "../../core/index.ts";
import {
  type GuardDecision,
  GuardMachine,
  type GuardPiece,
  type GuardRefusal,
  type Verdict,
} from "../../policy/guard/index.ts";
import { NO_SPAN, type OpenSpan, type SpanStatus } from "../../trace/index.ts";
import type { Deadline } from "../deadline.ts";
import { CHECKS_KEPT_MAX, type GuardCheck, type GuardReport, reportOf } from "./guard-report.ts";
import type { RailParts } from "./rail.ts";
import type { Rails } from "./rails.ts";

/** Whoever gets what is clear. */
export interface GuardSink<Unit> {
  release(units: readonly Unit[]): void;
  /** @param end `cut`: called off, or the turn's time is up. */
  over(end: "finished" | "refused" | "cut", report: GuardReport): void;
}

export interface GuardDriverOptions {
  readonly rails: Rails;
  /** Of the turn. */
  readonly deadline: Deadline;
  /** Gets a child of kind `guardrail` for each check. */
  readonly span?: OpenSpan | undefined;
}

interface Asked {
  readonly rule: number;
  readonly beganUs: number;
  readonly span: OpenSpan;
  cancel: Cancel;
}

const STATUS: Readonly<Record<Verdict, SpanStatus>> = {
  clean: "ok",
  flag: "ok",
  unsure: "ok",
  failed: "error",
};

export class GuardDriver<Unit> {
  readonly #rails: Rails;
  readonly #deadline: Deadline;
  readonly #span: OpenSpan;
  readonly #sink: GuardSink<Unit>;
  readonly #machine: GuardMachine;
  readonly #timer: DueTimer;
  readonly #held = new Fifo<Unit>();
  readonly #asked = new Map<number, Asked>();
  readonly #queue = new Fifo<GuardDecision>();
  readonly #checks: GuardCheck[] = [];
  /** Of the check whose verdict is being told. */
  #parts: RailParts = {};
  #checksLeftOut = 0;
  #isObeying = false;
  #isOver = false;
  #refusal: GuardRefusal | null = null;
  readonly #letGo: Cancel;

  constructor({ rails, deadline, span = NO_SPAN }: GuardDriverOptions, sink: GuardSink<Unit>) {
    this.#rails = rails;
    this.#deadline = deadline;
    this.#span = span;
    this.#sink = sink;
    this.#machine = new GuardMachine(rails.policy, ({ rule, stage, verdict, tookUs }) => {
      const check = { rail: rule, stage, verdict, tookUs, parts: this.#parts };
      if (this.#checks.length < CHECKS_KEPT_MAX) this.#checks.push(check);
      else this.#checksLeftOut += 1;
    });
    this.#timer = new DueTimer(deadline.clock, () => {
      this.#obey(this.#machine.advance(this.#nowUs()));
    });
    const { signal } = deadline;
    const onAbort = (): void => this.stop();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#letGo = () => signal.removeEventListener("abort", onAbort);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** @param requestText what the user asks; its checks begin. */
  begin(requestText: string): void {
    if (this.#deadline.isOver) this.stop();
    else this.#obey(this.#machine.begin(requestText, this.#nowUs()));
  }

  /** @param size in characters. */
  push(unit: Unit, pieces: readonly GuardPiece[], size: number): void {
    if (this.#isOver) return;
    this.#held.push(unit);
    this.#obey(this.#machine.push(pieces, size, this.#nowUs()));
  }

  /** @param isWhole false if the answer was cut: a call that never ended is dropped, text is checked as ever. */
  end(isWhole: boolean): void {
    this.#obey(this.#machine.end(isWhole, this.#nowUs()));
  }

  /** Nobody wants the answer any more, or there is no time left: what is held stays here. */
  stop(): void {
    if (this.#isOver) return;
    this.#obey(this.#machine.stop());
    this.#close("cut");
  }

  #nowUs(): number {
    return this.#deadline.clock.nowUs();
  }

  /** A rail that answers at once is told within; its decisions come last. */
  #obey(decisions: readonly GuardDecision[]): void {
    for (const decision of decisions) this.#queue.push(decision);
    if (this.#isObeying) return;
    this.#isObeying = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#obeyOne(next);
    }
    this.#isObeying = false;
    if (this.#machine.isOver) this.#timer.stop();
    else this.#timer.arm(this.#machine.dueUs);
  }

  #obeyOne(decision: GuardDecision): void {
    // Whoever gets what is released may have called it off.
    if (this.#isOver && decision.do !== "cancel") return;
    switch (decision.do) {
      case "check":
        this.#check(decision);
        break;
      case "cancel":
        this.#cancel(decision.check);
        break;
      case "release":
        this.#release(decision.units);
        break;
      case "refuse":
        this.#refusal = decision.refusal;
        this.#close("refused");
        break;
      default:
        this.#close("finished");
    }
  }

  #check({ check, rule, text }: GuardDecision & { do: "check" }): void {
    const { name, stage } = this.#rails.policy.rules[rule]!;
    const span = this.#span.begin("guardrail", name);
    span.set("manx.guardrail.stage", stage);
    const asked: Asked = { rule, beganUs: this.#nowUs(), span, cancel: ignore };
    this.#asked.set(check, asked);
    const cancel = this.#rails.ask(rule, text, (verdict, parts) => {
      if (!this.#asked.delete(check)) return;
      span.set("manx.guardrail.verdict", verdict);
      span.end(STATUS[verdict]);
      this.#parts = parts;
      const decisions = this.#machine.verdict(check, verdict, this.#nowUs());
      this.#parts = {};
      this.#obey(decisions);
    });
    asked.cancel = cancel;
  }

  #cancel(check: number): void {
    const asked = this.#asked.get(check);
    if (asked === undefined) return;
    this.#asked.delete(check);
    const { budgetUs } = this.#rails.policy.rules[asked.rule]!;
    const isSpent = this.#nowUs() - asked.beganUs >= budgetUs;
    if (isSpent) asked.span.set("manx.guardrail.verdict", "failed");
    asked.span.end(isSpent ? "error" : "cancelled");
    asked.cancel();
  }

  #release(units: number): void {
    const parts: Unit[] = [];
    for (let i = 0; i < units; i += 1) parts.push(this.#held.shift()!);
    this.#sink.release(parts);
  }

  #close(end: "finished" | "refused" | "cut"): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer.stop();
    this.#letGo();
    const { tax } = this.#machine;
    const path = end === "cut" ? "cut" : tax.path;
    const checks = { kept: this.#checks, leftOut: this.#checksLeftOut };
    this.#sink.over(end, reportOf({ ...tax, path }, this.#refusal, checks));
  }
}

function ignore(): void {}
