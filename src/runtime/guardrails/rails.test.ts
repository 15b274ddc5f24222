/** Rails that cannot be, and rails that misbehave. */
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import {
  httpRail,
  modelRail,
  patternRail,
  type Rail,
  type RailCheck,
  type RailParts,
  Rails,
  rail,
} from "./index.ts";

const clean = rail({ name: "clean", check: () => "clean" });

function refusalOf(make: () => unknown): { code: string; text: string } {
  try {
    make();
  } catch (thrown) {
    const { code, message, where, got } = thrown as Record<string, string>;
    return { code: code!, text: [message, where, got].join(" | ") };
  }
  throw new Error("it was taken");
}

describe("what cannot be a rail is refused where it is made", () => {
  it.each<[string, () => unknown, RegExp]>([
    ["a list without rails", () => new Rails([]), /would guard nothing/],
    ["two of one name", () => new Rails([clean, clean]), /two rails of one name/],
    [
      "none that begins",
      () => new Rails([rail({ name: "judge", when: "unsure", check: () => "clean" })]),
      /never be asked/,
    ],
    ["no name", () => rail({ name: "", check: () => "clean" }), /without a name/],
    ["no check", () => rail({ name: "a", check: undefined as never }), /checks nothing/],
    ["a budget of 0", () => rail({ name: "a", budget: 0, check: () => "clean" }), /no check can/],
    ["a stage", () => rail({ name: "a", stage: "both" as never, check: () => "clean" }), /stage/],
    ["a window", () => new Rails([clean], { windowChars: -1 }), /windowChars.*-1/],
    ["no patterns", () => patternRail({ name: "a", patterns: [] }), /without patterns/],
    ["a broken pattern", () => patternRail({ name: "a", patterns: ["("] }), /pattern that is none/],
    ["a dear one", () => patternRail({ name: "a", patterns: ["(a+)+b"] }), /very long.*\(a\+\)\+b/],
    ["a file", () => httpRail({ name: "a", url: "file:///etc/hosts" }), /rail "a"/],
    ["no URL", () => httpRail({ name: "a", url: "localhost" }), /rail "a"/],
  ])("%s", (_, make, text) => {
    const refusal = refusalOf(make);
    expect(refusal.code).toBe("MANX_RAIL_INVALID");
    expect(refusal.text).toMatch(text);
  });

  it("a budget without a unit", () => {
    expect(refusalOf(() => rail({ name: "a", budget: "5", check: () => "clean" })).code).toBe(
      "MANX_DURATION",
    );
  });
});

/** @returns what a rail was understood to say. */
async function said(check: RailCheck): Promise<[string, RailParts] | undefined> {
  const rails = new Rails([rail({ name: "a", check })]);
  let told: [string, RailParts] | undefined;
  rails.ask(0, "text", (verdict, parts) => {
    told = [verdict, parts];
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(rails.running).toBe(0);
  return told;
}

describe("what a rail answers", () => {
  it("is read in both forms, at once or later", async () => {
    expect(await said(() => "flag")).toEqual(["flag", {}]);
    expect(await said(async () => ({ verdict: "unsure", parts: { queueUs: 5 } }))).toEqual([
      "unsure",
      { queueUs: 5 },
    ]);
  });

  it("is a check that has failed, if it is nonsense", async () => {
    const nonsense: unknown[] = [undefined, null, true, 1, "yes", {}, { verdict: "maybe" }, []];
    for (const answer of nonsense) {
      expect(await said(() => answer as never)).toEqual(["failed", {}]);
      expect(await said(async () => answer as never)).toEqual(["failed", {}]);
    }
    const parts = { queueUs: -1, loadUs: Number.NaN, networkUs: "5" } as unknown as RailParts;
    expect(await said(() => ({ verdict: "clean", parts }))).toEqual(["clean", {}]);
  });

  it("is one that has failed, if it throws, in whichever way", async () => {
    const throws = (): never => {
      throw new Error("broken");
    };
    expect(await said(throws)).toEqual(["failed", {}]);
    expect(await said(async () => throws())).toEqual(["failed", {}]);
    const hostile = new Proxy({}, { get: throws }) as never;
    expect(await said(() => hostile)).toEqual(["failed", {}]);
  });

  it("does not count after it was given up, and its signal has aborted", async () => {
    let signal: AbortSignal | undefined;
    let answer: (verdict: "clean") => void = () => {};
    const slow = rail({
      name: "slow",
      check: (_, context) => {
        signal = context.signal;
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
    });
    const rails = new Rails([slow]);
    const told: string[] = [];
    const cancel = rails.ask(0, "text", (verdict) => told.push(verdict));
    cancel();
    cancel();
    expect(signal?.aborted).toBe(true);
    expect(rails.running).toBe(1);
    answer("clean");
    await new Promise((resolve) => setImmediate(resolve));
    expect([told, rails.running, rails.counts.late]).toEqual([[], 0, 1]);
  });

  it("is not waited for where too many ignore their signal: the number of running ones is bounded", () => {
    const deaf = rail({ name: "deaf", check: () => new Promise(() => {}) });
    const rails = new Rails([deaf], { checksMax: 3 });
    const told: string[] = [];
    for (let i = 0; i < 5; i += 1) rails.ask(0, "text", (verdict) => told.push(verdict))();
    expect([rails.running, rails.counts.crowdedOut, told]).toEqual([3, 2, ["failed", "failed"]]);
  });
});

describe("patternRail", () => {
  const check = (one: Rail, text: string): unknown =>
    one.check(text, { signal: new AbortController().signal, stage: "output" });

  it("finds text and expressions, each time anew", () => {
    const both = patternRail({ name: "a", patterns: ["\\bfoo\\b", /BAR/gi] });
    for (let i = 0; i < 3; i += 1) {
      expect(check(both, "a foo")).toBe("flag");
      expect(check(both, "a bar")).toBe("flag");
      expect(check(both, "food")).toBe("clean");
    }
    expect(check(patternRail({ name: "a", patterns: ["x"], onMatch: "unsure" }), "x")).toBe(
      "unsure",
    );
  });

  it("takes an unbounded one from who vouches for it, and any text of a megabyte", () => {
    const trusted = patternRail({ name: "a", patterns: ["ignore\\s+all"], trustPatterns: true });
    expect(check(trusted, `${"x".repeat(1024 * 1024)} ignore   all`)).toBe("flag");
  });
});

describe("modelRail", () => {
  it("asks its question and reads the first word", async () => {
    const asked: string[] = [];
    const judge = (answer: unknown) =>
      modelRail({
        name: "judge",
        instruction: "Is it medical advice?",
        ask: async ({ system, user }) => {
          asked.push(`${system} / ${user}`);
          return answer;
        },
      }).check;
    const context = { signal: new AbortController().signal, stage: "output" } as const;
    for (const [answer, verdict] of [
      ["Yes.", "flag"],
      ["no", "clean"],
      ["Unsure, it depends", "unsure"],
      ["I cannot say", "failed"],
      [undefined, "failed"],
    ] as const) {
      expect(await judge(answer)("take two", context)).toBe(verdict);
    }
    expect(asked[0]).toMatch(/^Is it medical advice\?.*one word.* \/ take two$/s);
    expect(await judge("no")("x".repeat(200_001), context)).toBe("failed");
    expect(asked).toHaveLength(5);
  });
});

describe("httpRail", () => {
  const clock = new SimClock();
  const signal = new AbortController().signal;
  const seen: { url: string; init: RequestInit }[] = [];

  const ask = (answer: () => Response, text = "hello") => {
    const one = httpRail({
      name: "guard",
      stage: "request",
      url: "https://guard.example/check?v=1",
      headers: () => ({ authorization: "Bearer sk-secret" }),
      clock,
      fetch: async (url, init) => {
        seen.push({ url: String(url), init });
        await clock.sleepUntil(clock.nowUs() + 80_000);
        return answer();
      },
    });
    const said = one.check(text, { signal, stage: "request" });
    return clock.run().then(() => said);
  };

  it("posts the text and reads all three forms", async () => {
    for (const [body, verdict] of [
      ['{"verdict":"unsure"}', "unsure"],
      ['{"flagged":true}', "flag"],
      ['{"results":[{"flagged":false},{"flagged":true}]}', "flag"],
      ["not JSON", "failed"],
      ["", "failed"],
    ] as const) {
      expect(await ask(() => new Response(body))).toMatchObject({ verdict });
    }
    const { url, init } = seen[0]!;
    expect(url).toBe("https://guard.example/check?v=1");
    expect(init.body).toBe('{"input":"hello"}');
    expect(init).toMatchObject({ method: "POST", redirect: "error", signal });
    expect(init.headers).toMatchObject({ "x-manx-guard-stage": "request" });
  });

  it("takes no verdict from an error, nor from an endless answer, nor of an endless text", async () => {
    expect(await ask(() => new Response('{"verdict":"clean"}', { status: 500 }))).toMatchObject({
      verdict: "failed",
    });
    let left = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(8_192).fill(32)),
      cancel: () => {
        left = true;
      },
    });
    expect(await ask(() => new Response(endless))).toMatchObject({ verdict: "failed" });
    expect(left).toBe(true);
    const before = seen.length;
    await ask(() => new Response("{}"), "x".repeat(1024 * 1024 + 1));
    expect(seen).toHaveLength(before);
  });

  it("tells the server's own times from the network's, if they can be true", async () => {
    const timed = (timing: string) => {
      const headers = { "server-timing": timing };
      return ask(() => new Response('{"verdict":"clean"}', { headers }));
    };
    expect(await timed('cache;desc="x", queue;dur=12.5, load;dur=5, decode;dur=30')).toMatchObject({
      parts: { networkUs: 32_500, queueUs: 12_500, loadUs: 5_000, decodeUs: 30_000 },
    });
    expect(await timed("queue;dur=900")).toMatchObject({ parts: {} });
    expect(await timed("nonsense;;,,queue;dur=x")).toMatchObject({ parts: {} });
  });
});
