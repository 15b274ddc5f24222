import { describe, expect, it } from "vitest";
import { ScriptedTarget } from "../../test/support/scripted-target.ts";
import { every, msAt, requestsAt, runVirtual } from "../../test/support/virtual-load.ts";
import { SimClock } from "../clock/index.ts";
import type { LoadProgress } from "./collector.ts";
import { BACKLOG_MAX, runOpenLoop } from "./open-loop.ts";
import { resultSchema } from "./result-document.ts";
import type { Target } from "./target.ts";
import { generateWorkload } from "./workload.ts";

const answers =
  (afterUs: number) =>
  (clock: SimClock): Target =>
    new ScriptedTarget(clock, () => ({ afterUs }));

describe("an open loop", () => {
  it("starts every request at its instant, however slow the answers", async () => {
    const startsUs: number[] = [];
    const run = await runVirtual(every(10_000, 100), (clock) => {
      const inner = new ScriptedTarget(clock, () => ({ afterUs: 5_000_000 }));
      return {
        send: (job, done) => {
          startsUs.push(clock.nowUs());
          inner.send(job, done);
        },
      };
    });
    expect(startsUs.map((atUs) => atUs - startsUs[0]!)).toEqual(
      every(10_000, 100).map(({ atUs }) => atUs),
    );
    expect(run.counts).toMatchObject({ offered: 100, sent: 100, completed: 100 });
    expect(msAt(run, "scheduleLagUs", 0.999)).toBe(0);
    expect(run.durationUs).toBe(99 * 10_000 + 5_000_000);
  });

  it("sends a burst of one instant whole", async () => {
    const run = await runVirtual(requestsAt(new Array(200).fill(7_000)), answers(1_000));
    expect(run.counts.completed).toBe(200);
    expect(run.metrics.e2eUs!.histogram).toMatchObject({ min: 1_000, max: 1_000 });
  });

  it("ends at once with nothing to send", async () => {
    const run = await runVirtual([], answers(1));
    expect(run.counts.offered).toBe(0);
    expect(run.verdicts.map(({ status }) => status)).toEqual(["unknown", "pass", "unknown"]);
  });

  it("is the same run for a seed, to the microsecond", async () => {
    const once = () =>
      runVirtual(
        [
          ...generateWorkload({
            process: "gamma",
            ratePerS: 50,
            durationUs: 20e6,
            seed: 9,
            promptTokens: 100,
            outputTokens: 10,
            spread: 0.5,
          }),
        ],
        answers(30_000),
        { concurrencyMax: 2 },
      );
    expect(await once()).toEqual(await once());
  });

  it("makes a valid run of the document", async () => {
    const run = await runVirtual(every(1_000, 50), answers(2_000), { budgets: { e2eUs: 3_000 } });
    expect(resultSchema.shape.runs.element.safeParse(run).error).toBeUndefined();
    expect(run.goodput).toMatchObject({ met: 50, shareOfOffered: 1 });
    expect(run.verdicts.at(-1)).toMatchObject({ name: "budgets", status: "pass" });
  });
});

describe("bounds", () => {
  it("fails what no longer fits in the queue of a cap, and counts it", async () => {
    // The first holds the only place while all others come; the queue takes BACKLOG_MAX of them.
    const run = await runVirtual(
      every(1, BACKLOG_MAX + 12),
      (clock) => new ScriptedTarget(clock, (index) => ({ afterUs: index === 0 ? 200_000 : 1 })),
      { concurrencyMax: 1 },
    );
    expect(run.counts.failures).toEqual({ "client-backlog": 11 });
    expect(run.counts).toMatchObject({ offered: BACKLOG_MAX + 12, completed: BACKLOG_MAX + 1 });
  });
});

describe("an interrupt", () => {
  it("ends the run with what there is, and without what was open", async () => {
    const controller = new AbortController();
    const run = await runVirtual(
      every(100_000, 100),
      (clock) => {
        clock.at(1_000_000, () => controller.abort());
        return new ScriptedTarget(clock, () => ({ afterUs: 250_000 }));
      },
      { signal: controller.signal },
    );
    // The first starts after a lead of 20 ms; 10 were sent by then, and the last 2 were open.
    expect(run.counts).toMatchObject({ offered: 8, sent: 8, completed: 8, failed: 0 });
    expect(run.gauges.interrupted!.value).toBe(2);
    expect(run.durationUs).toBe(980_000);
  });

  it("before the first request ends it at once", async () => {
    const run = await runVirtual(every(1_000, 5), answers(1), { signal: AbortSignal.abort() });
    expect(run.counts.offered).toBe(0);
  });
});

it("ends with the fault of a target that throws, and leaves no timer behind", async () => {
  const clock = new SimClock();
  const failed = runOpenLoop({
    name: "x",
    world: "virtual",
    seed: null,
    conditions: {
      target: "",
      arrivals: "",
      workload: "",
      temperature: "warm",
      cacheMode: "",
      setup: {},
    },
    clock,
    requests: every(1_000, 5),
    spanUs: 5_000,
    target: {
      send: () => {
        throw new Error("broken target");
      },
    },
  });
  const outcome = expect(failed).rejects.toThrow("broken target");
  await clock.run();
  await outcome;
});

it("tells how it goes", async () => {
  const seen: LoadProgress[] = [];
  await runVirtual(every(10_000, 100), answers(50_000), {
    onProgress: (progress) => seen.push(progress),
    progressEveryUs: 500_000,
  });
  expect(seen).toHaveLength(2);
  expect(seen[0]).toMatchObject({ sent: 48, offered: 48, completed: 43, open: 5, metric: "E2E" });
  expect(seen[0]!.p50Us / 50_000).toBeCloseTo(1, 2);
});
