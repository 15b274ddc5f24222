import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { promptShape } from "./prompt-shape.ts";

const long = (seed: string): string => seed.repeat(200);
const turn = (role: string, seed: string) => ({ role, content: long(seed) });

describe("promptShape", () => {
  it("gives a conversation that has grown the names that it had", () => {
    const messages = [
      turn("system", "You are"),
      turn("user", "what is"),
      turn("assistant", "it is"),
    ];
    const before = promptShape({ model: "m", messages });
    const after = promptShape({ messages: [...messages, turn("user", "and now")], model: "m" });
    expect(before.prefixIds.length).toBeGreaterThan(5);
    expect(after.prefixIds.slice(0, before.prefixIds.length)).toEqual(before.prefixIds);
    expect(after.prefixIds.length).toBeGreaterThan(before.prefixIds.length);
    expect(after.tokens).toBeGreaterThan(before.tokens);
  });

  it("does not mind where the body keeps its parts, nor moved cache marks", () => {
    const system = long("Be brief");
    const plain = [{ role: "user", content: [{ type: "text", text: long("hello") }] }];
    const marked = [
      {
        role: "user",
        content: [{ type: "text", text: long("hello"), cache_control: { type: "ephemeral" } }],
      },
    ];
    const one = promptShape({ system, messages: plain });
    expect(promptShape({ messages: marked, system })).toEqual(one);
    expect(promptShape({ system: long("Be long"), messages: plain }).prefixIds[0]).not.toBe(
      one.prefixIds[0],
    );
  });

  it("tells tools apart, which come before all messages", () => {
    const messages = [turn("user", "hello")];
    const tool = (name: string) => ({
      type: "function",
      function: { name, description: long("d") },
    });
    const [a, b] = ["search", "fetch"].map((name) =>
      promptShape({ messages, tools: [tool(name)] }),
    );
    expect(a!.prefixIds[0]).not.toBe(b!.prefixIds[0]);
  });

  it("counts a picture as a picture", () => {
    const picture = (end: string) => `data:image/png;base64,${"A".repeat(2_000_000)}${end}`;
    const body = (end: string) => ({
      messages: [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: picture(end) } }, long("what")],
        },
      ],
    });
    expect(promptShape(body("x")).tokens).toBeLessThan(1_300);
    expect(promptShape(body("x")).prefixIds.at(-1)).not.toBe(
      promptShape(body("y")).prefixIds.at(-1),
    );
  });

  it("bears any body, within its bound", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: false }), (value) => {
        for (const body of [value, { messages: value }, { prompt: value }]) {
          const { prefixIds, tokens } = promptShape(body, 4);
          expect(prefixIds.length).toBeLessThanOrEqual(4);
          expect(Number.isInteger(tokens) && tokens >= 0).toBe(true);
        }
      }),
    );
    let deep: unknown = "x";
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    expect(promptShape({ messages: deep }).tokens).toBe(0);
  });
});
