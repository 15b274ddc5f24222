/** A playout over real iterables in simulated time: its bound, its ends, its reader. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timedSource } from "../../../test/support/rail-world.ts";
import { SimClock } from "../../clock/index.ts";
import type { StreamEvent } from "../../stream/index.ts";
import { type PlayoutOptions, playout } from "./index.ts";

type Timed<Item> = ReadonlyArray<readonly [atMs: number, item: Item]>;

/** Reads a playout to its end on a simulated clock. */
async function play<Item extends string | StreamEvent>(
  items: Timed<Item>,
  options: PlayoutOptions & { readonly throwsAtMs?: number; readonly readerMs?: number } = {},
) {
  const clock = new SimClock();
  const { throwsAtMs, readerMs } = options;
  async function* source(): AsyncGenerator<Item> {
    yield* timedSource(clock, items);
    if (throwsAtMs === undefined) return;
    await clock.sleepUntil(throwsAtMs * 1_000);
    throw new Error("the stream broke");
  }
  const played = playout(source(), { clock, ...options });
  const shown: { item: Item; atMs: number }[] = [];
  let end: unknown;
  const read = async (): Promise<void> => {
    try {
      for await (const item of played) {
        shown.push({ item, atMs: clock.nowUs() / 1_000 });
        if (readerMs !== undefined) await clock.sleepUntil(clock.nowUs() + readerMs * 1_000);
      }
      end = "end";
    } catch (error) {
      end = error;
    }
  };
  void read();
  await clock.run();
  return { shown, end, endMs: clock.nowUs() / 1_000, report: played.report(), clock };
}

const words = "eight tokens that came in one single burst ";
const bursts: Timed<string> = Array.from({ length: 20 }, (_, i) => [i * 400, words] as const);

function worstGapMs(shown: readonly { atMs: number }[], fromMs: number): number {
  const later = shown.filter(({ atMs }) => atMs >= fromMs);
  return Math.max(...later.slice(1).map(({ atMs }, i) => atMs - later[i]!.atMs));
}

describe("bursts of eight tokens each 400 ms (golden scenario 9)", () => {
  it("become a cadence; TTFVT stays, and the delay is reported and bounded", async () => {
    const { shown, end, report } = await play(bursts, { delayMax: "400ms" });
    expect(shown.map(({ item }) => item).join("")).toBe(words.repeat(20));
    expect(end).toBe("end");
    expect(shown[0]!.atMs).toBe(0);
    expect(worstGapMs(shown, 800)).toBeLessThanOrEqual(50);
    expect(report.firstAddedUs).toBe(0);
    expect(report.addedDelay.p99.value).toBeLessThanOrEqual(400_000);
    expect(report.addedDelay.p50.n).toBe(shown.length);
    expect([report.stallsReceived.count, report.stallsShown.count]).toEqual([0, 0]);
    expect(report.stallsReceived.worstGapUs).toBe(400_000);
    expect(report.stallsShown.worstGapUs).toBeLessThanOrEqual(400_000);
  });

  it("a stall of 2.5 s stays one: what was not received cannot be shown", async () => {
    const stalled = bursts.map(([ms, item]) => [ms > 4_000 ? ms + 2_500 : ms, item] as const);
    const { report } = await play(stalled, { delayMax: "300ms" });
    expect(report.stallsReceived.count).toBe(1);
    expect(report.stallsShown.count).toBe(1);
    expect(report.stallsShown.worstGapUs).toBeGreaterThan(2_500_000);
  });
});

describe("the ends of a playout", () => {
  it("drains within the bound after the source has ended", async () => {
    const { shown, endMs } = await play(bursts, { delayMax: "250ms" });
    expect(endMs).toBeLessThanOrEqual(19 * 400 + 250);
    expect(shown.at(-1)!.atMs).toBeLessThanOrEqual(19 * 400 + 250);
  });

  it("an error comes behind all that was received before it", async () => {
    const { shown, end } = await play(bursts, { throwsAtMs: 19 * 400 + 10 });
    expect(shown.map(({ item }) => item).join("")).toBe(words.repeat(20));
    expect(end).toEqual(new Error("the stream broke"));
  });

  it("an empty stream ends at once, with nothing to report", async () => {
    const { shown, end, report } = await play([]);
    expect([shown, end, report.firstAddedUs]).toEqual([[], "end", null]);
    expect(report.addedDelay.p50.n).toBe(0);
  });

  it("whoever leaves it leaves the source", async () => {
    const clock = new SimClock();
    let leftAtMs: number | undefined;
    async function* source(): AsyncGenerator<string> {
      try {
        yield* timedSource(clock, bursts);
      } finally {
        leftAtMs = clock.nowUs() / 1_000;
      }
    }
    const played = playout(source(), { clock });
    void (async () => {
      for await (const text of played) if (text !== "") break;
    })();
    await clock.run();
    expect(leftAtMs).toBe(400);
    expect(clock.pending).toBe(0);
  });

  it("a signal ends it with its reason, and nothing that was held follows", async () => {
    const clock = new SimClock();
    const controller = new AbortController();
    const played = playout(timedSource(clock, bursts, controller.signal), {
      clock,
      signal: controller.signal,
    });
    const shown: string[] = [];
    let error: unknown;
    void (async () => {
      for await (const text of played) shown.push(text);
    })().catch((thrown: unknown) => {
      error = thrown;
    });
    clock.at(450_000, () => controller.abort(new Error("enough")));
    await clock.run();
    expect(error).toEqual(new Error("enough"));
    expect(shown.join("").length).toBeLessThan(2 * words.length);
  });
});

describe("the reader of a playout", () => {
  it("that is slow holds up the source, and loses nothing", async () => {
    const clock = new SimClock();
    let read = 0;
    async function* source(): AsyncGenerator<string> {
      for (let i = 0; i < 1_000; i += 1) {
        read += 1;
        yield "0123456789";
      }
    }
    const played = playout(source(), { clock, heldCharsMax: 200 });
    const reads = played[Symbol.asyncIterator]();
    await clock.run();
    expect(read).toBeLessThanOrEqual(41);
    let text = "";
    void (async () => {
      for (let next = await reads.next(); next.done !== true; next = await reads.next()) {
        text += next.value;
        await clock.sleepUntil(clock.nowUs() + 1_000);
      }
    })();
    await clock.run();
    expect(text).toBe("0123456789".repeat(1_000));
  });
});

describe("a playout of events", () => {
  it("parts text and keeps every event in its place", async () => {
    const stamp = { frame: 0, atUs: 0 };
    const text = (said: string): StreamEvent => {
      return { ...stamp, type: "text-delta", choice: 0, text: said };
    };
    const done: StreamEvent = { ...stamp, type: "done" };
    const tool: StreamEvent = {
      ...{ ...stamp, type: "tool-start", choice: 0, call: 0 },
      ...{ id: "c", name: "search", idGenerated: false, byServer: false },
    };
    const items: Timed<StreamEvent> = [
      ...bursts.slice(0, 5).map(([ms, said]) => [ms, text(said)] as const),
      [1_610, tool],
      [1_620, text("after")],
      [1_630, done],
    ];
    const { shown } = await play(items);
    const types = shown.map(({ item }) => item.type);
    expect([types.indexOf("tool-start"), types.at(-1)]).not.toContain(-1);
    expect(types.at(-1)).toBe("done");
    const said = shown.map(({ item }) =>
      item.type === "text-delta" ? item.text : `<${item.type}>`,
    );
    expect(said.join("")).toBe(`${words.repeat(5)}<tool-start>after<done>`);
    for (const { atMs, item } of shown) {
      if (item.type === "tool-start") expect(atMs).toBeLessThanOrEqual(1_610 + 300);
    }
  });

  it("bytes and order are kept whatever comes, and no reader waits beyond the bound", async () => {
    const streams = fc.array(
      fc.tuple(fc.nat(600), fc.string({ maxLength: 40, unit: "grapheme" })),
      {
        maxLength: 25,
      },
    );
    await fc.assert(
      fc.asyncProperty(streams, fc.integer({ min: 0, max: 800 }), async (gaps, delayMs) => {
        let atMs = 0;
        const items = gaps.map(([gapMs, item]) => {
          atMs += gapMs;
          return [atMs, item] as const;
        });
        const { shown, endMs, report } = await play(items, { delayMax: `${delayMs}ms` });
        expect(shown.map(({ item }) => item).join("")).toBe(items.map(([, one]) => one).join(""));
        expect(endMs).toBeLessThanOrEqual(atMs + delayMs);
        if (report.addedDelay.p99.n > 0) {
          expect(report.addedDelay.p99.value).toBeLessThanOrEqual(delayMs * 1_000);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("options that cannot be", () => {
  it.each<[PlayoutOptions, string]>([
    [{ delayMax: "fast" }, "MANX_DURATION"],
    [{ delayMax: "100ms", firstDelay: "200ms" }, "MANX_RAIL_INVALID"],
    [{ heldCharsMax: 0 }, "MANX_RAIL_INVALID"],
  ])("%o", (options, code) => {
    expect(() => playout(timedSource<string>(new SimClock(), []), options)).toThrow(
      expect.objectContaining({ code }),
    );
  });
});
