/** A text that breaks off past its first content is gone on with, once, where that can be. */
import { describe, expect, it } from "vitest";
import { answer, drive, makeRoute, type Script, world } from "../../../test/support/call-world.ts";
import { CALL_POLICY } from "./call-policy.ts";
import type { FailureKind } from "./failure.ts";
import { plainFailure } from "./failure.ts";

const MS = 1_000;
const S = 1_000_000;
const stall = { continueByPrefill: true };
const canContinue = (): boolean => true;

/** Breaks 30 ms after its first content. */
function broken(kind: FailureKind): Script {
  return { headUs: 5 * MS, contentUs: 50 * MS, endUs: 80 * MS, failure: plainFailure(kind) };
}

function play(
  scripts: readonly Script[],
  options: Parameters<typeof makeRoute>[1] & { canContinue?: () => boolean } = {},
) {
  const { clock, random } = world();
  const { policy, ...more } = options;
  const route = makeRoute(random, {
    targets: 2,
    orders: [0, 1],
    canPrefill: [true, true],
    policy: { stall, ...policy },
    ...more,
  });
  let served = 0;
  const trace = drive(
    clock,
    route,
    {},
    () => {
      served += 1;
      return scripts[Math.min(served, scripts.length) - 1]!;
    },
    { canContinue: options.canContinue ?? canContinue },
  );
  clock.runSync(1_000 * S);
  return { trace, route };
}

describe("a text that breaks off", () => {
  it("goes on at another target that can, at once, and its end is the call's", () => {
    const { trace, route } = play([broken("cut"), answer(40 * MS)]);
    expect(trace.begins.map(({ cause, target, atUs }) => [cause, target, atUs])).toEqual([
      ["first", 0, 0],
      ["continue", 1, 80 * MS],
    ]);
    expect([trace.delivered, trace.failure, trace.endedUs]).toEqual([1, undefined, 220 * MS]);
    expect(route.retries.spent).toBe(1);
  });

  it("goes on after a stall as well", () => {
    const timeouts = { ...CALL_POLICY.timeouts, progressGapUs: S };
    const { trace } = play([{ headUs: 5 * MS, contentUs: 50 * MS }, answer(40 * MS)], {
      policy: { timeouts },
    });
    expect(trace.cancels).toEqual([{ attempt: 0, why: "stall_progress", atUs: S + 50 * MS }]);
    expect([trace.begins[1]?.cause, trace.failure]).toEqual(["continue", undefined]);
  });

  it("goes on at the same target if no other can", () => {
    const { trace } = play([broken("cut"), answer(40 * MS)], { canPrefill: [true, false] });
    expect(trace.begins.map(({ target }) => target)).toEqual([0, 0]);
    expect(trace.failure).toBeUndefined();
  });

  it("goes on once, and then the caller is told", () => {
    for (const second of [broken("cut"), { endUs: 10 * MS, failure: plainFailure("connect") }]) {
      const { trace } = play([broken("cut"), second, answer(40 * MS)]);
      expect(trace.begins).toHaveLength(2);
      expect(trace.failure).toMatchObject({ isAfterContent: true, attempt: 1 });
    }
  });

  it("that needed no more output is whole", () => {
    const { trace } = play([broken("cut"), { headUs: 5 * MS, endUs: 20 * MS }]);
    expect([trace.delivered, trace.failure]).toEqual([1, undefined]);
  });

  it.each<[string, Parameters<typeof play>[1], FailureKind]>([
    ["the policy does not want it", { policy: { stall: { continueByPrefill: false } } }, "cut"],
    ["no target can", { canPrefill: [false, false] }, "cut"],
    ["it is no plain text", { canContinue: () => false }, "cut"],
    ["the retry budget is spent", { retryFill: 0 }, "cut"],
    ["the deadline is near", { policy: { stall, deadlineUs: 81 * MS } }, "cut"],
    ["the upstream has said why", {}, "stream_error"],
  ])("is an error if %s", (_, options, kind) => {
    const { clock, random } = world();
    const route = makeRoute(random, {
      targets: 2,
      orders: [0, 1],
      canPrefill: [true, true],
      policy: { stall },
      ...options,
    });
    for (const target of route.targets) {
      for (let i = 0; i < 30; i += 1) target.ttft.record(500, 40 * MS);
    }
    const trace = drive(clock, route, {}, () => broken(kind), { canContinue, ...options });
    clock.runSync(100 * S);
    expect(trace.begins).toHaveLength(1);
    expect(trace.failure).toMatchObject({ kind, isAfterContent: true });
  });

  it("that has effects beyond its answer is not asked for twice", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { canPrefill: [true], policy: { stall } });
    const trace = drive(clock, route, { isRepeatable: false }, () => broken("cut"), {
      canContinue,
    });
    clock.runSync(10 * S);
    expect(trace.begins).toHaveLength(1);
  });
});
