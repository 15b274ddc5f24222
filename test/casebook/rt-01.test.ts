/** RT-01 — Which call does this fragment belong to? */
import { describe, expect, it } from "vitest";
import type { ToolEnd } from "../../src/stream/index.ts";
import { runtimeWorld } from "../support/runtime-world.ts";
import { bytesOf, chatWire, type Decoded, decode, delta } from "../support/wire-text.ts";

/** (index, id, name, arguments); null = absent. */
type Fragment = readonly [number | null, string | null, string | null, string | null];

function wire([index, id, name, args]: Fragment): object {
  return {
    ...(index !== null && { index }),
    ...(id !== null && { id }),
    function: { ...(name !== null && { name }), ...(args !== null && { arguments: args }) },
  };
}

/** Each array of fragments is one chunk. */
function run(...chunks: ReadonlyArray<readonly Fragment[]>): Decoded {
  const frames = chunks.map((fragments) => delta({ tool_calls: fragments.map(wire) }));
  return decode("openai-chat", chatWire(...frames, delta({}, "tool_calls"), "[DONE]"));
}

function each(...fragments: readonly Fragment[]): Decoded {
  return run(...fragments.map((fragment) => [fragment]));
}

function shown({ completion }: Decoded): string[] {
  return completion.toolCalls.map((call: ToolEnd) => `${call.id}${call.argumentsText}`);
}

const BOTH = ['A{"q":"a"}', 'B{"q":"b"}'];
const ONE = ['A{"q":"a"}'];

describe("RT-01: fragments of calls", () => {
  it("(a) are told apart by index", () => {
    const decoded = each(
      [0, "A", "get", ""],
      [1, "B", "get", ""],
      [0, null, null, '{"q":'],
      [1, null, null, '{"q":"b'],
      [0, null, null, '"a"}'],
      [1, null, null, '"}'],
    );
    expect(shown(decoded)).toEqual(BOTH);
    expect(decoded.completion).toMatchObject({ mayRunTools: true, faults: 0 });
  });

  it("(b) without index, by id", () => {
    expect(shown(each([null, "A", "get", '{"q":"a"}'], [null, "B", "get", '{"q":"b"}']))).toEqual(
      BOTH,
    );
  });

  it("(c) with the same index always, by id", () => {
    expect(shown(each([0, "A", "get", '{"q":"a"}'], [0, "B", "get", '{"q":"b"}']))).toEqual(BOTH);
  });

  it("(d) without index and id go to the call that is open", () => {
    const decoded = each([null, "A", "get", '{"q":'], [null, null, null, '"a"}']);
    expect(shown(decoded)).toEqual(ONE);
    expect(decoded.completion.toolCalls[0]?.repaired).toBe(false);
  });

  it("(e) may be two of one call in one chunk", () => {
    const chunk: Fragment[] = [
      [0, "A", "get", ""],
      [0, null, null, '{"q":'],
    ];
    expect(shown(run(chunk, [[0, null, null, '"a"}']]))).toEqual(ONE);
  });

  it("(f) may have an index and then none", () => {
    expect(shown(each([0, "A", "get", '{"q":"a"}'], [null, "B", "get", '{"q":"b"}']))).toEqual(
      BOTH,
    );
  });

  it("(g) whose index drifts go to the only open call, which is marked", () => {
    const decoded = each([0, "A", "get", '{"q":'], [1, null, null, '"a"}']);
    expect(shown(decoded)).toEqual(ONE);
    expect(decoded.completion.toolCalls[0]).toMatchObject({ repaired: true, problem: null });
  });

  it("(h) with empty ids get ids of their own", () => {
    const decoded = each([0, "", "get", '{"q":"a"}'], [1, "", "get", '{"q":"b"}']);
    const { toolCalls } = decoded.completion;
    expect(toolCalls.map((call) => call.argumentsText)).toEqual(['{"q":"a"}', '{"q":"b"}']);
    expect(toolCalls.every((call) => call.idGenerated && call.id !== "")).toBe(true);
    expect(new Set(toolCalls.map((call) => call.id)).size).toBe(2);
  });

  it("open a call by a name after whole arguments, where index and ids are of no use", () => {
    const decoded = each([0, "", "get", '{"q":"a"}'], [0, "", "get", '{"q":"b"}']);
    const texts = decoded.completion.toolCalls.map((call) => call.argumentsText);
    expect(texts).toEqual(['{"q":"a"}', '{"q":"b"}']);
  });

  it("that repeat id and name each time stay one call", () => {
    expect(shown(each([0, "A", "get", '{"q":'], [0, "A", "get", '"a"}']))).toEqual(ONE);
  });

  it("with a new id each time and no name stay one call, which is marked", () => {
    const decoded = each([0, "A", "get", '{"q":'], [0, "Z", null, '"a"}']);
    expect(shown(decoded)).toEqual(ONE);
    expect(decoded.completion.toolCalls[0]?.repaired).toBe(true);
  });

  it("that could belong to two open calls are an error, and neither is run", () => {
    const decoded = each(
      [0, "A", "get", '{"q":'],
      [1, "B", "get", '{"q":'],
      [null, null, null, '"a"}'],
    );
    const { toolCalls, faults, firstFault } = decoded.completion;
    expect(faults).toBe(1);
    expect(firstFault).toContain("tool-ambiguous");
    expect(toolCalls.map((call) => call.problem)).toEqual([
      expect.stringContaining("could belong"),
      expect.stringContaining("could belong"),
    ]);
  });

  it("that belong to no call are an error", () => {
    const { completion } = each([0, null, null, '{"q":"a"}']);
    expect(completion).toMatchObject({ faults: 1, toolCalls: [] });
  });

  it("with another name for an open call are an error", () => {
    const { completion } = each([0, "", "get", ""], [0, "", "set", '{"q":"a"}']);
    expect(completion.faults).toBe(1);
    expect(completion.toolCalls).toMatchObject([{ name: "get", problem: expect.any(String) }]);
  });

  it("with a new id and no name after whole arguments are no part of the call before", () => {
    const { completion } = each([0, "A", "get", '{"q":"a"}'], [0, "B", null, '{"q":"b"}']);
    expect(completion.toolCalls).toMatchObject([
      { id: "A", argumentsText: '{"q":"a"}', problem: null },
      { id: "B", problem: "it has no name" },
    ]);
  });

  it("that come after the end of their call are an error and change nothing", () => {
    const late = delta({ tool_calls: [wire([0, "A", null, '{"q":"b"}'])] });
    const opening = delta({ tool_calls: [wire([0, "A", "get", '{"q":"a"}'])] }, "tool_calls");
    const decoded = decode("openai-chat", chatWire(opening, late, "[DONE]"));
    expect(shown(decoded)).toEqual(ONE);
    expect(decoded.completion.firstFault).toContain("after the end of their call");
  });

  it("get an id that no other call has", () => {
    const { completion } = each([0, "call_x_1", "get", "{}"], [1, "", "get", "{}"]);
    const [first, second] = completion.toolCalls;
    expect(first?.id).toBe("call_x_1");
    expect(second).toMatchObject({ idGenerated: true, id: expect.not.stringMatching("call_x_1$") });
  });

  it("of different choices never meet", () => {
    const choice = (index: number, fragment: Fragment) => ({
      index,
      delta: { tool_calls: [wire(fragment)] },
    });
    const frames = [
      { choices: [choice(0, [0, "A", "get", '{"q":']), choice(1, [0, "B", "get", '{"q":'])] },
      { choices: [choice(1, [0, null, null, '"b"}']), choice(0, [0, null, null, '"a"}'])] },
      "[DONE]",
    ];
    expect(shown(decode("openai-chat", chatWire(...frames)))).toEqual(BOTH);
  });

  it("of different choices may have one id, and a lost one finds no call of another choice", () => {
    const choice = (index: number, fragment: Fragment) => ({
      choices: [{ index, delta: { tool_calls: [wire(fragment)] } }],
    });
    const twice = [choice(0, [0, "A", "get", '{"q":']), choice(1, [0, "A", "get", '{"q":"b"}'])];
    const same = decode(
      "openai-chat",
      chatWire(...twice, choice(0, [0, "A", null, '"a"}']), "[DONE]"),
    );
    expect(shown(same)).toEqual(['A{"q":"a"}', 'A{"q":"b"}']);
    const lost = [choice(0, [0, "A", "get", '{"q":']), choice(1, [null, null, null, '"a"}'])];
    expect(decode("openai-chat", chatWire(...lost, "[DONE]")).completion).toMatchObject({
      faults: 1,
      toolCalls: [{ argumentsText: '{"q":' }],
    });
  });
});

describe("RT-01: the runtime runs", () => {
  const FRAGMENTS: ReadonlyArray<readonly [string, readonly Fragment[], readonly string[]]> = [
    [
      "(a)",
      [
        [0, "A", "get", ""],
        [1, "B", "get", ""],
        [0, null, null, '{"q":'],
        [1, null, null, '{"q":"b'],
        [0, null, null, '"a"}'],
        [1, null, null, '"}'],
      ],
      ["a", "b"],
    ],
    [
      "(b)",
      [
        [null, "A", "get", '{"q":"a"}'],
        [null, "B", "get", '{"q":"b"}'],
      ],
      ["a", "b"],
    ],
    [
      "(c)",
      [
        [0, "A", "get", '{"q":"a"}'],
        [0, "B", "get", '{"q":"b"}'],
      ],
      ["a", "b"],
    ],
    [
      "(d)",
      [
        [null, "A", "get", '{"q":'],
        [null, null, null, '"a"}'],
      ],
      ["a"],
    ],
    [
      "(f)",
      [
        [0, "A", "get", '{"q":"a"}'],
        [null, "B", "get", '{"q":"b"}'],
      ],
      ["a", "b"],
    ],
    [
      "(g)",
      [
        [0, "A", "get", '{"q":'],
        [1, null, null, '"a"}'],
      ],
      ["a"],
    ],
    [
      "(h)",
      [
        [0, "", "get", '{"q":"a"}'],
        [1, "", "get", '{"q":"b"}'],
      ],
      ["a", "b"],
    ],
    [
      "none of two that are ambiguous",
      [
        [0, "A", "get", '{"q":'],
        [1, "B", "get", '{"q":'],
        [null, null, null, '"a"}'],
      ],
      [],
    ],
  ];

  it.each(FRAGMENTS)("%s once per call", async (_, fragments, asked) => {
    const world = runtimeWorld();
    const step = world.turn([world.timed("get", 5)]).step("openai-chat");
    const frames = fragments.map((fragment) => delta({ tool_calls: [wire(fragment)] }));
    step.push(bytesOf(chatWire(...frames, delta({}, "tool_calls"), "[DONE]")));
    await world.clock.run();
    expect(world.runs.map(({ args }) => (args as { q: string }).q)).toEqual(asked);
    const results = await step.results();
    const ok = results.filter(({ status }) => status === "ok");
    expect(ok).toHaveLength(asked.length);
    expect(new Set(results.map(({ id }) => id)).size).toBe(results.length);
  });
});
