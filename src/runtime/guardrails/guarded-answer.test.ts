/** A guarded call as a whole: where its answer comes from, how it ends, and how it is asked again. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  railWorld,
  type Scripted,
  scriptedRail,
  timedSource,
  watch,
} from "../../../test/support/rail-world.ts";
import { bytesOf, chatWire, delta } from "../../../test/support/wire-text.ts";
import {
  type GuardedAnswerOptions,
  guardedAnswer,
  type ModelSource,
  Rails,
  type SourceItem,
  Turn,
  taxReport,
} from "../index.ts";

type Timed = ReadonlyArray<readonly [atMs: number, item: SourceItem]>;

/** Plays a call whose n-th round answers with the n-th list. */
async function play(
  scripts: readonly Scripted[],
  rounds: readonly Timed[],
  more: Partial<GuardedAnswerOptions> & { readonly deadline?: string } = {},
) {
  const { clock, log } = railWorld();
  const rails = new Rails(
    scripts.map((one) => scriptedRail(clock, log, one)),
    { windowChars: 20, overlapChars: 8 },
  );
  const asked: string[] = [];
  const abortedMs: number[] = [];
  const deadline = more.deadline;
  const turn = new Turn({ tools: [], clock, ...(deadline !== undefined && { deadline }) });
  const answer = guardedAnswer({
    rails,
    turn,
    request: "first words",
    ask: ({ request, round, signal }) => {
      asked.push(`${round} ${request} ${clock.nowUs() / 1_000}`);
      signal.addEventListener("abort", () => abortedMs.push(clock.nowUs() / 1_000));
      return timedSource(clock, rounds[round - 1]!, signal);
    },
    ...more,
  });
  const seen = watch(clock, answer);
  await clock.run();
  return { seen, asked, abortedMs, log, clock, turn, answer };
}

const hasBad = (text: string): string => (text.includes("BAD") ? "flag" : "clean");
const OUT: Scripted = { name: "out", verdict: hasBad, afterMs: 10 };
const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;

describe("where an answer comes from", () => {
  const chunks = [delta({ content: "Hello " }), delta({ content: "world" }), delta({}, "stop")];
  const bytes = chunks.map((one) => bytesOf(chatWire(one)));
  async function* list(items: readonly SourceItem[]): AsyncGenerator<SourceItem> {
    yield* items;
  }
  const stream = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start: (controller) => {
        for (const one of bytes) controller.enqueue(one);
        controller.close();
      },
    });

  it.each<[string, () => ModelSource | Promise<ModelSource>, Partial<GuardedAnswerOptions>]>([
    ["bytes", () => list(bytes), {}],
    ["an SDK's chunks", () => list(chunks), {}],
    ["pieces of text", () => list(["Hel", "lo ", "world"]), {}],
    ["wire text", () => list(chunks.map((one) => chatWire(one))), { format: "openai-chat" }],
    ["a Response", async () => new Response(stream()), {}],
    ["a stream", () => stream(), {}],
    [
      "a stream that is not iterable",
      () => {
        const reader = stream().getReader();
        return { getReader: () => reader } as unknown as ReadableStream<SourceItem>;
      },
      {},
    ],
  ])("%s", async (_, ask, more) => {
    const { seen, answer } = await play([OUT], [], { ask, ...more });
    await answer.outcome;
    await new Promise((resolve) => setImmediate(resolve));
    expect([seen.text, seen.error, seen.report?.path]).toEqual(["Hello world", undefined, "clean"]);
  });

  it("as text alone", async () => {
    const { clock, log } = railWorld();
    const answer = guardedAnswer({
      rails: new Rails([scriptedRail(clock, log, OUT)]),
      request: "",
      clock,
      ask: () =>
        timedSource(clock, [
          [5, "Hello "],
          [9, "world"],
        ]),
    });
    let text = "";
    void (async () => {
      for await (const piece of answer.text()) text += piece;
    })();
    await clock.run();
    expect(text).toBe("Hello world");
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a number", 5],
    ["no stream", { a: 1 }],
  ])("%s is no answer", async (_, source) => {
    const { seen } = await play([OUT], [], { ask: () => source as ModelSource });
    expect(codeOf(seen.error)).toBe("MANX_RAIL_INVALID");
  });

  it("whatever the text, it comes out as it went in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(50), fc.string({ unit: "binary", maxLength: 30 })), {
          maxLength: 12,
        }),
        async (pieces) => {
          let atMs = 0;
          const items = pieces.map(([gapMs, text]) => {
            atMs += gapMs;
            return [atMs, text] as const;
          });
          const { seen } = await play([{ name: "out", afterMs: 7 }], [items]);
          expect([seen.text, seen.error]).toEqual([
            pieces.map(([, one]) => one).join(""),
            undefined,
          ]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("how it ends", () => {
  it("an answer of nothing is a clean one", async () => {
    const { seen } = await play([OUT], [[]]);
    expect([seen.text, seen.error, seen.report?.path]).toEqual(["", undefined, "clean"]);
  });

  it("what the client throws comes behind what was clear", async () => {
    const { clock, log } = railWorld();
    const answer = guardedAnswer({
      rails: new Rails([scriptedRail(clock, log, OUT)]),
      request: "",
      clock,
      ask: async function* () {
        yield "all of this is fine";
        await clock.sleepUntil(5_000);
        throw new Error("socket hang up");
      } as () => AsyncIterable<SourceItem>,
    });
    const seen = watch(clock, answer);
    await clock.run();
    expect([seen.text, seen.error]).toEqual(["all of this is fine", new Error("socket hang up")]);
    const refused = await play([OUT], [], {
      ask: () => {
        throw new Error("no such model");
      },
    });
    expect(refused.seen.error).toEqual(new Error("no such model"));
  });

  it("a refusal aborts the model call in the same instant, though its stream hangs", async () => {
    const { clock, log } = railWorld();
    let isLeft = false;
    let signal: AbortSignal | undefined;
    const hangs: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          isLeft = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const answer = guardedAnswer({
      rails: new Rails([
        scriptedRail(clock, log, { name: "req", stage: "request", verdict: "flag", afterMs: 30 }),
      ]),
      request: "",
      clock,
      ask: (round) => {
        signal = round.signal;
        return hangs;
      },
    });
    const seen = watch(clock, answer);
    await clock.run();
    expect([seen.endMs, isLeft, signal?.aborted]).toEqual([30, true, true]);
    expect(codeOf(signal?.reason)).toBe("MANX_GUARD_REFUSED");
  });

  it("whoever stops reading calls it off", async () => {
    const { clock, log } = railWorld();
    let abortedMs: number | undefined;
    const answer = guardedAnswer({
      rails: new Rails([scriptedRail(clock, log, { name: "out", afterMs: 5 })], {
        windowChars: 1,
        overlapChars: 0,
      }),
      request: "",
      clock,
      ask: ({ signal }) => {
        signal.addEventListener("abort", () => {
          abortedMs = clock.nowUs() / 1_000;
        });
        return timedSource(
          clock,
          [
            [10, "one "],
            [20, "two "],
            [500, "three"],
          ],
          signal,
        );
      },
    });
    void (async () => {
      for await (const text of answer.text()) if (text === "two ") break;
    })();
    await clock.run();
    expect(abortedMs).toBe(25);
    expect((await answer.outcome).path).toBe("cut");
  });

  it("a reader that is slow holds up the source", async () => {
    const { clock, log } = railWorld();
    let read = 0;
    const answer = guardedAnswer({
      rails: new Rails([scriptedRail(clock, log, { name: "req", stage: "request" })]),
      request: "",
      clock,
      ask: async function* () {
        // The verdict is in by then.
        await clock.sleepUntil(1_000);
        for (let i = 0; i < 1_000; i += 1) {
          read += 1;
          yield "x".repeat(1_024);
        }
      } as () => AsyncIterable<SourceItem>,
    });
    await clock.run();
    expect(read).toBeLessThan(300);
    let chars = 0;
    for await (const text of answer.text()) chars += text.length;
    expect(chars).toBe(1_000 * 1_024);
  });
});

describe("options that cannot be", () => {
  it("are refused where they are given", () => {
    const { clock, log } = railWorld();
    const rails = new Rails([scriptedRail(clock, log, OUT)]);
    const ask = () => timedSource<string>(clock, []);
    expect(() =>
      guardedAnswer({ rails, request: "", ask, clock, reformulateLeast: "soon" }),
    ).toThrow(expect.objectContaining({ code: "MANX_DURATION" }));
  });
});

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
