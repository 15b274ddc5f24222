/** Prefixes primed and kept in simulated time, against a provider that forgets as the real ones do. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random, SimClock } from "../../clock/index.ts";
import { CacheKeeper, type CacheKeeperOptions, type WarmUpCall } from "./cache-keeper.ts";
import { compilePrompt } from "./compile-prompt.ts";
import { keepAliveWorth } from "./keep-alive-worth.ts";
import type { PromptPart } from "./prompt-part.ts";
import { SimulatedPromptCache } from "./simulated-prompt-cache.ts";

const MINUTE_US = 60_000_000;
const RULES = "Answer in one sentence. ".repeat(400);

function prompt(text = RULES, format: "anthropic-messages" | "openai-chat" = "anthropic-messages") {
  const parts: PromptPart[] = [{ kind: "system", stability: "static", text }];
  const model = format === "openai-chat" ? "gpt-5" : "claude-sonnet-4-5";
  return compilePrompt(parts, { format, model });
}

function world(options: Partial<CacheKeeperOptions> = {}) {
  const clock = new SimClock();
  const cache = new SimulatedPromptCache({ clock });
  const calls: { readonly atUs: number; readonly call: WarmUpCall }[] = [];
  const keeper = new CacheKeeper({
    clock,
    random: new Random(1, "cache-keeper"),
    send: async (call) => {
      calls.push({ atUs: clock.nowUs(), call });
      return cache.ask(call.body).usage;
    },
    ...options,
  });
  return { clock, cache, calls, keeper };
}

describe("a primed prefix", () => {
  it("is there for the first user", async () => {
    const { clock, cache, calls, keeper } = world();
    const kept = keeper.keep("support", prompt());
    await clock.run(0);
    expect(await kept).toMatchObject({ state: "kept", calls: 1, confirmed: 0, failed: 0 });
    const { call } = calls[0]!;
    expect(call).toMatchObject({
      purpose: "warm-up",
      headers: { "x-manx-purpose": "warm-up" },
      body: { max_tokens: 1, messages: [{ role: "user", content: "." }] },
    });
    const first = compilePrompt(
      [
        { kind: "system", stability: "static", text: RULES },
        { kind: "input", text: "Where is it?" },
      ],
      { format: "anthropic-messages", model: "claude-sonnet-4-5" },
    );
    expect(cache.ask(first.body).usage.readTokens).toBe(prompt().cacheableTokens);
    keeper.stop();
  });

  it("is kept while somebody comes, and let go when nobody does: for no more than it could have saved", async () => {
    const { clock, cache, calls, keeper } = world();
    void keeper.keep("support", prompt());
    const served: number[] = [];
    // Somebody every eight minutes: after the entry's end, within the renewed one's.
    for (let minute = 8; minute <= 80; minute += 8) {
      await clock.run(minute * MINUTE_US);
      keeper.arrived("support");
      served.push(cache.ask(prompt().body).usage.readTokens);
    }
    expect(new Set(served)).toEqual(new Set([prompt().cacheableTokens]));
    const [busy] = keeper.report();
    expect(busy).toMatchObject({ state: "kept", expired: 0, arrivals: 10 });
    expect(busy!.confirmed).toBeGreaterThanOrEqual(10);
    await clock.run(24 * 60 * MINUTE_US);
    const [idle] = keeper.report();
    expect(idle).toMatchObject({ state: "expired", expired: 1 });
    // Ten misses would have cost ten writes.
    expect(idle!.costTokens).toBeLessThan(10 * 1.25 * idle!.tokens);
    expect(idle!.costUsd).toBeCloseTo((idle!.costTokens * 3) / 1e6, 10);
    const gaps = calls.slice(1).map(({ atUs }, i) => atUs - calls[i]!.atUs);
    expect(Math.min(...gaps)).toBeGreaterThan(60_000);
    expect(calls.at(-1)!.atUs).toBeLessThan(4 * 60 * MINUTE_US);
    expect(clock.pending).toBe(0);
  });

  it("is left alone while arrivals keep it alive themselves", async () => {
    const { clock, calls, keeper } = world();
    void keeper.keep("support", prompt());
    for (let second = 10; second <= 3_600; second += 10) {
      await clock.run(second * 1_000_000);
      keeper.arrived("support");
    }
    expect(calls).toHaveLength(1);
    keeper.stop();
  });

  it("is kept again by the next arrival after it was let go", async () => {
    const { clock, keeper } = world();
    void keeper.keep("support", prompt());
    await clock.run(24 * 60 * MINUTE_US);
    expect(keeper.report()[0]!.state).toBe("expired");
    keeper.arrived("support");
    expect(keeper.report()[0]!.state).toBe("kept");
    keeper.stop();
    expect(keeper.report()[0]!.state).toBe("stopped");
  });

  it("is found gone where the provider forgot it early", async () => {
    const { clock, keeper } = world({
      send: async () => ({ readTokens: 0, writtenTokens: 2_000 }),
    });
    void keeper.keep("support", prompt());
    await clock.run(5 * MINUTE_US);
    expect(keeper.report()[0]).toMatchObject({ calls: 2, confirmed: 0, expired: 1 });
    keeper.stop();
  });

  it.each([
    ["no usage", async () => null, { failed: 0, confirmed: 0, state: "kept" }],
    ["an error", async () => Promise.reject(new Error("529")), { confirmed: 0, state: "expired" }],
    [
      "a throw",
      (): never => {
        throw new Error("no");
      },
      { confirmed: 0, state: "expired" },
    ],
    [
      "nothing at all",
      () => new Promise<never>(() => undefined),
      { confirmed: 0, state: "expired" },
    ],
  ])("bears %s for an answer", async (_, send, wanted) => {
    const { clock, keeper } = world({ send });
    const kept = keeper.keep("support", prompt());
    await clock.run(5.5 * MINUTE_US);
    await kept;
    const [report] = keeper.report();
    expect(report).toMatchObject(wanted);
    expect(report!.calls).toBeLessThan(20);
    keeper.stop();
  });
});

describe("several prefixes", () => {
  it("have one call under way at a time, each within its deadline", async () => {
    let open = 0;
    let most = 0;
    const { clock, keeper } = world({
      deadline: 5_000_000,
      send: (call) => {
        open += 1;
        most = Math.max(most, open);
        return new Promise((_, reject) => {
          call.signal.addEventListener("abort", () => {
            open -= 1;
            reject(call.signal.reason);
          });
        });
      },
    });
    for (let i = 0; i < 5; i += 1) void keeper.keep(`p${i}`, prompt(`${i} ${RULES}`));
    await clock.run(26_000_000);
    expect(most).toBe(1);
    expect(keeper.report().every(({ failed }) => failed >= 1)).toBe(true);
    keeper.stop();
    await clock.run(30_000_000);
    expect(open).toBe(0);
  });

  it.each<[string, readonly unknown[]]>([
    ["renewShare", [0, 1, -1, Number.NaN, null]],
    ["jitterShare", [1, -0.1, Number.NaN, "", null]],
    ["latencyFactor", [-1, Number.NaN, Number.POSITIVE_INFINITY, "1"]],
    ["prefixesMax", [0, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, "8"]],
    ["deadline", [-1, Number.NaN, Number.POSITIVE_INFINITY, "20", {}]],
    ["halfLife", [0, "0s", -1, Number.NaN, "30", null]],
  ])("refuses a %s that cannot be where it is given", (name, wrong) => {
    for (const one of wrong) {
      expect(() => world({ [name]: one })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/MANX_(?:FLAG_VALUE|DURATION)/) }),
      );
    }
  });

  it("are no more than there is room for, each of its own name, none that no cache keeps", async () => {
    const { clock, keeper } = world({ prefixesMax: 2 });
    void keeper.keep("a", prompt());
    void keeper.keep("b", prompt(`b ${RULES}`));
    await expect(keeper.keep("c", prompt())).rejects.toMatchObject({ code: "MANX_OVERLOADED" });
    await expect(keeper.keep("a", prompt())).rejects.toMatchObject({
      code: "MANX_REQUEST_INVALID",
    });
    keeper.drop("a");
    await expect(keeper.keep("c", prompt("Be brief."))).rejects.toMatchObject({
      code: "MANX_REQUEST_INVALID",
      where: "c",
    });
    await clock.run(0);
    expect(keeper.report().map(({ name }) => name)).toEqual(["b"]);
    keeper.stop();
    await expect(keeper.keep("d", prompt())).rejects.toMatchObject({
      got: "a keeper that was stopped",
    });
  });

  it("renew at times of their own", async () => {
    const { clock, calls, keeper } = world();
    for (const name of ["a", "b", "c"]) void keeper.keep(name, prompt(`${name} ${RULES}`));
    await clock.run(5 * MINUTE_US);
    const renewed = calls.slice(3).map(({ atUs }) => atUs);
    expect(new Set(renewed).size).toBe(3);
    for (const atUs of renewed) {
      expect(atUs).toBeGreaterThanOrEqual(4 * MINUTE_US);
      expect(atUs).toBeLessThanOrEqual(4.5 * MINUTE_US);
    }
    keeper.stop();
  });

  it("of OpenAI's format are primed by its own fields", async () => {
    const { clock, calls, keeper } = world();
    void keeper.keep("chat", prompt(RULES, "openai-chat"));
    await clock.run(0);
    expect(calls[0]!.call.body).toMatchObject({
      max_completion_tokens: 1,
      messages: [{ role: "system" }, { role: "user", content: "." }],
    });
    keeper.stop();
  });
});

describe("whether a call pays", () => {
  const facts = {
    sinceUs: 270_000_000,
    lifetimeUs: 300_000_000,
    tokens: 10_000,
    writeFactor: 1.25,
    readFactor: 0.1,
  };

  it.each([
    [1 / 10, false],
    [1 / 60, true],
    [1 / 600, true],
    [1 / 3_600, false],
    [0, false],
  ])("at %f arrivals in a second: %s", (perS, pays) => {
    expect(keepAliveWorth({ ...facts, perS }).pays).toBe(pays);
  });

  it("is the share of arrivals that it turns into hits, as drawn arrivals have it", () => {
    const random = new Random(7, "arrivals");
    for (const perS of [1 / 60, 1 / 300, 1 / 1_200]) {
      const { probability } = keepAliveWorth({ ...facts, perS });
      let turned = 0;
      const draws = 20_000;
      for (let i = 0; i < draws; i += 1) {
        const nextS = random.exponential(1 / perS);
        // From now: behind the old end, before the new one.
        if (nextS > 30 && nextS <= 300) turned += 1;
      }
      expect(turned / draws).toBeCloseTo(probability, 1);
    }
  });

  it("never pays where writing costs no more than reading", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 10, noNaN: true }), (perS) => {
        expect(keepAliveWorth({ ...facts, perS, writeFactor: 1, readFactor: 1 }).pays).toBe(false);
      }),
    );
  });
});
