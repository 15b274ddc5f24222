import { describe, expect, it } from "vitest";
import { RealClock } from "./real-clock.ts";

describe("RealClock", () => {
  it("never runs a timer early, precise or not, and reports how late it was", async () => {
    const clock = new RealClock();
    for (const precise of [false, true]) {
      for (const delayUs of [0, 300, 1_700, 4_500]) {
        const atUs = clock.nowUs() + delayUs;
        const ranUs = await new Promise<number>((resolve) => {
          clock.at(atUs, () => resolve(clock.nowUs()), { precise });
        });
        expect(ranUs).toBeGreaterThanOrEqual(atUs);
      }
    }
    expect(clock.lag().timers).toBe(8);
    expect(clock.lag().maxUs).toBeGreaterThanOrEqual(clock.lag().meanUs);
  });

  it("shares its scale with the host's monotonic clock", () => {
    const hostUs = Number(process.hrtime.bigint() / 1_000n);
    expect(Math.abs(new RealClock().nowUs() - hostUs)).toBeLessThan(1_000_000);
  });

  it("knows when the process began", () => {
    const clock = new RealClock();
    const sinceUs = clock.nowUs() - clock.processStartUs;
    expect(Math.abs(sinceUs - performance.now() * 1_000)).toBeLessThan(1_000_000);
  });

  it("does not run what was cancelled", async () => {
    const clock = new RealClock();
    let ran = false;
    const cancel = clock.at(clock.nowUs() + 1_000, () => {
      ran = true;
    });
    cancel();
    await clock.sleepUntil(clock.nowUs() + 5_000);
    expect(ran).toBe(false);
  });

  it("runs alarms in their order, whichever of them go", async () => {
    const clock = new RealClock();
    const startUs = clock.nowUs();
    const ran: number[] = [];
    const cancels = [9, 3, 7, 1, 5].map((ms) => clock.at(startUs + ms * 1_000, () => ran.push(ms)));
    // The soonest, for which the host's timer was set, and one in between.
    cancels[3]!();
    cancels[4]!();
    await clock.sleepUntil(startUs + 12_000);
    expect(ran).toEqual([3, 7, 9]);
  });

  it("keeps no process up once nothing is to happen", () => {
    const clock = new RealClock();
    const before = timeouts();
    const cancels = [60_000_000, 30_000_000].map((us) => clock.at(clock.nowUs() + us, () => {}));
    expect(timeouts()).toBe(before + 1);
    for (const cancel of cancels) cancel();
    expect(timeouts()).toBe(before);
    const cancel = clock.at(clock.nowUs() + 90_000_000, () => {});
    expect(timeouts()).toBe(before + 1);
    cancel();
    cancel();
    expect(timeouts()).toBe(before);
  });
});

/** Timers of the host that keep the process up. */
function timeouts(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}
