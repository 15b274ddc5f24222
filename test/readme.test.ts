/** What the READMEs show is what the demo prints, and both say the same. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

  it("link the same pages, which exist, and every how-to", () => {
    const links = (text: string): string[] =>
      [...text.matchAll(/\]\(([^)#]+)/g)].map(([, path]) => path!).filter((one) => one !== "");
    const pages = (text: string): string[] =>
      links(text)
        .filter((path) => !/^README/.test(path))
        .sort();
    expect(pages(chinese)).toEqual(pages(english));
    expect(pages(english).filter((path) => !existsSync(path))).toEqual([]);
    const howTo = readdirSync("docs/how-to").map((name) => `docs/how-to/${name}`);
    expect(howTo.filter((path) => !pages(english).includes(path))).toEqual([]);
  });

  it("and all pages name only scripts and entries that package.json has", () => {
    const { scripts, exports } = JSON.parse(readFileSync("package.json", "utf8"));
    const folders = [".", "docs", "docs/how-to", "docs/decisions"];
    const pages = folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".md"))
        .map((name) => join(folder, name)),
    );
    const unknown = pages.flatMap((path) => {
      const text = readFileSync(path, "utf8");
      const run = [...text.matchAll(/npm run (?:--silent |-s )?([a-z][\w:-]*)/g)];
      const from = [...text.matchAll(/from "manx(\/[^"]+)?"/g)];
      return [
        ...run.filter(([, name]) => !(name! in scripts)),
        ...from.filter(([, entry = ""]) => !(`.${entry}` in exports)),
      ].map(([found]) => `${path}: ${found}`);
    });
    expect(pages.length).toBeGreaterThan(40);
    expect(unknown).toEqual([]);
  });

  it("name test and demo commands that package.json has", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["demo", "test", "docs"]));
  });
});
