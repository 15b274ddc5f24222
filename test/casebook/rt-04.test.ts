/** RT-04 — Cut inside `\uXXXX` or between surrogates. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonSealer } from "../../src/stream/index.ts";
import { chatWire, decode, delta, everyByte } from "../support/wire-text.ts";

/** The value after each prefix, as JSON, since the object is filled on. */
function views(text: string): unknown[] {
  const sealer = new JsonSealer();
  return [...text].map((character) => {
    sealer.push(character);
    return structuredClone(sealer.value);
  });
}

const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\ufffd/;

describe("RT-04: arguments that are cut", () => {
  it("inside an escape grow from nothing to the whole character, at all 21 prefixes", () => {
    const text = '{"a":"\\ud83d\\ude00"}';
    expect(text).toHaveLength(20);
    expect(new JsonSealer().value).toBeUndefined();
    const shown = views(text).map((view) => (view as { a?: string }).a ?? "");
    for (const [i, a] of shown.entries()) {
      expect(a).not.toMatch(LONE);
      expect(["", "😀"].slice(i < 17 ? 0 : 1, i < 17 ? 1 : 2)).toContain(a);
    }
    expect(views(text).at(-1)).toEqual(JSON.parse(text));
  });

  it.each(['{"a":"x\\\\"}', '{"a":"\\n\\t\\/"}'])("in %s lose no escape", (text) => {
    const last = JSON.parse(text).a as string;
    for (const view of views(text)) {
      expect(last.startsWith((view as { a?: string }).a ?? "")).toBe(true);
    }
    expect(views(text).at(-1)).toEqual(JSON.parse(text));
  });

  it.each([
    ['{"a":[1,{"b":tru', { a: [1, {}] }],
    ['{"a":-1.5e', {}],
    ['{"a":12', {}],
  ])("in a number or literal, as %s, show nothing that is not certain", (text, value) => {
    const sealer = new JsonSealer();
    sealer.push(text);
    expect(sealer).toMatchObject({ value, isClosed: false, problem: null });
  });

  it("inside the bytes of a character come out whole", () => {
    const call = (args: string) =>
      delta({ tool_calls: [{ id: "A", function: { name: "w", arguments: args } }] });
    const wire = new TextEncoder().encode(
      chatWire(
        call('{"a":"é 😀'),
        delta({ tool_calls: [{ function: { arguments: '"}' } }] }, "tool_calls"),
        "[DONE]",
      ),
    );
    const { events } = decode("openai-chat", wire, everyByte(wire));
    const sealer = new JsonSealer();
    for (const event of events) if (event.type === "tool-delta") sealer.push(event.json);
    expect(sealer).toMatchObject({ isClosed: true, value: { a: "é 😀" } });
  });

  it("anywhere, with any JSON, never take anything back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (a) => {
        const text = JSON.stringify({ a });
        let before = "";
        for (const view of views(text)) {
          const now = (view as { a?: string }).a ?? "";
          expect(now.startsWith(before)).toBe(true);
          before = now;
        }
        expect(before).toBe(a);
      }),
    );
  });

  it("into a million characters in pieces of four are looked at once each", () => {
    const text = JSON.stringify({ file: "line of code\n".repeat(80_000) });
    expect(text.length).toBeGreaterThan(1_000_000);
    const sealer = new JsonSealer();
    for (let i = 0; i < text.length; i += 4) sealer.push(text.slice(i, i + 4));
    expect(sealer.isClosed).toBe(true);
    expect(sealer.value).toEqual(JSON.parse(text));
  });
});
