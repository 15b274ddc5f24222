/** Which of a call's targets gets its next attempt: the lowest order that has a usable one, by weight within it. */
import type { Random } from "../../clock/index.ts";
import type { Target } from "./target.ts";

export interface ChoiceRules {
  /** Not these, whatever their state. */
  readonly excluded: ReadonlySet<number>;
  readonly nowUs: number;
}

/** @returns index, or −1 if none may be used now. */
export function chooseTarget(
  targets: readonly Target[],
  { excluded, nowUs }: ChoiceRules,
  random: Random,
): number {
  const healthy = pick(targets, random, (target, at) => {
    return !excluded.has(at) && target.isHealthy(nowUs);
  });
  if (healthy >= 0) return healthy;
  return pick(targets, random, (target, at) => !excluded.has(at) && target.isBearable(nowUs));
}

/** @returns when one of the others is worth a look; in the past if now, infinite if there is none. */
export function soonestUs(targets: readonly Target[], excluded: ReadonlySet<number>): number {
  let soonest = Number.POSITIVE_INFINITY;
  for (const [at, { availableUs }] of targets.entries()) {
    if (!excluded.has(at)) soonest = Math.min(soonest, availableUs);
  }
  return soonest;
}

function pick(
  targets: readonly Target[],
  random: Random,
  isUsable: (target: Target, at: number) => boolean,
): number {
  // One target is the usual case; it needs no draw.
  if (targets.length === 1) return isUsable(targets[0]!, 0) ? 0 : -1;
  let order = Number.POSITIVE_INFINITY;
  let weight = 0;
  const usable: number[] = [];
  for (const [at, target] of targets.entries()) {
    if (target.order > order || !isUsable(target, at)) continue;
    if (target.order < order) {
      order = target.order;
      weight = 0;
      usable.length = 0;
    }
    usable.push(at);
    weight += target.weight;
  }
  let draw = random.next() * weight;
  for (const at of usable) {
    draw -= targets[at]!.weight;
    if (draw < 0) return at;
  }
  return usable.at(-1) ?? -1;
}
