/** A refused answer is asked again in other words: once, in time, and only where that shows nobody two answers. */
import { describe, expect, it } from "vitest";
import { codeOf, OUT, play, type Timed } from "../../../test/support/guarded-call.ts";
import { railWorld, scriptedRail, timedSource } from "../../../test/support/rail-world.ts";
import { type GuardedAnswerOptions, guardedAnswer, Rails, taxReport } from "../index.ts";

describe("asked again in other words", () => {
  const bad: Timed = [
    [50, "this is BAD from its start"],
    [90, " and on"],
  ];
  const good: Timed = [
    [40, "this is fine"],
    [60, " to its end"],
  ];

  it("once: the second answer is released, and the report tells both", async () => {
    const { seen, asked, abortedMs } = await play([OUT], [bad, good], {
      reformulate: (refusal, request) => `${request}, but ${refusal.rule}`,
    });
    expect(seen.text).toBe("this is fine to its end");
    expect(asked).toEqual(["1 first words 0", "2 first words, but out 60"]);
    expect(abortedMs[0]).toBe(60);
    expect(seen.report).toMatchObject({ path: "reformulated", rounds: 2, refusedUs: 60_000 });
    expect(seen.report?.checks.map(({ verdict }) => verdict)).toContain("flag");
    const report = taxReport([seen.report!]);
    expect(report.paths[0]).toMatchObject({ path: "reformulated", calls: 1 });
    expect(report.paths[0]!.tax.p50.value).toBeGreaterThanOrEqual(60_000);
  });

  it("and not twice: a second refusal ends it", async () => {
    let times = 0;
    const { seen, asked } = await play([OUT], [bad, bad, good], {
      reformulate: () => {
        times += 1;
        return "again";
      },
    });
    expect([times, asked.length, codeOf(seen.error)]).toEqual([1, 2, "MANX_GUARD_REFUSED"]);
    expect(seen.report).toMatchObject({ path: "refused", rounds: 2 });
  });

  it.each<[string, Partial<GuardedAnswerOptions> & { deadline?: string }]>([
    ["it declines", { reformulate: () => undefined }],
    [
      "it throws",
      {
        reformulate: () => {
          throw new Error("no words");
        },
      },
    ],
    ["it answers nonsense", { reformulate: () => 5 as never }],
    [
      "too little time is left",
      { reformulate: () => "again", reformulateLeast: "1s", deadline: "1s" },
    ],
    [
      "it takes longer than the turn",
      { reformulate: () => new Promise(() => {}), deadline: "300ms" },
    ],
  ])("not at all if %s", async (_, more) => {
    const { seen, asked } = await play([OUT], [bad, good], more);
    expect([asked.length, seen.text, codeOf(seen.error)]).toEqual([1, "", "MANX_GUARD_REFUSED"]);
  });

  it("nothing of the second answer comes after the turn's deadline", async () => {
    const { seen, clock } = await play([OUT], [bad, [[500, "too late"]]], {
      reformulate: () => "again",
      deadline: "200ms",
    });
    expect([seen.text, seen.report?.path, codeOf(seen.error)]).toEqual([
      "",
      "cut",
      "MANX_DEADLINE",
    ]);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  describe("after some of the first answer was shown", () => {
    const late: Timed = [
      [10, "these words are quite all right, "],
      [20, "they are"],
      [300, " BAD"],
    ];

    it("only if that can be taken back", async () => {
      const without = await play([OUT], [late, good], { reformulate: () => "again" });
      expect(without.asked).toHaveLength(1);
      expect(without.seen.text).toMatch(/^these words/);
      const retracted: number[] = [];
      const withIt = await play([OUT], [late, good], {
        reformulate: () => "again",
        retract: (chars) => void retracted.push(chars),
      });
      expect(withIt.seen.report?.path).toBe("reformulated");
      expect(withIt.seen.text.slice(retracted[0])).toBe("this is fine to its end");
    });

    it("what nobody has read yet needs no taking back", async () => {
      const { clock, log } = railWorld();
      const answer = guardedAnswer({
        rails: new Rails([scriptedRail(clock, log, OUT)], { windowChars: 20, overlapChars: 8 }),
        request: "",
        clock,
        ask: ({ round, signal }) => timedSource(clock, round === 1 ? late : good, signal),
        reformulate: () => "again",
      });
      await clock.run();
      let text = "";
      for await (const piece of answer.text()) text += piece;
      expect(text).toBe("this is fine to its end");
    });
  });

  it("not when its reader has left meanwhile", async () => {
    const { clock, log } = railWorld();
    let asked = 0;
    const answer = guardedAnswer({
      rails: new Rails([scriptedRail(clock, log, OUT)]),
      request: "",
      clock,
      ask: ({ signal }) => {
        asked += 1;
        return timedSource(clock, bad, signal);
      },
      reformulate: async () => {
        await clock.sleepUntil(clock.nowUs() + 100_000);
        return "again";
      },
    });
    clock.at(150_000, () => answer.cancel());
    await clock.run();
    expect(asked).toBe(1);
    expect((await answer.outcome).path).toBe("refused");
  });
});
