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
});
