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

/** What a check does; one that never answers has an infinite `afterUs`. */
export interface Check {
  readonly verdict: Verdict;
  readonly afterUs: number;
}

export interface World {
  readonly clock: SimClock;
  readonly machine: GuardMachine;
  /** Units that went out, with when. */
  readonly released: { readonly unit: string; readonly atUs: number }[];
  readonly checked: { readonly rule: string; readonly text: string; readonly atUs: number }[];
  readonly cancelled: { readonly rule: string; readonly atUs: number }[];
  refusal: GuardRefusal | undefined;
  finishedUs: number | undefined;
  overUs: number | undefined;
  begin(requestText?: string): void;
  push(unit: string, pieces?: readonly GuardPiece[]): void;
  end(isWhole?: boolean): void;
  text(): string;
}

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

/** @param check 0 µs: it answers within the call, as a pattern does. */
export function guardWorld(
  policy: Partial<GuardPolicy> & Pick<GuardPolicy, "rules">,
  check: (rule: string, text: string) => Check,
): World {
  const clock = new SimClock();
  const machine = new GuardMachine({ ...GUARD_WINDOW, ...policy });
  const held: string[] = [];
  const begun = new Set<number>();
  const running = new Map<number, string>();
  let armedUs = Number.POSITIVE_INFINITY;
  let isCut = false;

  const queue: GuardDecision[] = [];
  let isObeying = false;
  const obey = (decisions: readonly GuardDecision[]): void => {
    queue.push(...decisions);
    if (isObeying) return;
    isObeying = true;
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      assert(world.overUs === undefined, "nothing follows the end");
      obeyOne(next);
    }
    isObeying = false;
    if (machine.isOver) {
      assert.equal(running.size, 0, "no check outlives its guard");
      assert.equal(machine.dueUs, Number.POSITIVE_INFINITY, "no timer outlives its guard");
    }
    arm();
  };
  const obeyOne = (decision: GuardDecision): void => {
    const atUs = clock.nowUs();
    switch (decision.do) {
      case "check": {
        const { name } = policy.rules[decision.rule]!;
        begun.add(decision.check);
        running.set(decision.check, name);
        world.checked.push({ rule: name, text: decision.text, atUs });
        answer(decision.check, check(name, decision.text));
        break;
      }
      case "cancel":
        assert(begun.has(decision.check), "only what was begun is cancelled");
        // One that answers within the call may have done so just before.
        if (running.has(decision.check)) {
          world.cancelled.push({ rule: running.get(decision.check)!, atUs });
        }
        running.delete(decision.check);
        break;
      case "release":
        for (const unit of held.splice(0, decision.units)) world.released.push({ unit, atUs });
        break;
      case "refuse":
        world.refusal = decision.refusal;
        world.overUs = atUs;
        break;
      default:
        assert(held.length === 0 || isCut, "all of it is out");
        world.finishedUs = atUs;
        world.overUs = atUs;
    }
  };
  const answer = (number: number, { verdict, afterUs }: Check): void => {
    if (!Number.isFinite(afterUs)) return;
    const tell = (): void => {
      if (running.delete(number)) obey(machine.verdict(number, verdict, clock.nowUs()));
    };
    if (afterUs === 0) tell();
    else clock.at(clock.nowUs() + afterUs, tell);
  };
  const arm = (): void => {
    const { dueUs } = machine;
    if (dueUs >= armedUs || dueUs === Number.POSITIVE_INFINITY) return;
    armedUs = dueUs;
    clock.at(dueUs, () => {
      armedUs = Number.POSITIVE_INFINITY;
      obey(machine.advance(clock.nowUs()));
    });
  };

  const world: World = {
    clock,
    machine,
    released: [],
    checked: [],
    cancelled: [],
    refusal: undefined,
    finishedUs: undefined,
    overUs: undefined,
    begin: (requestText = "") => obey(machine.begin(requestText, clock.nowUs())),
    push: (unit, pieces = [prose(unit)]) => {
      if (machine.isOver) return;
      held.push(unit);
      obey(machine.push(pieces, unit.length, clock.nowUs()));
    },
    end: (isWhole = true) => {
      isCut = !isWhole;
      obey(machine.end(isWhole, clock.nowUs()));
    },
    text: () => world.released.map(({ unit }) => unit).join(""),
  };
  return world;
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
