import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PromptBlocks } from "./prompt-blocks.ts";

const text = fc.string({ maxLength: 1_500 });

describe("PromptBlocks", () => {
  it("names whole blocks, and nothing that is shorter", () => {
    expect(new PromptBlocks().add("x".repeat(511)).names).toEqual([]);
    expect(new PromptBlocks().add("x".repeat(512)).names).toHaveLength(1);
    expect(new PromptBlocks().add("x".repeat(300)).add("y".repeat(300)).names).toHaveLength(1);
    expect(new PromptBlocks().add("x".repeat(5_119)).names).toHaveLength(9);
  });

  it("gives prompts that begin alike the same names as far as they do, and others from there on", () => {
    fc.assert(
      fc.property(text, text, text, (start, left, right) => {
        const names = (end: string): number[] =>
          new PromptBlocks().add(`${"s".repeat(600)}${start}${end}`).names;
        const common = Math.floor((600 + start.length) / 512);
        const [a, b] = [names(`l${left}`), names(`r${right}`)];
        expect(a.slice(0, common)).toEqual(b.slice(0, common));
        for (const [i, name] of a.entries()) if (i >= common) expect(b[i]).not.toBe(name);
        expect(new Set(a).size).toBe(a.length);
        for (const name of a) expect(Number.isSafeInteger(name) && name >= 0).toBe(true);
      }),
    );
  });

  it("tells where a part ends", () => {
    const pad = "p".repeat(600);
    const one = new PromptBlocks().add("ab").add("c").add(pad);
    const two = new PromptBlocks().add("a").add("bc").add(pad);
    expect(one.names[0]).not.toBe(two.names[0]);
    expect(one.chars).toBe(603);
  });

  it("stops naming at its bound and goes on counting", () => {
    const blocks = new PromptBlocks(3).add("z".repeat(1_000_000)).add("y");
    expect(blocks.names).toHaveLength(3);
    expect(blocks.chars).toBe(1_000_001);
  });
});
