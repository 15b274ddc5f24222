/** A target that hedges itself, in simulated time: cured where a call is late by chance, left alone where all is slow. */
import { describe, expect, it } from "vitest";
import { type CallTrace, drive, makeRoute, world } from "../../../test/support/call-world.ts";
import { Random } from "../../clock/index.ts";
import { HEDGE_POLICY } from "./call-policy.ts";

const MS = 1_000;
const CALLS = 2_000;
/** Until what is slow begins to be the usual. */
const ONSET_CALLS = 150;

/** @param slowness of all calls of the second half. */
function run(seed: number, perS: number, slowness: number, hedges = true): CallTrace[] {
  const { clock, random } = world(seed);
  const dice = new Random(seed, "upstream");
  const hedge = hedges ? HEDGE_POLICY : null;
  const route = makeRoute(random, { targets: 1, policy: { hedge, breaker: null } });
  const traces: CallTrace[] = [];
  let atUs = 0;
  for (let i = 0; i < CALLS; i += 1) {
    atUs += Math.round(dice.exponential(1_000 / perS) * MS);
    clock.at(atUs, () => {
      const upstream = () => {
        const chance = dice.next() < 0.02 ? 10 : 1;
        const base = 400 * Math.exp(0.35 * dice.normal()) * (i >= CALLS / 2 ? slowness : 1);
        const contentUs = Math.round(base * chance * MS);
        return { headUs: 5 * MS, contentUs, endUs: contentUs + 500 * MS };
      };
      traces[i] = drive(clock, route, { inputTokens: 1_500 }, upstream);
    });
  }
  clock.runSync();
  return traces;
}

function p99Ms(traces: readonly CallTrace[]): number {
  const times = traces.map(({ contentUs, begins }) => (contentUs! - begins[0]!.atUs) / MS);
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
}

describe("a lone target that hedges itself", () => {
  it.each([
    [20, 1],
    [5, 1],
    [1, 2],
    [0.2, 2],
  ])("is seen to slow down, at %d calls a second after %d hedges", (perS, most) => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const onset = run(seed, perS, 3).slice(CALLS / 2, CALLS / 2 + ONSET_CALLS);
      const hedged = onset.filter(({ begins }) => begins.length > 1);
      expect(hedged.length, `seed ${seed}`).toBeLessThanOrEqual(most);
    }
  });

  it.each([20, 1])("loses most of a tail by chance, at %d calls a second", (perS) => {
    for (let seed = 1; seed <= 3; seed += 1) {
      const without = p99Ms(run(seed, perS, 1, false));
      expect(p99Ms(run(seed, perS, 1)), `seed ${seed}`).toBeLessThan(0.45 * without);
    }
  });
});
