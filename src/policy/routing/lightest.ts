import { assert } from "../../core/index.ts";

/** Index of the smallest value, looking from `start` round: of equals, not always the first. */
export function lightest(loads: readonly number[], start: number): number {
  assert(loads.length > 0, "there is a replica");
  let best = start % loads.length;
  for (let i = 1; i < loads.length; i += 1) {
    const replica = (start + i) % loads.length;
    if (loads[replica]! < loads[best]!) best = replica;
  }
  return best;
}
