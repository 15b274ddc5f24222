/** A guarded call as a whole: where its answer comes from, and how it ends. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codeOf, OUT, play } from "../../../test/support/guarded-call.ts";
import { railWorld, scriptedRail, timedSource, watch } from "../../../test/support/rail-world.ts";
import { bytesOf, chatWire, delta } from "../../../test/support/wire-text.ts";
import {
  type GuardedAnswerOptions,
  guardedAnswer,
  type ModelSource,
  Rails,
  type SourceItem,
} from "../index.ts";

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

  it("a source of what cannot be read is left", async () => {
    const circular: { self?: object } = {};
    circular.self = circular;
    let hasLeft = false;
    const ask = (): ModelSource =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(circular),
        cancel: () => {
          hasLeft = true;
        },
      });
    const { seen, answer } = await play([OUT], [], { ask });
    await answer.outcome;
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.error).toBeInstanceOf(TypeError);
    expect(hasLeft).toBe(true);
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
