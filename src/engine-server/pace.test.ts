import { describe, expect, it } from "vitest";
import { Pace, type PaceReading, STEPS_MIN } from "./pace.ts";

const S = 1_000_000;

/** `steps` steps of 10 ms from `fromUs` on, each as late and with as much given up as said. */
function run(pace: Pace, fromUs: number, steps: number, lagUs: number, lostUs = 0): number {
  let nowUs = fromUs;
  for (let i = 0; i < steps; i += 1) {
    nowUs += 10_000;
    pace.settled({ lagUs, priceUs: 10_000, lostUs }, nowUs);
  }
  return nowUs;
}

describe("Pace", () => {
  it("is well without a step, and has no means to show", () => {
    const { status, steps, lagUs } = new Pace().read(5 * S);
    expect([status, steps, lagUs]).toEqual(["ok", 0, Number.NaN]);
  });

  it("adds up lag against the price of the same steps", () => {
    const pace = new Pace();
    const nowUs = run(pace, 0, 100, 1_000);
    expect(pace.read(nowUs)).toEqual({
      status: "ok",
      windowS: 10,
      steps: 100,
      isJudged: true,
      lagUs: 1_000,
      stepUs: 10_000,
      lagShare: 0.1,
      lostShare: 0,
      reason: "",
    });
  });

  it.each([
    [2_500, "ok"],
    [2_600, "degraded"],
  ])("calls a lag of %i µs in 10 ms %s", (lagUs, status) => {
    const pace = new Pace();
    expect(pace.read(run(pace, 0, STEPS_MIN, lagUs)).status).toBe(status);
  });

  it("says by how much tokens are late and what is left of the rate", () => {
    const pace = new Pace();
    const reading = pace.read(run(pace, 0, 50, 12_000, 10_000));
    expect(reading.reason).toBe(
      "50 % of the promised rate; steps of 10.00 ms that ended 12.00 ms late, 120 % of their length",
    );
  });

  it("judges nothing by a handful of steps", () => {
    const pace = new Pace();
    const few = pace.read(run(pace, 0, STEPS_MIN - 1, 50_000, 50_000));
    expect([few.status, few.isJudged]).toEqual(["ok", false]);
    expect(pace.worst(0).isJudged).toBe(false);
  });

  it("forgets after ten seconds, and remembers that it was bad", () => {
    const pace = new Pace();
    const badUs = run(pace, 0, 50, 8_000);
    expect(pace.read(badUs).status).toBe("degraded");
    expect(pace.read(badUs + 11 * S).steps).toBe(0);
    const laterUs = run(pace, badUs + 30 * S, 500, 100);
    const readings: PaceReading[] = [pace.read(laterUs), pace.worst(laterUs)];
    expect(readings.map(({ status }) => status)).toEqual(["ok", "degraded"]);
    expect(readings[1]!.steps).toBe(50);
  });
});
