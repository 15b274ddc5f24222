/** Draws of what upstreams do, for calls in random worlds. */
import type { Random } from "../../src/clock/index.ts";
import type { FailureKind } from "../../src/policy/index.ts";
import { refusal, type Script } from "./call-world.ts";

export const MS = 1_000;
export const S = 1_000_000;
export const RARE_KINDS: readonly FailureKind[] = [
  "connect",
  "reuse_race",
  "cut",
  "garbage",
  "stream_error",
  "local",
];

/** @returns µs, below `maxMs`. */
export function at(dice: Random, maxMs: number): number {
  return dice.int(maxMs) * MS;
}

export function statusScript(dice: Random, statuses: readonly number[]): Script {
  const retryAfterUs = [undefined, 0, at(dice, 3_000), 60 * S][dice.int(4)];
  return refusal(statuses[dice.int(statuses.length)]!, retryAfterUs, at(dice, 300));
}
