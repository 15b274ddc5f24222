/** Drives a `GuardMachine` in simulated time against scripted checks; what comes back is what a caller would have seen. */
import assert from "node:assert/strict";
import { SimClock } from "../../src/clock/index.ts";
import {
  GUARD_WINDOW,
  type GuardDecision,
  GuardMachine,
  type GuardPiece,
  type GuardPolicy,
  type GuardRefusal,
  type GuardRule,
  type Verdict,
} from "../../src/policy/index.ts";

/** What a check does: 0 µs is an answer within the call, as a pattern gives it; infinite, none. */
export interface Check {
  readonly verdict: Verdict;
  readonly afterUs: number;
}

type Answer = (rule: string, text: string) => Check;

export function rule(name: string, more: Partial<GuardRule> = {}): GuardRule {
  return {
    name,
    stage: "output",
    budgetUs: 300_000,
    onFailure: "closed",
    when: "always",
    ...more,
  };
}

export function guardWorld(
  policy: Partial<GuardPolicy> & Pick<GuardPolicy, "rules">,
  check: Answer,
): GuardWorld {
  return new GuardWorld({ ...GUARD_WINDOW, ...policy }, check);
}

export class GuardWorld {
  readonly clock = new SimClock();
  readonly machine: GuardMachine;
  /** Units that went out, with when. */
  readonly released: { readonly unit: string; readonly atUs: number }[] = [];
  readonly checked: { readonly rule: string; readonly text: string; readonly atUs: number }[] = [];
  readonly cancelled: { readonly rule: string; readonly atUs: number }[] = [];
  refusal: GuardRefusal | undefined;
  finishedUs: number | undefined;
  overUs: number | undefined;
  readonly #policy: GuardPolicy;
  readonly #check: Answer;
  readonly #held: string[] = [];
  readonly #begun = new Set<number>();
  readonly #running = new Map<number, string>();
  readonly #queue: GuardDecision[] = [];
  #isObeying = false;
  #isCut = false;
  #armedUs = Number.POSITIVE_INFINITY;

  constructor(policy: GuardPolicy, check: Answer) {
    this.#policy = policy;
    this.#check = check;
    this.machine = new GuardMachine(policy);
  }

  begin(requestText = ""): void {
    this.#obey(this.machine.begin(requestText, this.clock.nowUs()));
  }

  /** @param unit what goes out if it does; its text is what is checked, unless `pieces` say otherwise. */
  push(unit: string, pieces: readonly GuardPiece[] = [prose(unit)]): void {
    if (this.machine.isOver) return;
    this.#held.push(unit);
    this.#obey(this.machine.push(pieces, unit.length, this.clock.nowUs()));
  }

  end(isWhole = true): void {
    this.#isCut = !isWhole;
    this.#obey(this.machine.end(isWhole, this.clock.nowUs()));
  }

  text(): string {
    return this.released.map(({ unit }) => unit).join("");
  }

  #obey(decisions: readonly GuardDecision[]): void {
    this.#queue.push(...decisions);
    if (this.#isObeying) return;
    this.#isObeying = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      assert(this.overUs === undefined, "nothing follows the end");
      this.#obeyOne(next);
    }
    this.#isObeying = false;
    if (this.machine.isOver) {
      assert.equal(this.#running.size, 0, "no check outlives its guard");
      assert.equal(this.machine.dueUs, Number.POSITIVE_INFINITY, "no timer outlives its guard");
    }
    this.#arm();
  }

  #obeyOne(decision: GuardDecision): void {
    const atUs = this.clock.nowUs();
    switch (decision.do) {
      case "check":
        this.#start(decision.check, this.#policy.rules[decision.rule]!.name, decision.text);
        break;
      case "cancel":
        this.#cancel(decision.check);
        break;
      case "release":
        for (const unit of this.#held.splice(0, decision.units)) this.released.push({ unit, atUs });
        break;
      case "refuse":
        this.refusal = decision.refusal;
        this.overUs = atUs;
        break;
      default:
        assert(this.#held.length === 0 || this.#isCut, "all of it is out");
        this.finishedUs = atUs;
        this.overUs = atUs;
    }
  }

  #start(check: number, name: string, text: string): void {
    this.#begun.add(check);
    this.#running.set(check, name);
    this.checked.push({ rule: name, text, atUs: this.clock.nowUs() });
    const { verdict, afterUs } = this.#check(name, text);
    const tell = (): void => {
      if (!this.#running.delete(check)) return;
      this.#obey(this.machine.verdict(check, verdict, this.clock.nowUs()));
    };
    if (afterUs === 0) tell();
    else if (Number.isFinite(afterUs)) this.clock.at(this.clock.nowUs() + afterUs, tell);
  }

  #cancel(check: number): void {
    assert(this.#begun.has(check), "only what was begun is cancelled");
    const name = this.#running.get(check);
    // One that answers within the call may have done so just before.
    if (name !== undefined) this.cancelled.push({ rule: name, atUs: this.clock.nowUs() });
    this.#running.delete(check);
  }

  #arm(): void {
    const { dueUs } = this.machine;
    if (dueUs >= this.#armedUs || dueUs === Number.POSITIVE_INFINITY) return;
    this.#armedUs = dueUs;
    this.clock.at(dueUs, () => {
      this.#armedUs = Number.POSITIVE_INFINITY;
      this.#obey(this.machine.advance(this.clock.nowUs()));
    });
  }
}

export function prose(text: string, name = "text", choice = 0): GuardPiece {
  return { kind: "prose", choice, name, text };
}

export function call(text: string | undefined, name = "call 0", choice = 0): GuardPiece {
  return { kind: "whole", choice, name, text };
}

/** Cuts a text at the given places, in any order; pieces may be of any length but none. */
export function cutAt(text: string, places: readonly number[]): string[] {
  const sorted = [...new Set(places.map((at) => at % text.length))].sort((a, b) => a - b);
  const parts: string[] = [];
  let from = 0;
  for (const at of [...sorted, text.length]) {
    if (at > from) parts.push(text.slice(from, at));
    from = at;
  }
  return parts;
}
