import { describe, expect, it } from "vitest";
import {
  callDelta,
  FINISH,
  play,
  runtimeWorld,
  type World,
  wholeCall,
} from "../../../test/support/runtime-world.ts";
import { delta } from "../../../test/support/wire-text.ts";
import {
  Prefetcher,
  type PrefetcherOptions,
  type PrefetchRule,
  Slots,
  type Tool,
  ToolBox,
  Turn,
  type TurnOptions,
} from "../index.ts";

const MS = 1_000;
/** The purse pays from the second step on. */
const GENEROUS = { wasteShare: 10, missUs: 0 };

interface Case {
  readonly world: World;
  readonly tools: readonly Tool[];
  readonly prefetcher: Prefetcher;
  readonly turn: Turn;
  /** Plays one message and answers the ms from its begin at which each call ended. */
  readonly say: (
    ...frames: ReadonlyArray<readonly [atMs: number, frame: unknown]>
  ) => Promise<readonly number[]>;
  readonly runs: (name: string) => number;
}

function begin(
  rules: readonly PrefetchRule[],
  options: {
    more?: Parameters<World["timed"]>[2];
    prefetch?: Partial<PrefetcherOptions>;
    turn?: Partial<TurnOptions>;
  } = {},
): Case {
  const world = runtimeWorld();
  const tools = [
    world.timed("search", 300, { prefetch: true, ...options.more }),
    world.timed("ping", 0),
  ];
  const prefetcher = new Prefetcher({ tools, rules, budget: GENEROUS, ...options.prefetch });
  const turn = world.turn(tools, { prefetch: prefetcher, ...options.turn });
  const say: Case["say"] = async (...frames) => {
    const startMs = world.nowMs();
    const step = turn.step("openai-chat");
    play(
      world,
      step,
      frames.map(([atMs, frame]) => [startMs + atMs, frame] as const),
    );
    const results = step.results();
    await world.clock.run();
    return (await results).map(({ times }) => times.endedUs / MS - startMs);
  };
  const runs = (name: string): number => world.runs.filter((run) => run.name === name).length;
  return { world, tools, prefetcher, turn, say, runs };
}

const SEARCH: PrefetchRule = {
  tool: "search",
  when: ({ calls }) => calls.length > 0,
  args: { q: "a" },
};
const PING = [
  [1, wholeCall(0, "ping")],
  [2, FINISH],
] as const;
const ASK = [
  [200, wholeCall(0, "search", { q: "a" })],
  [210, FINISH],
] as const;

describe("a prefetcher", () => {
  it("finds a result that is there already, and counts what was saved", async () => {
    const { say, prefetcher } = begin([SEARCH]);
    await say(...PING);
    expect(await say([500, wholeCall(0, "search", { q: "a" })], [510, FINISH])).toEqual([500]);
    expect(prefetcher.report).toMatchObject({ hits: 1, savedUs: 300 * MS, off: null });
  });

  it.each([
    ["500ms", 1, 600],
    ["200ms", 2, 900],
  ])("uses a result for %s", async (fresh, runs, endMs) => {
    const one = begin([SEARCH], { prefetch: { fresh } });
    await one.say(...PING);
    expect(await one.say([600, wholeCall(0, "search", { q: "a" })], [610, FINISH])).toEqual([
      endMs,
    ]);
    expect(one.runs("search")).toBe(runs);
    expect(one.prefetcher.report.thrownAway).toEqual(runs === 1 ? {} : { stale: 1 });
  });

  it("throws away what failed, and the call runs for itself", async () => {
    let runs = 0;
    const run = (): string => {
      runs += 1;
      if (runs === 1) throw new Error("once");
      return "found";
    };
    const one = begin([SEARCH], { more: { run } });
    await one.say(...PING);
    await one.say(...ASK);
    expect(runs).toBe(2);
    expect(one.prefetcher.report).toMatchObject({ hits: 0, thrownAway: { failed: 1 } });
  });

  it("shows a message nothing of what it did not ask for", async () => {
    const { say, prefetcher, world } = begin([SEARCH]);
    await say(...PING);
    expect(await say([400, delta({ content: "Hello" })], [410, delta({}, "stop")])).toEqual([]);
    expect(prefetcher.report.thrownAway).toEqual({ missed: 1 });
    expect(world.clock.pending).toBe(0);
  });

  it("waits with a start on fields for the call that may become the guessed one", async () => {
    const one = begin([{ ...SEARCH, args: { q: "a", n: 1 } }], {
      more: { startWhen: "q" },
    });
    await one.say(...PING);
    const opening = { id: "c0", name: "search" };
    expect(
      await one.say(
        [100, callDelta(0, '{"q":"a","n":', opening)],
        [150, callDelta(0, "1}")],
        [160, FINISH],
      ),
    ).toEqual([300]);
    expect(one.runs("search")).toBe(1);
    // Another q cannot become it: that one starts on its field.
    expect(
      await one.say(
        [100, callDelta(0, '{"q":"b","n":', opening)],
        [150, callDelta(0, "1}")],
        [160, FINISH],
      ),
    ).toEqual([400]);
  });

  it("asks the turn's admission first, and it is asked again for the call", async () => {
    const asked: unknown[] = [];
    const one = begin([SEARCH], {
      turn: {
        admit: ({ name, isGuess }) => {
          asked.push([name, isGuess === true]);
          return isGuess === true ? { blocked: "no guesses" } : undefined;
        },
      },
    });
    await one.say(...PING);
    await one.say(...ASK);
    expect(asked.slice(-2)).toEqual([
      ["search", true],
      ["search", false],
    ]);
    expect(one.runs("search")).toBe(1);
    expect(one.prefetcher.report).toMatchObject({ begun: 0, off: { why: "blocked" } });
  });

  it("borrows a place, and has to give it back when all are taken", async () => {
    const slots = new Slots({ concurrency: 2 });
    const one = begin([SEARCH], { turn: { limits: slots } });
    await one.say(...PING);
    const other = one.world.clock;
    let heldMs = -1;
    other.at(other.nowUs() + 150 * MS, () => {
      slots.give("other");
      slots.give("other");
    });
    other.at(other.nowUs() + 50 * MS, () => {
      slots.take("other", () => {});
      slots.take("other", () => {
        heldMs = one.world.nowMs();
      });
    });
    await one.say(...ASK);
    expect(heldMs).toBeLessThan(100);
    expect(one.prefetcher.report.thrownAway).toEqual({ evicted: 1 });
  });

  it("does not begin where most places are taken", async () => {
    const slots = new Slots({ concurrency: 4 });
    for (let i = 0; i < 3; i += 1) slots.take("other", () => {});
    const one = begin([SEARCH], { turn: { limits: slots } });
    await one.say(...PING);
    await one.say(...ASK);
    expect(one.prefetcher.report).toMatchObject({ begun: 0, off: { why: "slots" } });
  });

  it("checks by JSON Schema, which is compiled first", async () => {
    const input = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
    const world = runtimeWorld();
    const asked = async (args: PrefetchRule["args"]): Promise<Prefetcher> => {
      const box = new ToolBox([world.timed("search", 300, { prefetch: true, input })]);
      const prefetch = new Prefetcher({
        tools: box,
        rules: [{ ...SEARCH, args }],
        budget: GENEROUS,
      });
      const turn = new Turn({ tools: box, prefetch, clock: world.clock });
      for (const q of ["x", "a"]) {
        const startMs = world.nowMs();
        const step = turn.step("openai-chat");
        play(world, step, [
          [startMs + 200, wholeCall(0, "search", { q })],
          [startMs + 210, FINISH],
        ]);
        await box.warm();
        await world.clock.run();
        await step.results();
      }
      return prefetch;
    };
    expect((await asked({ q: "a" })).report.hits).toBe(1);
    expect((await asked(() => ({ q: 1 }))).report.notBegun).toMatchObject({ invalid: 1 });
  });

  it("ends with its turn's time", async () => {
    const one = begin([SEARCH], { turn: { deadline: "150ms" } });
    const { clock } = one.world;
    clock.at(100 * MS, () => void one.turn.step("openai-chat"));
    await one.say(...PING);
    expect(one.world.nowMs()).toBe(150);
    expect(one.runs("search")).toBe(1);
    expect(one.prefetcher.report).toMatchObject({ thrownAway: { ended: 1 } });
  });
});

describe("bad input to a prefetcher", () => {
  it.each<[string, PrefetchRule, RegExp]>([
    ["a tool that is not there", { tool: "serch", args: {} }, /one of search, ping/],
    ["one that does not say prefetch", { tool: "ping", args: {} }, /started on a guess/],
    ["a probability that is none", { ...SEARCH, probability: 2 }, /0 to 1/],
    ["arguments that do not fit", { tool: "search", args: { no: 1 } }, /fit search/],
  ])("is refused: %s", (_, rule, expected) => {
    const check = (value: unknown): unknown => {
      if ((value as { q?: string }).q === undefined) throw new Error("q is missing");
      return value;
    };
    expect(() => begin([rule], { more: { input: check } })).toThrow(
      expect.objectContaining({
        code: "MANX_TOOL_INVALID",
        expected: expect.stringMatching(expected),
      }),
    );
  });

  it("is refused: a tool that changes something and says prefetch", () => {
    expect(() => begin([], { more: { effect: "idempotent" } })).toThrow(
      expect.objectContaining({ expected: "no prefetch of a tool that changes anything" }),
    );
  });

  it("is set aside and counted: rules that throw, cyclic arguments", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const one = begin([
      {
        tool: "search",
        when: () => {
          throw new Error("a rule that throws");
        },
        args: {},
      },
      { tool: "search", args: () => cyclic },
    ]);
    await one.say(...PING);
    expect(await one.say(...ASK)).toEqual([500]);
    expect(one.prefetcher.report).toMatchObject({ begun: 0, ruleErrors: 4 });
  });

  it("with a budget of zero never begins, and says so", async () => {
    const one = begin([SEARCH], { prefetch: { budget: { concurrency: 0 } } });
    await one.say(...PING);
    expect(await one.say(...ASK)).toEqual([500]);
    expect(one.prefetcher.report).toMatchObject({
      begun: 0,
      off: { why: "budget-zero", text: "the budget is zero" },
    });
    expect(begin([]).prefetcher.report.off?.why).toBe("no-guesses");
  });

  it("survives an observer that throws", async () => {
    const onTurn = (): void => {
      throw new Error("no");
    };
    const world = runtimeWorld();
    const tools = [world.timed("search", 1, { prefetch: true })];
    const turn = world.turn(tools, { prefetch: new Prefetcher({ tools, onTurn }) });
    const step = turn.step("openai-chat");
    play(world, step, [[1, FINISH]]);
    await world.clock.run();
    await expect(turn.close()).resolves.toBeUndefined();
  });
});
