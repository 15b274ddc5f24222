import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { Join } from "./join.ts";
import type { JoinDecision, JoinEnding } from "./join-decision.ts";
import type { JoinBranch, JoinPolicy, StragglerHedge } from "./join-policy.ts";

interface Script {
  /** Of each attempt; false fails. */
  readonly attempts: ReadonlyArray<readonly [tookUs: number, isOk: boolean]>;
}

interface Played {
  readonly join: Join;
  readonly ending: JoinEnding;
  readonly decisions: readonly JoinDecision[];
}

/** Plays a fan-out to its end; every rule that holds for all of them is checked on the way. */
function play(
  policy: JoinPolicy,
  branches: readonly (JoinBranch & Script)[],
  hedge?: StragglerHedge,
): Played {
  const clock = new SimClock();
  const join = new Join(policy, branches, 0, hedge);
  const decisions: JoinDecision[] = [];
  const out = new Set<string>();
  const obey = (made: readonly JoinDecision[]): void => {
    for (const decision of made) {
      expect(decisions.at(-1)?.do).not.toBe("finish");
      decisions.push(decision);
      if (decision.do === "finish") continue;
      const key = `${decision.branch}/${decision.attempt}`;
      if (decision.do === "cancel") expect(out.delete(key)).toBe(true);
      else {
        out.add(key);
        const [tookUs, isOk] = branches[decision.branch]!.attempts[decision.attempt - 1]!;
        clock.at(clock.nowUs() + tookUs, () => {
          out.delete(key);
          const tell = isOk ? join.ok.bind(join) : join.failed.bind(join);
          obey(tell(decision.branch, decision.attempt, clock.nowUs()));
        });
      }
    }
    if (Number.isFinite(join.dueUs)) {
      const { dueUs } = join;
      clock.at(dueUs, () => obey(join.dueUs <= clock.nowUs() ? join.advance(clock.nowUs()) : []));
    }
  };
  obey(join.start());
  clock.runSync();
  expect(out.size).toBe(0);
  return { join, ending: join.ending!, decisions };
}

function branch(name: string, tookUs: number, more: Partial<JoinBranch & Script> = {}) {
  const attempts: Script["attempts"] = [
    [tookUs, true],
    [tookUs, true],
  ];
  return { name, required: true, hedges: false, attempts, ...more };
}

const ALL: JoinPolicy = { join: "all", withinUs: Number.POSITIVE_INFINITY, partial: false };
const FAILS: Script = { attempts: [[50, false]] };

describe("a join", () => {
  it("of all takes as long as the slowest, and says by how much it held the others up", () => {
    const { join, ending } = play(ALL, [branch("a", 100), branch("b", 900), branch("c", 300)]);
    expect(ending).toEqual({ kind: "joined" });
    expect(join.wallUs).toBe(900);
    expect(join.straggler).toEqual({ branch: "b", gapUs: 600 });
  });

  it("of all fails with the first that fails, and calls the others off", () => {
    const { join, ending, decisions } = play(ALL, [branch("a", 100), branch("b", 9, FAILS)]);
    expect(ending).toEqual({ kind: "failed", why: "branch", branch: 1 });
    expect(join.wallUs).toBe(50);
    expect(decisions.slice(-2).map((one) => one.do)).toEqual(["cancel", "finish"]);
    expect(join.branches.map(({ state }) => state)).toEqual(["cancelled", "failed"]);
  });

  it("does not wait for what is optional, and takes it along if it is there", () => {
    const optional = { required: false };
    const branches = [branch("a", 100), branch("b", 50, optional), branch("c", 900, optional)];
    const { join } = play(ALL, branches);
    expect(join.wallUs).toBe(100);
    expect(join.branches.map(({ state }) => state)).toEqual(["ok", "ok", "cancelled"]);
    const failing = play(ALL, [branch("a", 100), { ...branch("b", 9, optional), ...FAILS }]);
    expect(failing.ending).toEqual({ kind: "joined" });
  });

  it("of k takes the k-th, but never without one that is required", () => {
    const rest = { required: false };
    const branches = [
      branch("a", 100, rest),
      branch("b", 200, rest),
      branch("c", 300, rest),
      branch("d", 400, rest),
    ];
    const policy: JoinPolicy = { ...ALL, join: { k: 2 } };
    expect(play(policy, branches).join.wallUs).toBe(200);
    const needed = [...branches.slice(0, 3), branch("d", 400)];
    expect(play(policy, needed).join.wallUs).toBe(400);
  });

  it("of k fails as soon as k cannot be reached", () => {
    const rest = { required: false };
    const branches = [
      branch("a", 9, { ...rest, ...FAILS }),
      branch("b", 9, { ...rest, attempts: [[80, false]] }),
      branch("c", 900, rest),
    ];
    const { join, ending } = play({ ...ALL, join: { k: 2 } }, branches);
    expect(ending).toMatchObject({ kind: "failed", why: "too-few" });
    expect(join.wallUs).toBe(80);
  });

  it("with a deadline takes what is there, if it may and nothing is missing that it needs", () => {
    const rest = { required: false };
    const policy: JoinPolicy = { join: "all", withinUs: 500, partial: true };
    const branches = [branch("a", 100, rest), branch("b", 900, rest)];
    const partial = play(policy, branches);
    expect([partial.ending.kind, partial.join.wallUs]).toEqual(["partial", 500]);
    expect(play({ ...policy, partial: false }, branches).ending).toMatchObject({ why: "deadline" });
    expect(play(policy, [branch("a", 100), branch("b", 900)]).ending).toMatchObject({
      why: "deadline",
    });
    const needed = [branch("web", 50), branch("a", 100, rest)];
    expect(play(policy, needed).join.wallUs).toBe(100);
    expect(play(policy, [...needed, branch("b", 900, rest)]).join.wallUs).toBe(500);
    expect(play(policy, [branch("b", 900, rest)]).ending).toMatchObject({ why: "deadline" });
    expect(play(policy, [branch("a", 100, rest)]).ending.kind).toBe("joined");
  });

  it("gives a late branch one more attempt, takes the first that succeeds, and calls the other off", () => {
    const seen: unknown[] = [];
    const hedge: StragglerHedge = {
      delayUs: () => 300,
      mayHedge: () => true,
      note: (name, wasLate) => seen.push([name, wasLate]),
      record: (name, tookUs) => seen.push([name, tookUs]),
    };
    const hedges = { hedges: true };
    const slow = branch("slow", 0, {
      ...hedges,
      attempts: [
        [9_000, true],
        [50, true],
      ],
    });
    const { join, decisions } = play(ALL, [branch("a", 100, hedges), slow], hedge);
    expect(join.wallUs).toBe(350);
    expect(join.hedges).toBe(1);
    expect(decisions.filter((one) => one.do === "cancel")).toEqual([
      { do: "cancel", branch: 1, attempt: 1 },
    ]);
    expect(seen).toEqual([
      ["a", false],
      ["a", 100],
      ["slow", true],
      ["slow", 350],
    ]);
    const doomed = branch("b", 0, {
      ...hedges,
      attempts: [
        [400, false],
        [900, true],
      ],
    });
    expect(play(ALL, [doomed], hedge).join.wallUs).toBe(1_200);
    const refused = { ...hedge, mayHedge: () => false };
    expect(play(ALL, [slow], refused).join.wallUs).toBe(9_000);
  });

  it("stopped from outside leaves nothing behind", () => {
    const join = new Join(ALL, [branch("a", 1), branch("b", 1)], 0);
    join.start();
    expect(join.stop(7).map((one) => one.do)).toEqual(["cancel", "cancel", "finish"]);
    expect(join.stop(8)).toEqual([]);
    expect(join.ok(0, 1, 9)).toEqual([]);
    expect(join.ending).toMatchObject({ why: "stopped" });
  });

  it("of any branches ends, and as its policy says", () => {
    const branches = fc.array(
      fc.record({
        required: fc.boolean(),
        hedges: fc.boolean(),
        attempts: fc.array(fc.tuple(fc.nat(1_000), fc.boolean()), { minLength: 2, maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 6 },
    );
    const policies = fc.record({
      k: fc.option(fc.integer({ min: 1, max: 6 })),
      withinUs: fc.constantFrom(Number.POSITIVE_INFINITY, 0, 400),
      partial: fc.boolean(),
      mayHedge: fc.boolean(),
    });
    fc.assert(
      fc.property(branches, policies, (scripts, { k, withinUs, partial, mayHedge }) => {
        const named = scripts.map((one, i) => ({ name: `b${i}`, ...one }));
        const join = k === null ? "all" : { k: Math.min(k, named.length) };
        const hedge: StragglerHedge = {
          delayUs: () => 200,
          mayHedge: () => mayHedge,
          note: () => {},
          record: () => {},
        };
        const played = play({ join, withinUs, partial }, named as never, hedge);
        const states = played.join.branches;
        const ok = states.filter(({ state }) => state === "ok").length;
        expect(states.every(({ state, attempts }) => state !== "open" && attempts <= 2)).toBe(true);
        expect(played.join.wallUs).toBeLessThanOrEqual(withinUs);
        const missing = states.some(({ state }, i) => named[i]!.required && state !== "ok");
        if (played.ending.kind === "joined") {
          expect(missing).toBe(false);
          expect(ok).toBeGreaterThanOrEqual(join === "all" ? 1 : join.k);
        }
        if (played.ending.kind === "partial") expect(partial && ok > 0 && !missing).toBe(true);
      }),
    );
  });
});
