/** Every import in src obeys the rank table of src/README.md. */
import { describe, expect, it } from "vitest";
import { importsOf } from "./support/module-links.ts";
import {
  folderGraph,
  folderOf,
  isTest,
  PACKAGES_ALLOWED,
  packageOf,
  parseRankTable,
  rankProblems,
} from "./support/rank-rules.ts";
import { readText, readTrees } from "./support/source-tree.ts";
import { parse } from "./support/syntax.ts";

const trees = readTrees(["src"]);
const table = parseRankTable(readText("src/README.md"));

describe("the source tree", () => {
  it("has no import that the rank table forbids, and a row for each folder", () => {
    expect(trees.size).toBeGreaterThan(30);
    expect(rankProblems(trees, table)).toEqual([]);
  });

  it("prints its graph", () => {
    const graph = folderGraph(trees);
    const rankOf = (folder: string): number => table.get(folder)?.rank ?? Number.NaN;
    const byRank = [...graph].sort(([a], [b]) => rankOf(a) - rankOf(b));
    const lines = byRank.map(
      ([folder, targets]) =>
        `${String(rankOf(folder)).padStart(4)}  ${folder.padEnd(14)} ${[...targets].sort().join(" ")}`,
    );
    console.log(`rank  folder         imports\n${lines.join("\n")}`);
    expect(graph.get("core")).toEqual(new Set());
  });

  it("allows no package that nobody imports", () => {
    const used = new Set<string>();
    for (const [path, tree] of trees) {
      if (isTest(path)) continue;
      for (const one of importsOf(tree)) used.add(`${folderOf(path)} ${packageOf(one.specifier)}`);
    }
    const allowed = Object.entries(PACKAGES_ALLOWED).flatMap(([folder, packages]) =>
      Object.keys(packages).map((name) => `${folder} ${name}`),
    );
    expect(allowed.filter((pair) => !used.has(pair))).toEqual([]);
  });
});

describe("the rules", () => {
  const planted = parseRankTable(
    [
      "| 0 | core | anywhere | a |",
      "| 1 | clock | anywhere | b |",
      "| 1 | stats | anywhere | c |",
      "| 2 | http | Node | d |",
      "| 3 | engine | anywhere | e |",
      "| 4 | gateway | Node | f |",
    ].join("\n"),
  );
  /** A small tree that keeps every rule, with one file replaced or added. */
  const problemsWith = (path: string, text: string): string[] => {
    const files = new Map(
      [...planted.keys()].map((folder) => [`src/${folder}/index.ts`, "export const a = 1;"]),
    );
    files.set("src/version.ts", "export const VERSION = '1';");
    files.set(path, text);
    return rankProblems(parse(files), planted);
  };

  it("let pass what is allowed", () => {
    const text = `import { a } from "../http/index.ts"; import { createServer } from "node:http";
      import { Client } from "undici"; export * from "./index.ts"; import { VERSION } from "../version.ts";
      const later = await import("../core/index.ts"); // import x from "../cli/y.ts"
      const word = 'import "../nowhere.ts"';`;
    expect(problemsWith("src/gateway/a.ts", text)).toEqual([]);
    const test = `import { it } from "vitest"; import { x } from "../../test/support/x.ts";
      import { readFileSync } from "node:fs"; import "../http/index.ts";`;
    expect(problemsWith("src/engine/a.test.ts", test)).toEqual([]);
    expect(problemsWith("src/stats/a.test.ts", 'import "../clock/index.ts";')).toEqual([]);
  });

  it.each([
    ["src/http/a.ts", 'import "../gateway/index.ts";', /rank 2 \(http\) may not import rank 4/],
    ["src/http/a.ts", 'export { a } from "../engine/index.ts";', /rank 2 .* rank 3/],
    ["src/http/a.ts", 'void import("../engine/index.ts");', /rank 2 .* rank 3/],
    ["src/http/a.ts", 'type A = import("../engine/index.ts").A;', /rank 2 .* rank 3/],
    ["src/http/a.test.ts", 'import type { A } from "../engine/index.ts";', /rank 2 .* rank 3/],
    ["src/clock/a.ts", 'import "../stats/index.ts";', /both of rank 1/],
    ["src/engine/a.ts", 'import "../http/index.ts";', /engine runs anywhere, http in Node only/],
    ["src/engine/a.ts", 'import { x } from "node:fs";', /engine runs anywhere, so it has no node/],
    ["src/engine/a.ts", 'import fs from "fs";', /engine may use these packages: none/],
    ["src/gateway/a.ts", 'import x from "@scope/name/deep";', /undici, prom-client/],
    ["src/gateway/a.ts", 'import "../core/index.js";', /no such file in src/],
    ["src/gateway/a.ts", 'import "../../bench/x.ts";', /no such file in src/],
    ["src/gateway/a.ts", 'import "../index.ts";', /no such file/],
    ["src/gateway/index.ts", 'import "../core/a.test.ts";', /no such file/],
    ["src/index.ts", 'export * from "./gateway/index.ts";', /must run anywhere, gateway does not/],
    ["src/index.ts", 'import "undici";', /src\/index.ts may use these packages: none/],
    ["src/version.ts", 'import "./core/index.ts";', /version.ts imports nothing/],
    ["src/loose.ts", "", /lies outside the folders/],
    ["src/extra/a.ts", "", /no row for src\/extra/],
  ])("%s with %s is reported", (path, text, message) => {
    const problems = problemsWith(path, text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
    if (!path.includes("extra")) expect(problems[0]).toContain(path);
  });

  it("report a row without a folder, and an unreadable table", () => {
    const trees = parse(new Map([["src/core/index.ts", ""]]));
    const rows = parseRankTable("| 0 | core | Node | x |\n| 9 | moon | Node | cheese |");
    expect(rankProblems(trees, rows)).toEqual([
      "src/README.md has a row for src/moon, which has no file",
    ]);
    expect(() => parseRankTable("| 1 | core | sometimes | x |")).toThrow(/"anywhere" or "Node"/);
    expect(() => parseRankTable("| 1x | core | Node | x |")).toThrow(/not a row/);
    expect(() => parseRankTable("| 1 | a | Node | x |\n| 2 | a | Node | y |")).toThrow(/two rows/);
  });
});
