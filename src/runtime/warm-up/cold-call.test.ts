import { describe, expect, it } from "vitest";
import { warmWorld as world } from "../../../test/support/warm-world.ts";
import { TurnRecorder, turnRecord } from "../../trace/index.ts";

const S = 1_000_000;

describe("a call", () => {
  it("before readiness is cold by the process's cause, and tells what it waited for", async () => {
    const { clock, item, warmUp } = world();
    const start = new TurnRecorder({ clock, name: "start" });
    const up = warmUp(
      { registry: item("registry", 3), pool: item("pool", 1) },
      { cause: "scale-out", span: start, instance: "pod-7" },
    );
    void up.start();
    await clock.run(0.5 * S);
    const turn = new TurnRecorder({ clock, name: "support" });
    const call = up.mark({ span: turn });
    const both = Promise.all([call.get("registry"), call.get("pool")]);
    await clock.run();
    expect(await both).toEqual(["registry 1", "pool 1"]);
    expect(call.mark).toEqual({
      temperature: "cold",
      cause: "scale-out",
      waits: [
        { item: "pool", waitedUs: 0.5 * S },
        { item: "registry", waitedUs: 2.5 * S },
      ],
      waitedUs: 2.5 * S,
    });
    const record = turnRecord(turn.finish());
    expect(record.flags.cold).toEqual(["scale-out"]);
    expect(record.spans.map(({ kind, cold }) => [kind, cold])).toContainEqual([
      "startup",
      "scale-out",
    ]);
    // The start's own trace and the turn that it has delayed name the same process.
    const waits = record.spans.filter(({ kind }) => kind === "startup");
    const runs = turnRecord(start.finish()).spans.filter(({ kind }) => kind === "startup");
    for (const span of [...waits, ...runs]) {
      expect(span.attributes["service.instance.id"]).toBe("pod-7");
    }
    expect(runs.map(({ name, attributes }) => [name, attributes["manx.purpose"]])).toEqual([
      ["pool", "warm-up"],
      ["registry", "warm-up"],
    ]);
    expect(
      up.report().items.map(({ delayedCalls, delayedUs }) => [delayedCalls, delayedUs]),
    ).toEqual([
      [1, 2.5 * S],
      [1, 0.5 * S],
    ]);
  });

  it("is warm if it waited for nothing, partly if only for what was lazy or not used for long", async () => {
    const { clock, item, warmUp } = world();
    const up = warmUp({
      pool: item("pool", 1, { lives: "120s" }),
      rare: item("rare", 2, { lazy: true }),
    });
    void up.start();
    await clock.run(2 * S);
    const first = up.mark();
    await first.get("pool");
    expect(first.mark).toEqual({ temperature: "warm", cause: null, waits: [], waitedUs: 0 });
    const rare = up.mark();
    const lazily = rare.get("rare");
    await clock.run(5 * S);
    await lazily;
    expect(rare.mark).toMatchObject({ temperature: "partly", cause: "first-call" });
    // A use keeps it alive.
    await clock.run(100 * S);
    await up.get("pool");
    await clock.run(200 * S);
    expect(up.isReady).toBe(true);
    await clock.run(221 * S);
    expect(up.report().items[0]!.status).toBe("expired");
    const late = up.mark();
    const again = late.get("pool");
    await clock.run();
    expect(await again).toBe("pool 2");
    expect(late.mark).toMatchObject({ temperature: "cold", waitedUs: 1 * S });
  });
});
