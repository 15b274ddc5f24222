import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { attribute, observeStream, TurnRecorder, TurnTree } from "./index.ts";

const MS = 1_000;

/** Second level of a turn of one stream: words at their times, then the rest of the message; a reader takes its time. */
async function played(
  wordsMs: readonly number[],
  endMs: number,
  { readMs = 0, takes = Number.POSITIVE_INFINITY } = {},
): Promise<Record<string, number>> {
  const clock = new SimClock();
  const turn = new TurnRecorder({ clock, name: "t" });
  const until = (ms: number): Promise<void> => clock.sleepUntil(Math.max(clock.nowUs(), ms * MS));
  async function* source(): AsyncGenerator<string> {
    for (const ms of wordsMs) {
      await until(ms);
      yield "word";
    }
    await until(endMs);
  }
  const read = async (): Promise<void> => {
    let taken = 0;
    for await (const _ of observeStream(turn.begin("model-call", "m"), source(), clock)) {
      taken += 1;
      await until(clock.nowUs() / MS + readMs);
      if (taken >= takes) break;
    }
  };
  const done = read();
  await clock.run();
  await done;
  const { phases, subs } = attribute(new TurnTree(turn.finish().spans));
  const named = subs.map(({ phase, sub, us }) => [`${phase} ${sub}`, us / MS]);
  return { prefill: phases.prefill / MS, decode: phases.decode / MS, ...Object.fromEntries(named) };
}

describe("what comes behind the last output", () => {
  it("is the provider's while the stream has not ended and somebody waits for it", async () => {
    expect(await played([100, 200], 600)).toEqual({
      prefill: 100,
      decode: 500,
      "decode tail": 400,
    });
  });

  it("is the reader's as long as it has not asked for more", async () => {
    expect(await played([100, 200], 600, { readMs: 150 })).toEqual({
      prefill: 100,
      // The second word was there at 200, and asked for at 250.
      decode: 350,
      "decode tail": 200,
      "orchestration consumer": 150,
    });
    expect(await played([100, 200], 600, { readMs: 500, takes: 2 })).toMatchObject({
      "orchestration consumer": 500,
    });
  });
});
