import { describe, expect, it } from "vitest";
import { warmWorld as world } from "../../../test/support/warm-world.ts";
import type { WarmItem } from "./warm-item.ts";

const S = 1_000_000;

describe("a warm-up", () => {
  it("runs what needs nothing side by side, the rest as soon as it can, and is ready with the last required one", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp({
      connect: item("connect", 20),
      registry: item("registry", 30),
      validators: item("validators", 10, { needs: ["registry"] }),
      primer: item("primer", 15, { needs: ["connect"] }),
      news: item("news", 100, { optional: true, within: "200s" }),
    });
    const started = up.start();
    await clock.run(39 * S);
    expect(up.isReady).toBe(false);
    expect(up.readiness()).toEqual({
      status: 503,
      body: '{"status":"warming","missing":[{"item":"validators","status":"running"}]}',
    });
    await clock.run(41 * S);
    const report = await started;
    expect(log).toEqual(["connect 0", "registry 0", "news 0", "primer 20", "validators 30"]);
    expect(report).toMatchObject({
      isReady: true,
      readyUs: 40 * S,
      criticalPathUs: 40 * S,
      sumUs: 75 * S,
      savingUs: 35 * S,
      criticalPath: ["registry", "validators"],
      unattributedUs: 0,
    });
    const saving = Object.fromEntries(report.items.map((one) => [one.name, one.savingUs / S]));
    expect(saving).toEqual({ connect: 0, registry: 5, validators: 5, primer: 0, news: 0 });
    expect(up.readiness()).toEqual({ status: 200, body: '{"status":"ready"}' });
    await clock.run(101 * S);
    expect(await up.get("news")).toBe("news 1");
    up.close();
  });

  it("is not ready before a proof has used what was made, and after a rehearsal of the whole path", async () => {
    const { clock, item, warmUp } = world();
    const seen: unknown[] = [];
    const up = warmUp(
      {
        pool: item("pool", 1, {
          proof: async (value: string) => {
            await clock.sleepUntil(clock.nowUs() + 2 * S);
            seen.push(value);
          },
        }),
      },
      {
        rehearse: async (headers) => {
          await clock.sleepUntil(clock.nowUs() + 4 * S);
          seen.push(headers);
        },
      },
    );
    const started = up.start();
    await clock.run();
    const report = await started;
    expect(seen).toEqual(["pool 1", { "x-manx-purpose": "warm-up" }]);
    expect(report.readyUs).toBe(7 * S);
    expect(report.items.map(({ name, proofUs }) => [name, proofUs])).toEqual([
      ["pool", 2 * S],
      ["rehearsal", 0],
    ]);
  });

  it("does not believe what fails its proof, by throwing or by false", async () => {
    const { clock, item, warmUp } = world();
    const up = warmUp(
      {
        empty: item("empty", 1, { proof: () => false }),
        throwing: item("throwing", 1, {
          proof: () => {
            throw new Error("no answer");
          },
        }),
      },
      { attempts: 1 },
    );
    const started = up.start();
    await clock.run();
    const { isReady, items } = await started;
    expect(isReady).toBe(false);
    expect(items.map(({ status, error }) => [status, error])).toEqual([
      ["failed", "its proof has failed: what was made does not work"],
      ["failed", "no answer"],
    ]);
  });

  it("tries again with growing pauses, with all that waits for it, and is ready late rather than never", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp({
      flaky: item("flaky", 1, { fails: (run) => run <= 3 }),
      after: item("after", 1, { needs: ["flaky"] }),
    });
    const started = up.start();
    await clock.run(2 * S);
    const early = await started;
    expect(early.items.map(({ status }) => status)).toEqual(["failed", "skipped"]);
    expect(early.items[1]!.error).toBe('it needs "flaky", which has failed');
    await clock.run();
    await up.whenReady;
    expect(log).toEqual(["flaky 0", "flaky 1.25", "flaky 2.75", "flaky 4.75", "after 5.75"]);
    expect(up.isReady).toBe(true);
  });

  it("gives up after its attempts, holds no timer then, and a use begins another", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp({ dead: item("dead", 1, { fails: (run) => run < 4 }) }, { attempts: 3 });
    void up.start();
    await clock.run();
    expect(log).toHaveLength(3);
    const use = up.get("dead").catch((error) => error);
    await clock.run();
    // Too early: the pause after the third failure is not over.
    expect(await use).toMatchObject({ code: "MANX_NOT_WARM", details: { failures: 3 } });
    await clock.run(clock.nowUs() + 2 * S);
    const later = up.get("dead");
    await clock.run();
    expect([await later, log.length]).toEqual(["dead 4", 4]);
  });

  it("ends what hangs or ignores its signal at its own limit, and all at the start's deadline", async () => {
    const { clock, item, warmUp } = world();
    const up = warmUp(
      {
        hangs: item("hangs", 1_000, { within: "2s" }),
        deaf: { run: () => new Promise(() => {}), proof: "run" },
        fine: item("fine", 1),
      },
      { deadline: "5s", attempts: 1, limits: { concurrency: 8 } },
    );
    const started = up.start();
    await clock.run();
    const { items, isReady } = await started;
    expect(isReady).toBe(false);
    expect(items.map(({ status, tookUs, error }) => [status, tookUs / S, error])).toEqual([
      ["failed", 2, "it took too long"],
      ["failed", 5, "the start's time was over"],
      ["ready", 1, null],
    ]);
  });

  it("with a deadline of zero begins nothing in it, says so, and is made warm behind", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp({ one: item("one", 1) }, { deadline: 0 });
    const started = up.start();
    await clock.run(0);
    expect((await started).items[0]).toMatchObject({ status: "failed", attempts: 0 });
    await clock.run();
    expect([log, up.isReady]).toEqual([["one 0.25"], true]);
  });

  it("keeps to its limits", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp(
      { a: item("a", 1), b: item("b", 1), c: item("c", 1) },
      { limits: { concurrency: 2 } },
    );
    void up.start();
    await clock.run();
    expect(log).toEqual(["a 0", "b 0", "c 1"]);
  });

  it("refuses what cannot be", () => {
    const { item, warmUp } = world();
    const a = (more: Partial<WarmItem>): WarmItem => item("a", 1, more);
    const cases: [Record<string, WarmItem>, string][] = [
      [{ a: a({ needs: ["b"] }), b: a({ needs: ["a"] }) }, "MANX_GRAPH_INVALID"],
      [{ a: a({ needs: ["c"] }) }, "MANX_GRAPH_INVALID"],
      [{ a: a({ needs: ["b"] }), b: a({ optional: true }) }, "MANX_WARM_UP_INVALID"],
      [{ a: a({ needs: ["b"] }), b: a({ lazy: true }) }, "MANX_WARM_UP_INVALID"],
      [{ a: a({ proof: undefined as never }) }, "MANX_WARM_UP_INVALID"],
      [{ a: a({ run: undefined as never }) }, "MANX_WARM_UP_INVALID"],
      [{ a: a({ refreshEvery: "5m", lives: "5m" }) }, "MANX_WARM_UP_INVALID"],
      [{ a: a({ refreshEvery: 0 }) }, "MANX_WARM_UP_INVALID"],
      [{ a: a({ within: "5" }) }, "MANX_DURATION"],
      [{ rehearsal: a({}), ...many(256, a({})) }, "MANX_WARM_UP_INVALID"],
    ];
    for (const [items, code] of cases) {
      expect(() => warmUp(items)).toThrow(expect.objectContaining({ code }));
    }
    const rehearse = (): void => {};
    for (const more of [
      { attempts: 0 },
      { attempts: Number.NaN },
      { deadline: "5" },
      { processStartUs: Number.NaN },
    ]) {
      expect(() => warmUp({}, more)).toThrow(/./);
    }
    expect(() => warmUp({ rehearsal: a({}) }, { rehearse })).toThrow(
      expect.objectContaining({ code: "MANX_WARM_UP_INVALID" }),
    );
    expect(() => warmUp({ a: a({}) }).get("b")).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN" }),
    );
  });

  it("with nothing to do is ready at once", async () => {
    const { clock, warmUp } = world();
    expect(await warmUp({}).start()).toMatchObject({ isReady: true, readyUs: 0, sumUs: 0 });
    expect(clock.pending).toBe(0);
  });
});

function many(count: number, item: WarmItem): Record<string, WarmItem> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`i${i}`, item]));
}

describe("a value", () => {
  it("that is lazy is made by its first use, once for all that ask meanwhile", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp({ lazy: item("lazy", 1, { lazy: true }) });
    await up.start();
    await clock.run(10 * S);
    expect(log).toEqual([]);
    const all = Promise.all([up.get("lazy"), up.get("lazy"), up.mark().get("lazy")]);
    await clock.run();
    expect([await all, log]).toEqual([["lazy 1", "lazy 1", "lazy 1"], ["lazy 10"]]);
  });

  it("serves while it is refreshed, and what is made from it follows", async () => {
    const { clock, log, item, warmUp } = world();
    const up = warmUp({
      registry: item("registry", 1, { refreshEvery: "60s" }),
      derived: item("derived", 1, { needs: ["registry"] }),
    });
    void up.start();
    await clock.run(61.5 * S);
    // The refresh runs: the old value is there at once.
    expect(await up.get("registry")).toBe("registry 1");
    await clock.run(64 * S);
    expect(await up.get("registry")).toBe("registry 2");
    expect(await up.get("derived")).toBe("derived 2");
    expect(log).toEqual(["registry 0", "derived 1", "registry 61", "derived 62"]);
    up.close();
    await clock.run();
    expect(log).toHaveLength(4);
  });

  it("whose refresh fails for hours is served stale, says so, and is asked for within bounds", async () => {
    const { clock, log, item, warmUp } = world();
    let isDown = false;
    const up = warmUp({
      registry: item("registry", 1, { refreshEvery: "60s", fails: () => isDown }),
      bounded: item("bounded", 1, { refreshEvery: "60s", staleMax: "1h", fails: () => isDown }),
    });
    void up.start();
    await clock.run(2 * S);
    isDown = true;
    await clock.run(3_000 * S);
    expect(up.isReady).toBe(true);
    expect(up.report().items[0]).toMatchObject({ status: "stale", error: "registry is down" });
    await clock.run(4 * 3_600 * S);
    expect(await up.get("registry")).toBe("registry 1");
    expect(up.report().items[0]!.staleUs).toBeGreaterThan(3.9 * 3_600 * S);
    expect(log.length).toBeLessThan((2 * (4 * 3_600)) / 30);
    // The bounded one is not served any more, and readiness says it.
    expect(up.isReady).toBe(false);
    await expect(up.get("bounded")).rejects.toMatchObject({ code: "MANX_NOT_WARM" });
    isDown = false;
    await clock.run(clock.nowUs() + 120 * S);
    expect(up.isReady).toBe(true);
    expect(up.report().items[0]).toMatchObject({ status: "ready", staleUs: 0, error: null });
    up.close();
  });

  it("of before serves until the first run is done, whoever begins it", async () => {
    const { clock, log, item, warmUp } = world();
    const seed = { value: "old" };
    const up = warmUp({
      eager: item("eager", 1, { seed }),
      rare: item("rare", 1, { seed, lazy: true }),
    });
    expect((await up.start()).isReady).toBe(true);
    expect([await up.get("eager"), await up.get("rare")]).toEqual(["old", "old"]);
    await clock.run();
    expect(log).toEqual(["eager 0", "rare 0"]);
    expect([await up.get("eager"), await up.get("rare")]).toEqual(["eager 1", "rare 1"]);
  });

  it("whose need is gone waits for it, and does not spin", async () => {
    const { clock, log, item, warmUp } = world();
    let isDown = false;
    const up = warmUp({
      base: item("base", 1, { refreshEvery: "10s", staleMax: "30s", fails: () => isDown }),
      derived: item("derived", 1, { needs: ["base"], refreshEvery: "20s" }),
    });
    void up.start();
    await clock.run(5 * S);
    isDown = true;
    await clock.run(600 * S);
    expect(await up.get("derived")).toMatch(/^derived/);
    expect(log.length).toBeLessThan(120);
    isDown = false;
    await clock.run(700 * S);
    expect(up.isReady).toBe(true);
    expect(up.report().items.map(({ status }) => status)).toEqual(["ready", "ready"]);
    up.close();
  });

  it("is not touched by an observer that throws, which is counted", async () => {
    const { clock, item, warmUp } = world();
    const observe = (): never => {
      throw new Error("no");
    };
    const up = warmUp({ a: item("a", 1) }, { observe });
    void up.start();
    await clock.run();
    expect([up.isReady, up.report().observerErrors]).toEqual([true, 1]);
  });
});
