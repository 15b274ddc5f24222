/** LD-05: waiting inside the load generator is not counted. */
import { describe, expect, it } from "vitest";
import type { ResultRun } from "../../src/load/index.ts";
import { QueueServer } from "../support/scripted-target.ts";
import { every, msAt, runVirtual } from "../support/virtual-load.ts";

function meanMs(run: ResultRun, metric: string): number {
  const { sum, n } = run.metrics[metric]!.histogram;
  return sum / n / 1_000;
}

function maxMs(run: ResultRun, metric: string): number {
  return run.metrics[metric]!.histogram.max! / 1_000;
}

describe("six requests every 200 ms to a server that takes 400 ms, one at a time", () => {
  it("counts the wait for a cap of one from the intended start, and flags the run", async () => {
    const run = await runVirtual(
      every(200_000, 6),
      (clock) => new QueueServer(clock, { serviceUs: 400_000, slots: 1 }),
      { concurrencyMax: 1 },
    );
    expect([meanMs(run, "scheduleLagUs"), maxMs(run, "scheduleLagUs")]).toEqual([500, 1_000]);
    expect([meanMs(run, "serviceE2eUs"), maxMs(run, "serviceE2eUs")]).toEqual([400, 400]);
    expect([meanMs(run, "e2eUs"), maxMs(run, "e2eUs")]).toEqual([900, 1_400]);
    expect(run.conditions.concurrencyCap).toBe(1);
    expect(run.verdicts[0]).toMatchObject({
      name: "client",
      status: "unknown",
      text: expect.stringContaining("closed loop in effect"),
    });
  });

  it("gives the same from-schedule figures without a cap, where the server queues, and trusts them", async () => {
    const run = await runVirtual(
      every(200_000, 6),
      (clock) => new QueueServer(clock, { serviceUs: 400_000, slots: 1 }),
    );
    expect(maxMs(run, "scheduleLagUs")).toBe(0);
    expect([meanMs(run, "e2eUs"), maxMs(run, "e2eUs")]).toEqual([900, 1_400]);
    expect(run.verdicts[0]).toMatchObject({ name: "client", status: "pass" });
  });
});

it("shows a freeze of 3 s in a run of 10 s although only ten requests were in flight", async () => {
  let server: QueueServer | undefined;
  const run = await runVirtual(
    every(20_000, 500),
    (clock) => {
      const from = clock.nowUs() + 3_000_000;
      // What would end within the freeze ends after it.
      const freezeUntilUs = (nowUs: number): number =>
        nowUs > from && nowUs < from + 3_000_000 ? from + 3_000_000 : nowUs;
      server = new QueueServer(clock, { serviceUs: 20_000, slots: 1_000, freezeUntilUs });
      return server;
    },
    { concurrencyMax: 10 },
  );
  expect(server!.inFlightMax).toBe(10);
  const p99 = msAt(run, "e2eUs", 0.99)!;
  expect(p99).toBeGreaterThan(2_900);
  expect(p99).toBeLessThan(3_050);
  // Three in ten waited, evenly spread over the freeze; seen from the send, hardly one in fifty did.
  expect(msAt(run, "e2eUs", 0.9)).toBeGreaterThan(2_000);
  expect(msAt(run, "serviceE2eUs", 0.95)).toBeCloseTo(20, 1);
  expect(run.verdicts[0]!.text).toContain("closed loop in effect");
});
