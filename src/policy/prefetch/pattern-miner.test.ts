import { describe, expect, it } from "vitest";
import { Random } from "../../clock/index.ts";
import type { LoggedTurn } from "./logged-turn.ts";
import { PatternMiner } from "./pattern-miner.ts";
import { minerOf, modelOf } from "./prefetch-model.ts";
import { TurnPast } from "./turn-past.ts";

const call = (tool: string, args: unknown, result?: unknown) => ({
  tool,
  args,
  result,
  tookUs: 1_000,
});

/** A user asks for an order: orders, then the shipping of the first of them, in English. */
function supportTurn(random: Random): LoggedTurn {
  const order = `AB-${1_000 + random.int(9_000)}`;
  const parcel = `p${random.int(1e9)}`;
  return {
    input: { user: `u${random.int(1e9)}`, text: `Where is ${order}? I wait for it.` },
    steps: [
      {
        thinkUs: 1_000,
        calls: [call("orders", { id: order }, { items: [{ parcel, lang: "en" }] })],
      },
      { thinkUs: 1_000, calls: [call("shipping", { by: { parcel }, lang: "en" }, "on its way")] },
      { thinkUs: 1_000, calls: [] },
    ],
  };
}

function trained(turns: number): PatternMiner {
  const random = new Random(1, "turns");
  const miner = new PatternMiner();
  for (let i = 0; i < turns; i += 1) miner.learn(supportTurn(random));
  return miner;
}

/** Guesses at each step of a turn that the miner has not seen. */
function guessed(miner: PatternMiner, { input, steps }: LoggedTurn): unknown[][] {
  const past = new TurnPast(input);
  return steps.map(({ calls }, i) => {
    const all = miner.guesses(past).map(({ tool, args }) => [tool, args]);
    past.add(calls.map(({ tool, args, result }) => ({ step: i + 1, tool, args, result })));
    return all;
  });
}

describe("patterns of calls", () => {
  it("hold for arguments that were never seen: words of the input, results, constants", () => {
    const turn = supportTurn(new Random(99, "new"));
    expect(guessed(trained(10), turn)).toEqual(
      turn.steps.map(({ calls }) => calls.map(({ tool, args }) => [tool, args])),
    );
  });

  it("say honestly how often they come true: test, then train", () => {
    const random = new Random(2, "chance");
    const miner = new PatternMiner();
    for (let i = 0; i < 400; i += 1) {
      const tool = random.next() < 0.7 ? "a" : "b";
      miner.learn({ steps: [{ thinkUs: 1, calls: [call(tool, { of: "all" })] }] });
    }
    const guesses = miner.guesses(new TurnPast(undefined));
    const rate = (name: string): number => {
      const { tries, hits } = guesses.find(({ tool }) => tool === name)!;
      return hits / tries;
    };
    expect(rate("a")).toBeGreaterThan(0.63);
    expect(rate("a")).toBeLessThan(0.77);
    expect(rate("a") + rate("b")).toBeCloseTo(1, 1);
  });

  it("tell the calls of one tool in a step apart: the first two results are read", () => {
    const random = new Random(3, "urls");
    const miner = new PatternMiner();
    const turn = (): LoggedTurn => {
      const [a, b, c] = [1, 2, 3].map(() => `https://x/${random.int(1e9)}`);
      const found = call("search", { q: "x" }, [{ url: a }, { url: b }, { url: c }]);
      const reads = [call("read", { url: a }, "A"), call("read", { url: b }, "B")];
      return {
        steps: [
          { thinkUs: 1, calls: [found] },
          { thinkUs: 1, calls: reads },
        ],
      };
    };
    for (let i = 0; i < 10; i += 1) miner.learn(turn());
    const next = turn();
    const urls = next.steps[1]!.calls.map(({ tool, args }) => [tool, args]);
    expect(guessed(miner, next)[1]).toEqual(urls);
  });

  it("say nothing before they have seen enough, and nothing where a value is missing", () => {
    expect(guessed(trained(2), supportTurn(new Random(9, "new")))).toEqual([[], [], []]);
    const past = new TurnPast({ user: "u", text: "Where is it?" });
    expect(trained(10).guesses(past)).toEqual([]);
  });

  it("change their mind when the habit changes", () => {
    const miner = new PatternMiner();
    const learn = (turns: number, q: string): void => {
      for (let i = 0; i < turns; i += 1) {
        miner.learn({ steps: [{ thinkUs: 1, calls: [call("search", { q })] }] });
      }
    };
    learn(2_000, "old");
    learn(600, "new");
    expect(miner.guesses(new TurnPast(undefined))[0]).toMatchObject({ args: { q: "new" } });
  });

  it("stay within bounds, whatever is logged", () => {
    const random = new Random(4, "noise");
    const miner = new PatternMiner();
    for (let i = 0; i < 3_000; i += 1) {
      const calls = Array.from({ length: 3 }, () =>
        call(`t${random.int(60)}`, { [`k${random.int(9)}`]: random.int(1e6) }, [random.int(1e6)]),
      );
      miner.learn({
        input: random.int(1e6),
        steps: [
          { thinkUs: 1, calls },
          { thinkUs: 1, calls: calls.slice(1) },
        ],
      });
    }
    expect(miner.contexts.size).toBeLessThanOrEqual(512);
    for (const { next } of miner.contexts.values()) {
      expect(next.size).toBeLessThanOrEqual(16);
      for (const { shapes } of next.values()) {
        expect(shapes.size).toBeLessThanOrEqual(4);
        for (const { values } of shapes.values()) {
          for (const sources of values) expect(sources.size).toBeLessThanOrEqual(12);
        }
      }
    }
    expect(JSON.stringify(modelOf(miner)).length).toBeLessThan(4_000_000);
  });

  it("of the same turns are the same, and survive JSON", () => {
    const [one, two] = [modelOf(trained(50)), modelOf(trained(50))];
    expect(one).toEqual(two);
    const again = minerOf(JSON.stringify(one));
    expect(modelOf(again)).toEqual(one);
    const turn = supportTurn(new Random(99, "new"));
    expect(guessed(again, turn)).toEqual(guessed(trained(50), turn));
  });
});

describe("a learnt model", () => {
  const model = JSON.parse(JSON.stringify(modelOf(trained(10))));
  const context = model.contexts[0];
  const next = context.next[0];
  const withNext = (change: object) => ({
    ...model,
    contexts: [{ ...context, next: [{ ...next, ...change }] }],
  });

  it.each<[string, unknown, string]>([
    ["text that is no JSON", "{", ""],
    ["something else", [], "$"],
    ["another kind", { ...model, kind: "turn" }, "kind"],
    ["another version", { ...model, schemaVersion: 2 }, "schemaVersion"],
    ["no contexts", { ...model, contexts: null }, "contexts"],
    [
      "a context without calls",
      { ...model, contexts: [{ after: "^", seen: 1 }] },
      "contexts[0].next",
    ],
    ["a call without a name", withNext({ call: "no place" }), "contexts[0].next[0].call"],
    ["more hits than tries", withNext({ hits: 99, tries: 1 }), "contexts[0].next[0].hits"],
    ["a negative count", withNext({ came: -1 }), "contexts[0].next[0].came"],
    [
      "a shape without its values",
      withNext({ shapes: [{ shape: '{"a":0}', count: 1, values: [] }] }),
      "contexts[0].next[0].shapes[0].shape",
    ],
    [
      "a broken constant",
      withNext({ shapes: [{ shape: '{"a":0}', count: 1, values: [{ "={": 1 }] }] }),
      "contexts[0].next[0].shapes[0].values[0]",
    ],
    [
      "a source that is none",
      withNext({ shapes: [{ shape: '{"a":0}', count: 1, values: [{ "file:/x": 1 }] }] }),
      "contexts[0].next[0].shapes[0].values[0]",
    ],
  ])("is refused if it is %s", (_, bad, where) => {
    const expected = { code: "MANX_PREFETCH_MODEL", ...(where !== "" && { where }) };
    expect(() => minerOf(bad)).toThrow(expect.objectContaining(expected));
  });
});
