/** What the READMEs show is what the demo prints, and both say the same. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { blockOf, demoBlock } from "../scripts/demo-block.ts";

const english = readFileSync("README.md", "utf8");
const chinese = readFileSync("README.zh-CN.md", "utf8");

describe("the READMEs", () => {
  it("show the demo's real output; otherwise run npm run docs", async () => {
    const block = await demoBlock();
    expect(blockOf(english)).toBe(block);
    expect(blockOf(chinese)).toBe(block);
  }, 120_000);

  it("name the same commands in both languages", () => {
    const commands = (text: string): string[] =>
      [...text.matchAll(/`(np[mx] [^`]+)`/g)].map(([, command]) => command!);
    expect(commands(chinese)).toEqual(commands(english));
    expect(commands(english).length).toBeGreaterThan(5);
  });

  it("name test and demo commands that package.json has", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["demo", "test", "docs"]));
  });
});
