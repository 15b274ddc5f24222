/** Laws of a guarded step over random streams and rails, and the rules that no law covers. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  railWorld,
  type Scripted,
  scriptedRail,
  timedSource,
  watch,
} from "../../../test/support/rail-world.ts";
import { FINISH, runtimeWorld, wholeCall } from "../../../test/support/runtime-world.ts";
import { bytesOf, chatWire, delta } from "../../../test/support/wire-text.ts";
import type { StreamEvent } from "../../stream/index.ts";
import { TurnRecorder } from "../../trace/index.ts";
import {
  type GuardedStepOptions,
  guardedAnswer,
  patternRail,
  Rails,
  rail,
  Turn,
} from "../index.ts";

const STOP = delta({}, "stop");

/** A step whose frames come at their times; everything on a simulated clock. */
function play(
  scripts: readonly Scripted[],
  frames: ReadonlyArray<readonly [atMs: number, frame: unknown]>,
  more: Partial<GuardedStepOptions> & { readonly deadline?: string; readonly endMs?: number } = {},
) {
  const world = runtimeWorld();
  const { log } = railWorld();
  const undone: string[] = [];
  const turn = world.turn(
    [
      world.timed("look", 10),
      world.timed("reserve", 10, { effect: "reversible", undo: () => void undone.push("reserve") }),
      world.timed("set", 10, { effect: "idempotent" }),
      world.timed("pay", 10, { effect: "irreversible" }),
    ],
    more.deadline === undefined ? {} : { deadline: more.deadline },
  );
  const rails = new Rails(
    scripts.map((one) => scriptedRail(world.clock, log, one)),
    { windowChars: 20, overlapChars: 8 },
  );
  const released: { event: StreamEvent; atMs: number }[] = [];
  const step = turn.guarded("openai-chat", {
    rails,
    request: "the request",
    onRelease: (events) => {
      for (const event of events) released.push({ event, atMs: world.nowMs() });
    },
    ...more,
  });
  for (const [atMs, frame] of frames) {
    world.clock.at(atMs * 1_000, () => step.push(bytesOf(chatWire(frame))));
  }
  const endMs = more.endMs ?? frames.at(-1)?.[0] ?? 0;
  world.clock.at(endMs * 1_000, () => step.end());
  const text = (): string =>
    released.map(({ event }) => (event.type === "text-delta" ? event.text : "")).join("");
  return { ...world, step, turn, released, text, undone, log, rails };
}

const said = (text: string): object => delta({ content: text });

describe("nothing unchecked is released", () => {
  it("whatever the stream, its cuts, and the rails' times are; planted text never shows its first letter", async () => {
    const bad = "SECRET";
    const drawn = fc.record({
      pieces: fc.array(fc.tuple(fc.nat(80), fc.integer({ min: 1, max: 30 })), { maxLength: 20 }),
      plantAt: fc.nat(19),
      afterMs: fc.constantFrom(0, 5, 60),
      requestMs: fc.constantFrom(0, 100, 400),
    });
    await fc.assert(
      fc.asyncProperty(
        drawn,
        fc.boolean(),
        async ({ pieces, plantAt, afterMs, requestMs }, isBad) => {
          let atMs = 0;
          let whole = "";
          const frames: (readonly [number, unknown])[] = [];
          for (const [i, [gapMs, chars]] of pieces.entries()) {
            atMs += gapMs;
            const text = isBad && i === plantAt ? bad : "abcdefgh".repeat(4).slice(0, chars);
            whole += text;
            // A letter at a time where it is planted.
            if (text === bad) for (const one of text) frames.push([atMs, said(one)]);
            else frames.push([atMs, said(text)]);
          }
          frames.push([atMs, STOP]);
          const { step, text, clock } = play(
            [
              { name: "req", stage: "request", afterMs: requestMs, budget: "500ms" },
              {
                name: "out",
                afterMs,
                verdict: (t: string) => (t.includes(bad) ? "flag" : "clean"),
              },
            ],
            frames,
          );
          await clock.run();
          const { path } = step.report!;
          if (whole.includes(bad)) {
            expect(path).toBe("refused");
            expect(text()).toBe(whole.slice(0, text().length));
            expect(text().length).toBeLessThanOrEqual(whole.indexOf(bad));
          } else expect([path, text()]).toEqual(["clean", whole]);
          expect(clock.pending === 0 || step.report !== undefined).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("of a stream that is cut while a window is held, what is held is checked, not let out as if clean", async () => {
    const frames = [
      [0, said("good text that is ")],
      [10, said("BAD to its end")],
    ] as const;
    const isBad = (text: string): string => (text.includes("BAD") ? "flag" : "clean");
    const cut = play([{ name: "out", afterMs: 50, verdict: isBad }], frames, { endMs: 20 });
    await cut.clock.run();
    expect(cut.step.report?.path).toBe("refused");
    expect(cut.text()).not.toContain("BAD");
    const clean = play([{ name: "out", afterMs: 50 }], frames, { endMs: 20 });
    await clean.clock.run();
    expect([clean.step.report?.path, clean.text()]).toEqual([
      "clean",
      "good text that is BAD to its end",
    ]);
    expect(clean.step.verdict).toBe("incomplete");
  });

  it("and of one whose turn is over, nothing that is held goes out", async () => {
    const { step, text, clock, log } = play(
      [{ name: "out", afterMs: 400, budget: "1s" }],
      [
        [0, said("words that are held")],
        [10, said(" and more of them")],
        [500, STOP],
      ],
      { deadline: "200ms" },
    );
    await clock.run();
    expect([text(), step.report?.path, step.verdict]).toEqual(["", "cut", "late"]);
    expect(log.aborted).toEqual([{ rail: "out", atMs: 200 }]);
    expect(step.signal.aborted).toBe(true);
  });
});

describe("tools behind a guard", () => {
  const frames = [
    [10, wholeCall(0, "look")],
    [20, wholeCall(1, "reserve")],
    [30, wholeCall(2, "set")],
    [40, wholeCall(3, "pay")],
    [50, FINISH],
  ] as const;
  const names = (runs: readonly { name: string; atMs: number }[]): string[] =>
    runs.map(({ name, atMs }) => `${name} ${atMs}`);

  it.each([
    ["reversible", ["look 10", "reserve 20", "set 300", "pay 300"]],
    ["pure", ["look 10", "reserve 300", "set 300", "pay 300"]],
    ["none", ["look 300", "reserve 300", "set 300", "pay 300"]],
  ] as const)(
    "speculate %s: the others wait for the verdict on all of the message",
    async (speculate, want) => {
      const { runs, clock, step } = play(
        [{ name: "req", stage: "request", afterMs: 300, budget: "1s" }],
        frames,
        { speculate },
      );
      await clock.run();
      expect(names(runs)).toEqual(want);
      const results = await step.results();
      expect(results.map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok"]);
    },
  );

  it("arguments that are flagged are refused with all that began, also after the message has ended", async () => {
    const flagged = (text: string): string => (text.includes("pay") ? "flag" : "clean");
    const { runs, clock, step, undone, released, turn } = play(
      [{ name: "args", verdict: flagged, afterMs: 100 }],
      frames,
    );
    await clock.run();
    expect(names(runs)).toEqual(["look 10", "reserve 20"]);
    expect(undone).toEqual(["reserve"]);
    expect(step.verdict).toBe("refused");
    const results = await step.results();
    expect(results.map(({ status, value }) => [status, value])).toEqual([
      ["cancelled", undefined],
      ["cancelled", undefined],
      ["cancelled", undefined],
      ["cancelled", undefined],
    ]);
    expect(await step.messages()).toEqual([]);
    expect(released.some(({ event }) => event.type === "tool-start" && event.name === "pay")).toBe(
      false,
    );
    expect(turn.running).toBe(0);
  });

  it("the turn's own admission is asked as well, after the guard", async () => {
    const world = runtimeWorld();
    const asked: string[] = [];
    const turn = world.turn([world.timed("pay", 10, { effect: "irreversible" })], {
      admit: ({ name }) => {
        asked.push(`${name} ${world.nowMs()}`);
        return { blocked: "no" };
      },
    });
    const rails = new Rails([
      scriptedRail(world.clock, railWorld().log, { name: "r", stage: "request", afterMs: 90 }),
    ]);
    const step = turn.guarded("openai-chat", { rails, request: "", onRelease: () => {} });
    step.push(bytesOf(chatWire(wholeCall(0, "pay"), FINISH)));
    step.end();
    await world.clock.run();
    expect([asked, world.runs]).toEqual([["pay 90"], []]);
    expect((await step.results())[0]).toMatchObject({ status: "blocked" });
  });
});

describe("a guarded step", () => {
  it("opens a dear rail only where a cheap one is in doubt, and notes the time of each", async () => {
    const scripts: Scripted[] = [
      { name: "cheap", verdict: (t: string) => (t.includes("dose") ? "unsure" : "clean") },
      { name: "judge", when: "unsure", afterMs: 200, budget: "1s" },
    ];
    const plain = play(scripts, [
      [0, said("nothing to see")],
      [10, STOP],
    ]);
    await plain.clock.run();
    expect(plain.log.checked.map((one) => one.rail)).toEqual(["cheap"]);
    expect(plain.step.report).toMatchObject({ path: "clean", lastHeldUs: 0 });
    const doubt = play(scripts, [
      [0, said("a dose of it")],
      [10, STOP],
    ]);
    await doubt.clock.run();
    expect(doubt.log.checked.map((one) => one.rail)).toEqual(["cheap", "judge"]);
    expect(doubt.step.report).toMatchObject({ path: "flagged", lastHeldUs: 200_000 });
    expect(doubt.step.report?.checks.map(({ rail: name, tookUs }) => [name, tookUs])).toEqual([
      ["cheap", 0],
      ["judge", 200_000],
    ]);
  });

  it("with rails that overlap: the first that flags ends it and gives up the others", async () => {
    const { log, step, clock } = play(
      [
        { name: "slow", afterMs: 250 },
        { name: "fast", afterMs: 20, verdict: "flag" },
      ],
      [
        [0, said("some words that are long enough")],
        [400, STOP],
      ],
    );
    await clock.run();
    expect(log.aborted).toEqual([{ rail: "slow", atMs: 20 }]);
    expect(step.report?.refusal).toMatchObject({ rule: "fast", why: "flag" });
  });

  it("an output that is empty passes", async () => {
    const { step, clock, log } = play([{ name: "out" }], [[5, STOP]]);
    await clock.run();
    expect([step.report?.path, log.checked, step.verdict]).toEqual(["clean", [], "no-calls"]);
  });

  it("a rail that flags the request at once: no model is asked", async () => {
    const { clock } = railWorld();
    let asked = 0;
    const answer = guardedAnswer({
      rails: new Rails([patternRail({ name: "p", stage: "request", patterns: ["bomb"] })]),
      request: "a bomb",
      clock,
      ask: () => {
        asked += 1;
        return timedSource<string>(clock, []);
      },
    });
    const seen = watch(clock, answer);
    await clock.run();
    expect([asked, seen.report?.path, (seen.error as { code: string }).code]).toEqual([
      0,
      "refused",
      "MANX_GUARD_REFUSED",
    ]);
  });

  it("holds a megabyte, in one piece or in many, and beyond its bound lets the rules decide", async () => {
    for (const size of [1024 * 1024, 50]) {
      const text = "x".repeat(size);
      const times = (1024 * 1024) / size;
      const frames = Array.from({ length: Math.floor(times) }, () => [0, said(text)] as const);
      const { step, text: shown, clock } = play([{ name: "out" }], [...frames, [1, STOP]]);
      await clock.run();
      expect([step.report?.path, shown().length]).toEqual(["clean", Math.floor(times) * size]);
    }
    const turn = new Turn({ tools: [] });
    const never = rail({ name: "out", check: () => new Promise(() => {}), budget: "60s" });
    const rails = new Rails([never], { heldCharsMax: 1_000 });
    const step = turn.guarded("openai-chat", { rails, request: "", onRelease: () => {} });
    for (let i = 0; i < 100; i += 1) step.chunk(said("y".repeat(50)));
    expect((await step.outcome).refusal).toEqual({ stage: "output", rule: null, why: "failed" });
    await turn.close();
  });

  it("called off: its rails end, its calls are taken back, its reader is told", async () => {
    const { step, clock, runs, log, turn } = play(
      [{ name: "req", stage: "request", afterMs: 200 }],
      [
        [10, wholeCall(0, "look")],
        [20, wholeCall(1, "pay")],
        [30, FINISH],
      ],
    );
    clock.at(50_000, () => step.cancel());
    await clock.run();
    expect(runs.map(({ name }) => name)).toEqual(["look"]);
    expect(log.aborted).toEqual([{ rail: "req", atMs: 50 }]);
    expect([step.report?.path, step.verdict, turn.running]).toEqual(["cut", "cancelled", 0]);
    expect((await step.results()).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  });

  it("whoever cannot take what is released has left", async () => {
    const { step, clock } = play([{ name: "out" }], [[0, said("a text of some length here")]], {
      onRelease: () => {
        throw new Error("the page is gone");
      },
      endMs: 500,
    });
    await clock.run();
    expect(step.report?.path).toBe("cut");
    expect(step.signal.reason).toEqual(new Error("the page is gone"));
  });

  it("nothing is released once it was called off, though its reader had pushed more before that", async () => {
    const turn = new Turn({ tools: [] });
    const seen: string[] = [];
    const rails = new Rails([rail({ name: "req", stage: "request", check: () => "clean" })]);
    const step = turn.guarded("openai-chat", {
      rails,
      request: "",
      onRelease: (events) => {
        for (const event of events) if (event.type === "text-delta") seen.push(event.text);
        if (!seen.includes("one")) return;
        step.chunk(said("two"));
        step.cancel();
      },
    });
    step.chunk(said("one"));
    expect([seen, (await step.outcome).path]).toEqual([["one"], "cut"]);
    await turn.close();
  });

  it("records a span of kind guardrail for each check", async () => {
    const { clock, log } = railWorld();
    const recorder = new TurnRecorder({ clock, name: "turn" });
    const rails = new Rails([
      scriptedRail(clock, log, { name: "req", stage: "request", afterMs: 40 }),
      scriptedRail(clock, log, { name: "hung", stage: "request", afterMs: 900, onFailure: "open" }),
    ]);
    const turn = new Turn({ tools: [], clock });
    const step = turn.guarded("openai-chat", { rails, request: "", span: recorder });
    step.end();
    await clock.run();
    const { spans } = recorder.finish();
    const guards = spans.filter(({ kind }) => kind === "guardrail");
    expect(guards.map(({ name, status, endUs }) => [name, status, endUs])).toEqual([
      ["req", "ok", 40_000],
      ["hung", "error", 300_000],
    ]);
    expect(guards[0]!.attributes).toMatchObject({
      "manx.guardrail.stage": "request",
      "manx.guardrail.verdict": "clean",
    });
  });
});
