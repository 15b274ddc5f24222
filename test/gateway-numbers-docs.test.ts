/** What docs/how-to/gateway-numbers.md points to is there: each command, each test. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/gateway-numbers.md");
const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };

describe("docs/how-to/gateway-numbers.md", () => {
  it("names commands that there are", () => {
    const named = [...page.matchAll(/`npm run ([\w:-]+)/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it("names tests that there are", () => {
    const named = [...page.matchAll(/`((?:src|test)\/[\w./-]+\.test\.ts)`/g)].map(([, at]) => at!);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((at) => !existsSync(new URL(`../${at}`, import.meta.url)))).toEqual([]);
  });
});
