/** One call in a world drawn from a seed: any policy, any number of targets, upstreams that fail in any way at any time. */
import assert from "node:assert/strict";
import { Random } from "../../src/clock/index.ts";
import {
  CALL_POLICY,
  type CallPolicy,
  HEDGE_POLICY,
  plainFailure,
} from "../../src/policy/index.ts";
import { answer, drive, makeRoute, type Script, world } from "./call-world.ts";
import { at, MS, RARE_KINDS, S, statusScript } from "./random-script.ts";

/** @throws where a law of calls is broken; the seed repeats it. */
export function playRandomCall(seed: number): void {
  const { clock, random } = world(seed);
  const dice = new Random(seed, "world");
  const policy: Partial<CallPolicy> = {
    deadlineUs: dice.int(3) === 0 ? 0 : dice.int(20) * 500 * MS,
    timeouts: {
      connectUs: (1 + dice.int(2)) * 300 * MS,
      headersUs: 4 * S,
      firstContentUs: dice.int(2) * 2 * S,
      lifeGapUs: 5 * S,
      progressGapUs: 3 * S,
      thinkingGapUs: 6 * S,
    },
    retry: { ...CALL_POLICY.retry, attemptsMax: 1 + dice.int(4) },
    hedge: dice.int(2) === 0 ? null : { ...HEDGE_POLICY, share: 1, sameTarget: dice.int(2) === 0 },
    stall: { continueByPrefill: dice.int(2) === 0 },
  };
  const route = makeRoute(random, {
    policy,
    targets: 1 + dice.int(3),
    orders: [0, dice.int(2), 1],
    canPrefill: [dice.int(2) === 0, dice.int(2) === 0, true],
  });
  for (let i = 0; i < 25; i += 1) {
    for (const target of route.targets) target.ttft.record(500, (50 + dice.int(300)) * MS);
    route.hedges.earn(500, 0);
  }
  const isRepeatable = dice.int(4) > 0;
  const isStream = dice.int(4) > 0;
  const canContinue = (): boolean => dice.int(3) > 0;
  const trace = drive(clock, route, { isRepeatable, isStream }, () => randomScript(dice), {
    canContinue,
  });
  clock.runSync(200 * S);
  const { call } = trace;
  assert(trace.endedUs !== undefined, `seed ${seed} never ends`);
  assert(trace.endedUs <= call.deadlineUs, `seed ${seed} ends late`);
  const extra = ["hedge", "reuse_race", "continue"];
  const counted = trace.begins.filter(({ cause }) => !extra.includes(cause));
  assert(counted.length <= route.policy.retry.attemptsMax, `seed ${seed} tries too often`);
  const hedges = trace.begins.filter(({ cause }) => cause === "hedge").length;
  assert(hedges <= (isRepeatable && isStream ? 1 : 0), `seed ${seed} hedges too often`);
  const { continued } = trace;
  if (continued !== undefined) {
    const { target } = trace.begins.find(({ attempt }) => attempt === continued)!;
    assert(policy.stall!.continueByPrefill && isRepeatable, `seed ${seed} continues unasked`);
    assert(route.targets[target]!.canPrefill, `seed ${seed} asks one that cannot`);
  }
  if (trace.failure === undefined) return;
  const isDelivered = trace.delivered !== undefined;
  assert(trace.failure.isAfterContent === isDelivered, `seed ${seed} says the wrong thing`);
}

const STATUSES = [400, 401, 404, 408, 409, 429, 500, 502, 503, 504, 529];

function randomScript(dice: Random): Script {
  switch (dice.int(6)) {
    case 0:
      return statusScript(dice, STATUSES);
    case 1:
      return {
        endUs: at(dice, 500),
        failure: plainFailure(RARE_KINDS[dice.int(RARE_KINDS.length)]!, 500),
      };
    case 2: // Cut or stalled after content.
      return {
        headUs: 5 * MS,
        contentUs: 50 * MS,
        ...(dice.int(2) === 0 && { endUs: 80 * MS, failure: plainFailure("cut") }),
      };
    case 3: // Silence in some phase.
      return dice.int(2) === 0 ? { connectUs: Number.POSITIVE_INFINITY } : { headUs: 5 * MS };
    default:
      return answer(at(dice, 2_500) + 6 * MS);
  }
}
