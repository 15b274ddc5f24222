import { describe, expect, it } from "vitest";
import { SimClock } from "./sim-clock.ts";

describe("SimClock", () => {
  it("runs timers by time, and equal times in the order they were set", () => {
    const clock = new SimClock();
    const seen: string[] = [];
    clock.at(20, () => seen.push("c"));
    clock.at(10, () => seen.push("a"));
    clock.at(10, () => seen.push("b"));
    clock.runSync();
    expect(seen).toEqual(["a", "b", "c"]);
    expect(clock.nowUs()).toBe(20);
  });

  it("drains promises after each timer: a chain of 10 + 10 ms ends at 20 ms", async () => {
    const clock = new SimClock();
    let endedUs = 0;
    const chain = async (): Promise<void> => {
      await clock.sleepUntil(clock.nowUs() + 10_000);
      await Promise.resolve();
      await clock.sleepUntil(clock.nowUs() + 10_000);
      endedUs = clock.nowUs();
    };
    void chain();
    clock.at(40_000, () => undefined);
    await clock.run();
    expect(endedUs).toBe(20_000);
  });

  it("does not run what was cancelled, and moves no further than asked", () => {
    const clock = new SimClock();
    let ran = 0;
    const cancel = clock.at(5, () => {
      ran += 1;
    });
    cancel();
    clock.at(50, () => {
      ran += 1;
    });
    clock.runSync(30);
    expect([ran, clock.nowUs()]).toEqual([0, 30]);
  });

  it("runs a timer of the past now, not before", () => {
    const clock = new SimClock(100);
    const seen: number[] = [];
    clock.at(7, () => seen.push(clock.nowUs()));
    expect(seen).toEqual([]);
    clock.runSync();
    expect(seen).toEqual([100]);
  });

  it("aborts at a deadline, and a sleep at its signal", async () => {
    const clock = new SimClock();
    const { signal } = clock.deadline(1_000);
    const outcome = clock.sleepUntil(5_000, signal).catch((reason: unknown) => reason);
    await clock.run();
    expect(await outcome).toMatchObject({ name: "TimeoutError" });
  });
});
