/**
 * One text through the rules of its stage, from cheap to dear:
 *
 *     all `always` rules at once ─┬─ one flags ────────────► refused, the others are cancelled
 *                                 ├─ all clean ────────────► clean
 *                                 └─ clean, some unsure ───► the next `unsure` rule alone, and so on
 *
 * Invariant: it ends once; by then no check of it is running. The dear rule settles what a cheaper one could not tell; if
 * none is left, the rule that was unsure decides by its `onFailure`. A check never takes longer than its budget.
 */
import type { GuardResult } from "./guard-decision.ts";
import type { GuardRule, GuardStage, Verdict } from "./guard-policy.ts";

export interface CascadeEnd {
  readonly outcome: "clean" | "flag" | "failed";
  /** That refused; null if clean. */
  readonly rule: GuardRule | null;
}

/** What the cascades of one guard share: rules, and how a check is asked for, taken back and noted. */
export interface CheckDesk {
  readonly rules: readonly GuardRule[];
  /** @returns a number for the check. */
  begin(rule: number, text: string): number;
  cancel(check: number): void;
  note(result: GuardResult): void;
}

interface Running {
  readonly check: number;
  readonly rule: number;
  readonly beganUs: number;
}

export class Cascade {
  readonly #stage: GuardStage;
  readonly #text: string;
  readonly #desk: CheckDesk;
  #running: Running[] = [];
  /** Index of the newest rule that has said `unsure`; −1 if none has, or a dearer one has settled it. */
  #unsure = -1;
  #end: CascadeEnd | undefined;

  constructor(stage: GuardStage, text: string, desk: CheckDesk, nowUs: number) {
    this.#stage = stage;
    this.#text = text;
    this.#desk = desk;
    for (const [index, rule] of desk.rules.entries()) {
      if (rule.stage === stage && rule.when === "always") this.#ask(index, nowUs);
    }
    this.#settle(nowUs);
  }

  /** undefined while it runs. */
  get end(): CascadeEnd | undefined {
    return this.#end;
  }

  /** When the first budget is spent; infinite if nothing runs. */
  get dueUs(): number {
    let dueUs = Number.POSITIVE_INFINITY;
    for (const running of this.#running) dueUs = Math.min(dueUs, this.#lastUs(running));
    return dueUs;
  }

  owns(check: number): boolean {
    return this.#running.some((one) => one.check === check);
  }

  verdict(check: number, verdict: Verdict, nowUs: number): void {
    const running = this.#running.find((one) => one.check === check);
    if (running !== undefined) this.#take(running, verdict, nowUs);
  }

  /** Checks whose budget is spent have failed. */
  advance(nowUs: number): void {
    for (const running of [...this.#running]) {
      if (nowUs < this.#lastUs(running) || !this.#running.includes(running)) continue;
      this.#desk.cancel(running.check);
      this.#take(running, "failed", nowUs);
    }
  }

  /** Its verdict no longer matters. */
  stop(): void {
    for (const { check } of this.#running) this.#desk.cancel(check);
    this.#running = [];
  }

  #lastUs({ rule, beganUs }: Running): number {
    return beganUs + this.#desk.rules[rule]!.budgetUs;
  }

  #ask(rule: number, nowUs: number): void {
    const check = this.#desk.begin(rule, this.#text);
    this.#running.push({ check, rule, beganUs: nowUs });
  }

  #take(running: Running, verdict: Verdict, nowUs: number): void {
    this.#running = this.#running.filter((one) => one !== running);
    const index = running.rule;
    const rule = this.#desk.rules[index]!;
    const tookUs = nowUs - running.beganUs;
    this.#desk.note({ rule: rule.name, stage: this.#stage, verdict, tookUs });
    if (verdict === "flag" || (verdict === "failed" && rule.onFailure === "closed")) {
      this.stop();
      this.#end = { outcome: verdict, rule };
      return;
    }
    if (verdict === "unsure") this.#unsure = Math.max(this.#unsure, index);
    // A dearer rule that has looked settles the doubt; one that could not, and may fail, lets it pass.
    else if (rule.when === "unsure") this.#unsure = -1;
    this.#settle(nowUs);
  }

  /** All that was asked has answered: what now? */
  #settle(nowUs: number): void {
    if (this.#running.length > 0 || this.#end !== undefined) return;
    const doubtful = this.#desk.rules[this.#unsure];
    if (doubtful === undefined) {
      this.#end = { outcome: "clean", rule: null };
      return;
    }
    const dearer = this.#dearerThan(this.#unsure);
    if (dearer >= 0) {
      this.#ask(dearer, nowUs);
      return;
    }
    this.#end =
      doubtful.onFailure === "open"
        ? { outcome: "clean", rule: null }
        : { outcome: "failed", rule: doubtful };
  }

  /** @returns the next rule of this stage that settles doubts, or −1. */
  #dearerThan(index: number): number {
    return this.#desk.rules.findIndex(({ stage, when }, at) => {
      return at > index && stage === this.#stage && when === "unsure";
    });
  }
}
