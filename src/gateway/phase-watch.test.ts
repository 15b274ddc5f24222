import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { PhaseWatch } from "./phase-watch.ts";

function watched(): { clock: SimClock; watch: PhaseWatch; expired: [string, number, number][] } {
  const clock = new SimClock();
  const expired: [string, number, number][] = [];
  const watch = new PhaseWatch(clock, (phase, limitUs) => {
    expired.push([phase, limitUs, clock.nowUs()]);
  });
  return { clock, watch, expired };
}

describe("PhaseWatch", () => {
  it("expires once, exactly at the limit of the phase it is in", () => {
    const { clock, watch, expired } = watched();
    watch.enter("headers", 1_000, 0);
    clock.runSync(5_000);
    expect(expired).toEqual([["headers", 1_000, 1_000]]);
  });

  it("begins anew at each touch, to the microsecond", () => {
    const { clock, watch, expired } = watched();
    watch.enter("gap", 1_000, 0);
    for (const atUs of [10, 900, 1_850]) clock.at(atUs, () => watch.touch(clock.nowUs()));
    clock.runSync(10_000);
    expect(expired).toEqual([["gap", 1_000, 2_850]]);
  });

  it("takes a shorter limit over at once, and a longer one as well", () => {
    const shorter = watched();
    shorter.watch.enter("headers", 10_000, 0);
    shorter.watch.enter("gap", 100, 0);
    shorter.clock.runSync(20_000);
    expect(shorter.expired).toEqual([["gap", 100, 100]]);
    const longer = watched();
    longer.watch.enter("connect", 100, 0);
    longer.watch.enter("headers", 10_000, 50);
    longer.clock.runSync(20_000);
    expect(longer.expired).toEqual([["headers", 10_000, 10_050]]);
  });

  it("stands still while paused, and starts from zero after it", () => {
    const { clock, watch, expired } = watched();
    watch.enter("gap", 1_000, 0);
    clock.at(500, () => watch.pause());
    clock.at(7_000, () => watch.resume(clock.nowUs()));
    clock.runSync(20_000);
    expect(expired).toEqual([["gap", 1_000, 8_000]]);
  });

  it("never expires with limit 0, after stop, or while paused", () => {
    const none = watched();
    none.watch.enter("gap", 0, 0);
    const stopped = watched();
    stopped.watch.enter("gap", 10, 0);
    stopped.watch.stop();
    const paused = watched();
    paused.watch.enter("gap", 10, 0);
    paused.watch.pause();
    for (const { clock, expired } of [none, stopped, paused]) {
      clock.runSync(1_000);
      expect(expired).toEqual([]);
    }
  });
});
