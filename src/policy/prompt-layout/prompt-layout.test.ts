/** What no casebook entry covers: laws of the canonical order and the marks, and the bound of the memory. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withCacheMarks } from "./cache-marks.ts";
import { inCanonicalOrder } from "./canonical-order.ts";
import { divergenceOf, sharedTokens } from "./divergence.ts";
import { LayoutMemory } from "./layout-memory.ts";
import { layoutOf } from "./prompt-layout.ts";
import { sortedJson } from "./sorted-json.ts";
import { volatileAt } from "./volatile-text.ts";

const anyBody = fc.record({
  tools: fc.jsonValue(),
  system: fc.jsonValue(),
  messages: fc.jsonValue(),
  input: fc.jsonValue(),
}) as fc.Arbitrary<Record<string, unknown>>;

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string() }),
  fc.record({ type: fc.constant("thinking"), thinking: fc.string() }),
  fc.record({ type: fc.constant("tool_use"), id: fc.string(), name: fc.string() }),
  fc.record({ type: fc.constant("tool_result"), tool_use_id: fc.string() }),
);
const message = fc.record({
  role: fc.constantFrom("user", "assistant"),
  content: fc.oneof(fc.string(), fc.array(block, { maxLength: 4 })),
});
const conversation = fc.record({
  tools: fc.array(fc.record({ name: fc.string(), defer_loading: fc.boolean() }), { maxLength: 3 }),
  system: fc.oneof(fc.string(), fc.array(block, { maxLength: 3 })),
  messages: fc.array(message, { maxLength: 6 }),
});

function marksIn(value: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "object" && one !== null && "cache_control" in one) {
      const { type, text } = one as { type?: string; text?: string };
      found.push(`${type ?? "tool"}:${text ?? "-"}`);
    }
    return one;
  });
  return found;
}

describe("the canonical order", () => {
  it("keeps every value, is its own order, and bears anything", () => {
    fc.assert(
      fc.property(fc.oneof(anyBody, conversation), (body) => {
        const made = inCanonicalOrder(body);
        expect(JSON.stringify(inCanonicalOrder(made))).toBe(JSON.stringify(made));
        const { tools, ...rest } = made;
        const { tools: before, ...others } = body as Record<string, unknown>;
        const sortedList = (list: unknown): unknown =>
          Array.isArray(list) ? list.map(sortedJson).sort() : sortedJson(list);
        expect(sortedList(tools)).toEqual(sortedList(before));
        // Nothing else here has calls that its results could be ordered by.
        expect(sortedJson(rest)).toBe(sortedJson(others));
      }),
    );
  });
});

describe("a request as large as a client can make one", () => {
  const CALLS = 40_000;
  const ids = Array.from({ length: CALLS }, (_, i) => `c${i}`);
  const turned = ids.toReversed();
  /** These took ten to fifty seconds while a list was searched for each of its entries. */
  const LIMIT_MS = 10_000;

  it.each<[string, Record<string, unknown>, (ordered: never) => unknown[]]>([
    [
      "chat",
      {
        messages: [
          { role: "assistant", tool_calls: ids.map((id) => ({ id })) },
          ...turned.map((id) => ({ role: "tool", tool_call_id: id })),
        ],
      },
      ({ messages }: { messages: { tool_call_id: string }[] }) =>
        messages.slice(1).map((one) => one.tool_call_id),
    ],
    [
      "messages",
      {
        messages: [
          { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id })) },
          { role: "user", content: turned.map((id) => ({ type: "tool_result", tool_use_id: id })) },
        ],
      },
      ({ messages }: { messages: { content: { tool_use_id: string }[] }[] }) =>
        messages[1]!.content.map((one) => one.tool_use_id),
    ],
    [
      "responses",
      {
        input: [
          ...ids.map((id) => ({ type: "function_call", call_id: id })),
          ...turned.map((id) => ({ type: "function_call_output", call_id: id })),
        ],
      },
      ({ input }: { input: { call_id: string }[] }) => input.slice(CALLS).map((one) => one.call_id),
    ],
  ])("has its results put in order without holding the process up: %s", (_, body, resultsOf) => {
    const startMs = performance.now();
    expect(resultsOf(inCanonicalOrder(body) as never)).toEqual(ids);
    expect(performance.now() - startMs).toBeLessThan(LIMIT_MS);
  });

  it("is compared with another one whose tools all differ", () => {
    const layout = (first: string) =>
      layoutOf({ tools: ids.map((id) => ({ name: `${first}${id}` })), messages: [] });
    const [before, after] = [layout("a"), layout("b")];
    const startMs = performance.now();
    expect(divergenceOf(before, after)).toMatchObject({ cause: "tool_changed" });
    // A layout has fewer parts than there are ids here: five seconds.
    expect(performance.now() - startMs).toBeLessThan(LIMIT_MS / 4);
  });
});

describe("marks", () => {
  it("are four at most, on what may carry them, and change nothing else of the prompt", () => {
    fc.assert(
      fc.property(conversation, fc.constantFrom(null, 0, 5, 50), (body, minimumTokens) => {
        const { body: made } = withCacheMarks(body, { minimumTokens });
        const marks = marksIn(made);
        expect(marks.length).toBeLessThanOrEqual(4);
        for (const mark of marks) expect(mark).not.toMatch(/^thinking|^text:\s*$/);
        expect(divergenceOf(layoutOf(body), layoutOf(made))).toBeNull();
        expect(divergenceOf(layoutOf(made), layoutOf(body))).toBeNull();
      }),
    );
  });

  it("of a caller's own are left alone", () => {
    const body = {
      system: [{ type: "text", text: "x".repeat(9_000), cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: "Hi" }],
    };
    expect(withCacheMarks(body, { minimumTokens: 0 })).toEqual({ body, markedTokens: 0 });
  });

  it("stand where the next request of the conversation reads", () => {
    const turns = (count: number) => ({
      system: "s".repeat(8_000),
      messages: Array.from({ length: count }, (_, i) => ({
        role: i % 2 === 0 ? "user" : "assistant",
        content: `message ${i}`,
      })),
    });
    const marked = (count: number): number[] => {
      const { body } = withCacheMarks(turns(count), { minimumTokens: 1_024 });
      return (body.messages as { content: unknown }[]).flatMap(({ content }, at) =>
        JSON.stringify(content).includes("cache_control") ? [at] : [],
      );
    };
    expect(marked(5)).toEqual([2, 4]);
    expect(marked(7)).toEqual([4, 6]);
  });
});

describe("two prompts", () => {
  it("that are equal never part, and one that goes on shares all of the first", () => {
    fc.assert(
      fc.property(conversation, fc.array(message, { maxLength: 3 }), (body, more) => {
        const layout = layoutOf(body);
        const longer = layoutOf({ ...body, messages: [...body.messages, ...more] });
        expect(divergenceOf(layout, longer)).toBeNull();
        expect(sharedTokens(layout, longer)).toBe(sharedTokens(layout, layout));
      }),
    );
  });

  it("part at the byte where they do, in UTF-8", () => {
    const text = (end: string) => ({ system: `é😀 ${end}`, messages: [] });
    const found = divergenceOf(layoutOf(text("one")), layoutOf(text("two")));
    expect(found).toMatchObject({ cause: "system_changed", byte: Buffer.byteLength("é😀 ") });
  });

  it.each([
    ["at 2026-11-29T10:00:01Z, go", "at 2026-11-29T10:00:02Z, go", "time_stamp", 3],
    ["since 1764410000 s", "since 1764410321 s", "time_stamp", 6],
    ["id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "id 01BX5ZZKBKACTAV9WEVGEMMVRZ", "random_id", 3],
    ["hash deadbeefdeadbeef", "hash deadbeefdeadbee0", "random_id", 5],
  ])("%s: %s is new each time", (before, after, cause, at) => {
    expect(volatileAt(before, after)).toEqual({ cause, at });
  });

  it.each([
    ["take 3 pills", "take 4 pills"],
    ["the cat", "the dog"],
    ["internationalization-of-things", "internationalisation-of-things"],
  ])("%s: %s is not", (before, after) => {
    expect(volatileAt(before, after)).toBeNull();
  });
});

describe("the memory of prompts", () => {
  it("holds no more conversations and characters than it may, and forgets what was not used for longest", () => {
    const memory = new LayoutMemory({ conversationsMax: 3, charsEach: 100, charsMax: 250 });
    const prompt = (system: string) => layoutOf({ system, messages: [] });
    for (const name of ["a", "b", "a", "c", "d"]) memory.follow(name, prompt(name.repeat(90)));
    // Three would have 270 characters.
    expect([memory.conversations, memory.chars]).toEqual([2, 180]);
    expect(memory.follow("a", prompt("a")).cacheableTokens).toBeNull();
    expect(memory.follow("d", prompt("d".repeat(90))).cacheableTokens).toBe(23);
  });

  it("tells the part, though not the byte, of a text that it did not keep", () => {
    const memory = new LayoutMemory({ charsEach: 10 });
    const prompt = (end: string) => layoutOf({ system: "x".repeat(50) + end, messages: [] });
    memory.follow("a", prompt("1"));
    const { divergence } = memory.follow("a", prompt("2"));
    expect(divergence).toMatchObject({ cause: "system_changed", path: "system", byte: null });
  });
});
