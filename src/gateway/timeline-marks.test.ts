import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TimelineFacts, timelineMarks } from "./timeline-marks.ts";

const START = 5_000_000;
const CONNECTION = { protocol: "http/1.1", dnsUs: 1_000, tcpUs: 2_345, tlsUs: 0 } as const;
const FACTS: TimelineFacts = {
  readyUs: START,
  queuedUs: 0,
  firstBeganUs: START + 100,
  beganUs: START + 100,
  sentUs: START + 250,
  nowUs: START + 40_250,
  connection: { ...CONNECTION, reuse: "reused" },
  attempts: 1,
};

describe("the marks of a call's timeline", () => {
  it("are the gateway's own time and the upstream's, on a connection that was kept", () => {
    expect(timelineMarks(FACTS)).toEqual([
      ...["server-timing", "manx;dur=0.250, upstream;dur=40.000"],
      ...["x-manx-connection", "reused", "x-manx-attempts", "1"],
    ]);
  });

  it("name what else took time, in its order, and the stages of a new connection", () => {
    const more = { queuedUs: 30, beganUs: START + 9_100, sentUs: START + 13_000, attempts: 2 };
    const connection = { ...CONNECTION, reuse: "new" } as const;
    const [, timing, , reuse, , attempts] = timelineMarks({ ...FACTS, ...more, connection });
    expect(timing).toBe(
      "manx;dur=0.070, queue;dur=0.030, retry;dur=9.000, connect;dur=3.900, " +
        "dns;dur=1.000, tcp;dur=2.345, upstream;dur=27.250",
    );
    expect([reuse, attempts]).toEqual(["new", "2"]);
  });

  it("add up to the time since the request was there", () => {
    const span = fc.nat(60_000_000);
    fc.assert(
      fc.property(span, span, span, span, span, (queuedUs, own, retry, connect, upstream) => {
        const firstBeganUs = START + queuedUs + own;
        const beganUs = firstBeganUs + retry;
        const sentUs = beganUs + connect;
        const facts = { queuedUs, firstBeganUs, beganUs, sentUs, nowUs: sentUs + upstream };
        const timing = timelineMarks({ ...FACTS, ...facts, connection: undefined })[1]!;
        const parts = Array.from(timing.matchAll(/(\w+);dur=(\d+\.\d{3})(?:, |$)/g));
        expect(parts.map(([part]) => part).join("")).toBe(timing);
        const sumUs = parts.reduce((sum, [, , ms]) => sum + Math.round(Number(ms) * 1_000), 0);
        expect(sumUs).toBe(facts.nowUs - START);
      }),
    );
  });
});
