/** Which limit an attempt is under, phase by phase. */
import { describe, expect, it } from "vitest";
import { AttemptClock } from "./attempt-clock.ts";

const LIMITS = {
  connectUs: 10,
  headersUs: 200,
  firstContentUs: 300,
  lifeGapUs: 50,
  progressGapUs: 70,
  thinkingGapUs: 500,
};

function clock(isStream = true, limits: Partial<typeof LIMITS> = {}): AttemptClock {
  return new AttemptClock({ ...LIMITS, ...limits }, isStream, 1_000);
}

describe("an attempt's clock", () => {
  it("goes by the limit of its phase", () => {
    const one = clock();
    expect(one.due).toEqual({ atUs: 1_010, kind: "timeout_connect" });
    one.sent(1_005);
    expect(one.due).toEqual({ atUs: 1_205, kind: "timeout_headers" });
    one.head(1_100);
    expect(one.due).toEqual({ atUs: 1_150, kind: "stall_bytes" });
    one.read(1_290, false, false);
    expect(one.due).toEqual({ atUs: 1_305, kind: "timeout_first_content" });
    one.content(1_300);
    expect(one.due).toEqual({ atUs: 1_350, kind: "stall_bytes" });
  });

  it("bounds a stream's first content before its head has come, and not another answer's", () => {
    for (const isStream of [true, false]) {
      const one = clock(isStream, { firstContentUs: 100 });
      one.sent(1_000);
      expect(one.due).toEqual(
        isStream
          ? { atUs: 1_100, kind: "timeout_first_content" }
          : { atUs: 1_200, kind: "timeout_headers" },
      );
    }
  });

  it("tells life from progress, and gives a model that thinks its own time", () => {
    const one = clock();
    one.sent(1_000);
    one.content(1_000);
    one.read(1_040, false, false);
    expect(one.due).toEqual({ atUs: 1_070, kind: "stall_progress" });
    one.read(1_060, true, true);
    one.read(1_100, false, false);
    expect(one.due).toEqual({ atUs: 1_150, kind: "stall_bytes" });
    for (let atUs = 1_140; atUs <= 1_540; atUs += 40) one.read(atUs, false, false);
    expect(one.due).toEqual({ atUs: 1_560, kind: "stall_progress" });
  });

  it("asks no progress of an answer that is no stream", () => {
    const one = clock(false);
    one.sent(1_000);
    one.content(1_000);
    one.read(1_060, false, false);
    expect(one.due).toEqual({ atUs: 1_110, kind: "stall_bytes" });
  });

  it("stands still while the caller does not read", () => {
    const one = clock();
    one.sent(1_000);
    one.content(1_000);
    one.pause(1_010);
    one.pause(1_030);
    expect(one.due.atUs).toBe(Number.POSITIVE_INFINITY);
    one.resume(2_010);
    one.resume(3_000);
    expect(one.due).toEqual({ atUs: 2_050, kind: "stall_bytes" });
  });

  it("takes 0 for no limit", () => {
    const none = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, 0]));
    const one = clock(true, none as typeof LIMITS);
    for (const act of [() => one.sent(1), () => one.head(2), () => one.content(3)]) {
      expect(one.due.atUs).toBe(Number.POSITIVE_INFINITY);
      act();
    }
    expect(one.due.atUs).toBe(Number.POSITIVE_INFINITY);
  });
});
