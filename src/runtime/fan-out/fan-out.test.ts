import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { StragglerPolicy } from "../../policy/join/index.ts";
import { Deadline } from "../deadline.ts";
import { type BranchCode, type FanOutOptions, type FanOutResult, fanOut } from "./fan-out.ts";

const MS = 1_000;

function world() {
  const clock = new SimClock();
  const takes =
    (ms: number, value: unknown = ms): BranchCode =>
    async ({ signal }) => {
      await clock.sleepUntil(clock.nowUs() + ms * MS, signal);
      if (value instanceof Error) throw value;
      return value;
    };
  const run = async (
    branches: Parameters<typeof fanOut>[0],
    options: FanOutOptions = {},
  ): Promise<FanOutResult> => {
    const result = fanOut(branches, { clock, ...options });
    result.catch(() => {});
    await clock.run();
    return result;
  };
  return { clock, takes, run };
}

describe("a fan-out", () => {
  it("joins all, and names the straggler", async () => {
    const { takes, run } = world();
    const result = await run({ a: takes(100), b: takes(900), c: () => "at once" });
    expect(result).toMatchObject({
      values: { a: 100, b: 900, c: "at once" },
      isPartial: false,
      wallUs: 900 * MS,
      straggler: { branch: "b", gapUs: 800 * MS },
    });
    expect(await result.losers).toEqual({ obeyed: 0, abandoned: 0 });
  });

  it("of k calls the losers off, and sees whether they end", async () => {
    const { takes, run, clock } = world();
    const deaf = () => new Promise(() => {});
    const branches = { a: takes(100), b: takes(200), c: takes(900), d: deaf };
    const result = await run(branches, { join: { k: 2 } });
    expect(result).toMatchObject({ values: { a: 100, b: 200 }, wallUs: 200 * MS });
    expect(result.branches.map(({ state }) => state)).toEqual([
      "ok",
      "ok",
      "cancelled",
      "cancelled",
    ]);
    expect(await result.losers).toEqual({ obeyed: 1, abandoned: 1 });
    expect(clock.nowUs()).toBeLessThan(1_000 * MS);
  });

  it("with a deadline is partial, never without what is required", async () => {
    const { takes, run } = world();
    const join = { deadline: "500ms", partial: true };
    const branches = { a: takes(100), b: takes(900) };
    const result = await run(branches, { join });
    expect(result).toMatchObject({ values: { a: 100 }, isPartial: true, wallUs: 500 * MS });
    const required = { ...branches, b: { run: takes(900), required: true } };
    await expect(run(required, { join })).rejects.toMatchObject({
      code: "MANX_FAN_OUT_FAILED",
      details: { why: "deadline" },
    });
    // What is optional has until the deadline, though all that is required is in.
    const optional = { web: { run: takes(50), required: true }, a: takes(100), b: takes(900) };
    expect(await run(optional, { join })).toMatchObject({
      values: { web: 50, a: 100 },
      isPartial: true,
      wallUs: 500 * MS,
    });
    const whole = { deadline: "500ms", partial: false };
    await expect(run(branches, { join: whole })).rejects.toMatchObject({
      code: "MANX_FAN_OUT_FAILED",
    });
  });

  it("takes what is there at the turn's own deadline too", async () => {
    const { takes, run, clock } = world();
    const turn = Deadline.within(clock, "300ms");
    const join = { deadline: "5s", partial: true };
    const result = await run({ a: takes(100), b: takes(900) }, { join, deadline: turn });
    expect(result).toMatchObject({ values: { a: 100 }, isPartial: true, wallUs: 300 * MS });
    await expect(run({ a: takes(900) }, { deadline: "1s", join: { k: 1 } })).resolves.toMatchObject(
      {
        values: { a: 900 },
      },
    );
    await expect(run({ a: takes(900) }, { deadline: 0 })).rejects.toMatchObject({
      code: "MANX_FAN_OUT_FAILED",
    });
  });

  it("fails with what a required branch threw", async () => {
    const { takes, run } = world();
    const boom = new Error("boom");
    await expect(run({ a: takes(100), b: takes(50, boom) })).rejects.toMatchObject({
      code: "MANX_FAN_OUT_FAILED",
      message: 'the branch "b" has failed, which is required',
      cause: boom,
      details: { branches: [{ state: "cancelled" }, { state: "failed" }] },
    });
    const optional = { a: takes(100), b: { run: takes(50, boom), required: false } };
    expect((await run(optional)).values).toEqual({ a: 100 });
  });

  it("ends when whoever wanted it leaves", async () => {
    const { takes, clock } = world();
    const caller = new AbortController();
    const result = fanOut({ a: takes(900) }, { clock, signal: caller.signal });
    clock.at(100 * MS, () => caller.abort());
    const caught = result.catch((error: unknown) => [error, clock.nowUs()]);
    await clock.run();
    expect(await caught).toMatchObject([{ details: { why: "stopped" } }, 100 * MS]);
  });

  it("waits for everything with a deadline that takes no part, also if one branch says that it is required", async () => {
    const { takes, run } = world();
    const branches = { a: { run: takes(50, "a"), required: true }, b: takes(300, "b") };
    const all = await run(branches, { join: { deadline: "1s", partial: false } });
    expect(all).toMatchObject({ values: { a: "a", b: "b" }, wallUs: 300 * MS });
    const late = run(branches, { join: { deadline: "200ms", partial: false } });
    await expect(late).rejects.toMatchObject({ details: { why: "deadline" } });
  });

  it("hedges a late branch and takes the faster", async () => {
    const { clock, takes, run } = world();
    let calls = 0;
    const signals: AbortSignal[] = [];
    const moody: BranchCode = (deadline, span) => {
      calls += 1;
      signals.push(deadline.signal);
      return takes(calls === 1 ? 9_000 : 100, calls)(deadline, span);
    };
    const result = await run({ a: takes(50), b: moody }, { hedge: { after: "300ms" } });
    expect(result).toMatchObject({ values: { b: 2 }, wallUs: 400 * MS, hedges: 1 });
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(clock.nowUs()).toBeLessThanOrEqual(9_000 * MS);
    calls = 0;
    const once = { b: { run: moody, hedges: false } };
    expect((await run(once, { hedge: { after: "300ms" } })).hedges).toBe(0);
  });

  it("learns over many what is late", async () => {
    const { takes, run } = world();
    const hedge = new StragglerPolicy();
    for (let i = 0; i < 40; i += 1) {
      const ms = 100 + ((i * 7) % 30);
      await run({ a: takes(ms), b: takes(ms) }, { hedge });
    }
    let calls = 0;
    const moody: BranchCode = (deadline, span) => {
      calls += 1;
      return takes(calls === 1 ? 22_000 : 120)(deadline, span);
    };
    const rescued = await run({ a: takes(110), b: moody }, { hedge });
    expect(rescued.hedges).toBe(1);
    expect(rescued.wallUs).toBeLessThan(300 * MS);
  });

  it.each([
    [{}, {}],
    [{ a: () => 1 }, { join: { k: 2 } }],
    [{ a: () => 1 }, { join: { k: 0 } }],
  ])("of %o with %o is refused", async (branches, options) => {
    await expect(fanOut(branches, options)).rejects.toMatchObject({ code: "MANX_TOOL_INVALID" });
  });
});
