/** RT-10 in the agent's process: a guardrail beside the generation trips after the tools have been asked for. */
import { describe, expect, it } from "vitest";
import { isManxError } from "../../src/core/index.ts";
import { guardedAnswer, Rails, Turn, tool } from "../../src/runtime/index.ts";
import {
  railWorld,
  type Scripted,
  scriptedRail,
  timedSource,
  watch,
} from "../support/rail-world.ts";
import { FINISH, wholeCall } from "../support/runtime-world.ts";
import { delta } from "../support/wire-text.ts";

const G2: Scripted = { name: "g2", stage: "request", afterMs: 50, budget: "500ms" };

/** The book's input: R (reads) at 100 ms, text from 120 ms, W (writes) at 150 ms, the end at `endMs`. */
async function play(g1: Partial<Scripted>, endMs = 400) {
  const { clock, log } = railWorld();
  const runs: string[] = [];
  const undone: string[] = [];
  const abortedMs: number[] = [];
  const made = (name: string, effect: "pure" | "reversible" | "irreversible", ms: number) =>
    tool({
      name,
      effect,
      input: (value: unknown) => value,
      run: async (_args: unknown, { signal }) => {
        runs.push(`${name} ${clock.nowUs() / 1_000}`);
        await clock.sleepUntil(clock.nowUs() + ms * 1_000, signal);
        return `${name} is done`;
      },
      ...(effect === "reversible" && {
        undo: () => {
          undone.push(`${name} ${clock.nowUs() / 1_000}`);
        },
      }),
    });
  const turn = new Turn({
    tools: [made("R", "pure", 20), made("W", "irreversible", 20), made("S", "reversible", 20)],
    clock,
  });
  const rails = new Rails([
    scriptedRail(clock, log, { name: "g1", stage: "request", budget: "500ms", ...g1 }),
    scriptedRail(clock, log, G2),
  ]);
  const answer = guardedAnswer({
    rails,
    turn,
    format: "openai-chat",
    request: "do it",
    ask: ({ signal }) => {
      signal.addEventListener("abort", () => abortedMs.push(clock.nowUs() / 1_000));
      return timedSource(
        clock,
        [
          [100, wholeCall(0, "R", { q: 1 })],
          [120, delta({ content: "text" })],
          [140, wholeCall(1, "S")],
          [150, wholeCall(2, "W", { to: "a" })],
          [endMs, FINISH],
        ],
        signal,
      );
    },
  });
  const seen = watch(clock, answer);
  let results: readonly { name: string; status: string; text: string }[] = [];
  void answer.results().then((all) => {
    results = all;
  });
  await clock.run(3_000_000);
  return { seen, runs, undone, abortedMs, results, turn, log };
}

describe("RT-10 in process: g1 trips at 300 ms", () => {
  it.each([400, 200])("and the message ends at %i ms", async (endMs) => {
    const { seen, runs, undone, abortedMs, results, turn } = await play(
      { verdict: "flag", afterMs: 300 },
      endMs,
    );
    expect(runs).toEqual(["R 100", "S 140"]);
    expect(undone).toEqual(["S 300"]);
    expect(seen.text).toBe("");
    expect(seen.events).toEqual([]);
    expect(abortedMs).toEqual([300]);
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ["R", "cancelled"],
      ["S", "cancelled"],
      ["W", "cancelled"],
    ]);
    expect(results.map(({ text }) => text).join()).not.toContain("is done");
    expect(turn.running).toBe(0);
    // Both results are in the error.
    expect(isManxError(seen.error) && seen.error.code).toBe("MANX_GUARD_REFUSED");
    expect((seen.error as { details: unknown }).details).toEqual({
      stage: "request",
      rail: "g1",
      why: "flag",
      checks: [
        { rail: "g2", stage: "request", verdict: "clean", ms: 50 },
        { rail: "g1", stage: "request", verdict: "flag", ms: 300 },
      ],
    });
  });

  it("a pure tool that is still running is called off", async () => {
    const { runs, results, turn } = await play({ verdict: "flag", afterMs: 110 });
    expect(runs).toEqual(["R 100"]);
    expect(results.map(({ status }) => status)).toEqual(["cancelled"]);
    expect(turn.running).toBe(0);
  });
});

describe("RT-10 in process: g1 passes", () => {
  it("the whole takes as long as the slower of the two, and text is held 300 ms at most", async () => {
    const late = await play({ afterMs: 300 }, 400);
    expect([late.seen.text, late.seen.firstTextMs, late.seen.endMs]).toEqual(["text", 300, 400]);
    expect(late.runs).toEqual(["R 100", "S 140", "W 400"]);
    const early = await play({ afterMs: 300 }, 200);
    expect([early.seen.firstTextMs, early.seen.endMs]).toEqual([300, 300]);
    expect(early.runs).toEqual(["R 100", "S 140", "W 300"]);
    expect(early.results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect(early.seen.report).toMatchObject({
      path: "clean",
      firstHeldUs: 200_000,
      lastHeldUs: 100_000,
    });
  });
});

describe("RT-10 in process: g1 is broken", () => {
  it.each<[string, Partial<Scripted>, number]>([
    ["throws", { throws: true, afterMs: 20 }, 20],
    ["hangs", { afterMs: Number.POSITIVE_INFINITY }, 500],
    ["answers nonsense", { verdict: "maybe", afterMs: 30 }, 30],
    ["ignores its signal", { verdict: "clean", afterMs: 900, ignoresSignal: true }, 500],
  ])("%s: closed by default, and the result says so", async (_, g1, atMs) => {
    const { seen, runs, abortedMs } = await play(g1, 700);
    expect([seen.text, seen.endMs]).toEqual(["", atMs]);
    expect(abortedMs).toEqual([atMs]);
    expect(runs.some((run) => run.startsWith("W"))).toBe(false);
    expect(seen.report).toMatchObject({
      path: "failed",
      refusal: { stage: "request", rule: "g1", why: "failed" },
    });
    expect(seen.report?.checks.at(-1)).toMatchObject({ rail: "g1", verdict: "failed" });
    expect(isManxError(seen.error) && seen.error.code).toBe("MANX_GUARD_FAILED");
  });

  it("and where it is open, the answer goes through as one in doubt", async () => {
    const { seen, runs } = await play({ throws: true, afterMs: 20, onFailure: "open" });
    expect([seen.text, seen.report?.path]).toEqual(["text", "flagged"]);
    expect(runs).toContain("W 400");
  });
});

describe("RT-10 in process: an output guard on a text of 2 s", () => {
  it("releases in windows, and shows nothing that was not checked", async () => {
    const { clock, log } = railWorld();
    const rails = new Rails([scriptedRail(clock, log, { name: "out", afterMs: 30 })], {
      windowChars: 100,
      overlapChars: 20,
    });
    const pieces = Array.from({ length: 100 }, (_, i) => [i * 20, "abcdefgh ."] as const);
    const answer = guardedAnswer({
      rails,
      clock,
      request: "",
      ask: () => timedSource(clock, pieces),
    });
    const seen = watch(clock, answer);
    for (let ms = 100; ms <= 2_200; ms += 100) {
      await clock.run(ms * 1_000);
      const reach = log.checked.reduce((sum, { text }, i) => sum + text.length - (i && 20), 0);
      expect(seen.text.length).toBeLessThanOrEqual(reach);
    }
    expect(seen.text).toHaveLength(1_000);
    expect(seen.firstTextMs).toBeLessThan(400);
    expect(log.checked.length).toBeLessThanOrEqual(12);
  });
});
