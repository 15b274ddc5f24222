/** The house rules that a machine can check; CONTRIBUTING.md says why they are there. */
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { banProblems } from "./support/code-bans.ts";
import { deadExports, deadFiles, declaredExports } from "./support/dead-code.ts";
import {
  FILE_LINES_MAX,
  FUNCTION_LINES_MAX,
  fileLengths,
  functionLengths,
  INDEX_LINES_MAX,
  lengthProblems,
  type Ratchet,
} from "./support/lengths.ts";
import { linkProblems, readMarkdown } from "./support/markdown.ts";
import { packageEntries, readPackage } from "./support/package-json.ts";
import { isTest } from "./support/rank-rules.ts";
import { projectFiles, readText, readTrees } from "./support/source-tree.ts";
import { parse } from "./support/syntax.ts";
import { emptyTests, focusedTests } from "./support/test-rules.ts";
import { namedScripts, nameProblem, textProblems } from "./support/text-rules.ts";

const files = projectFiles();
/** Data and fixtures are as they came, but what is said about them is ours. */
const ownText = files.filter(
  (path) => path.endsWith(".md") || !/^(data|schema)\/|__fixtures__|package-lock/.test(path),
);
const texts = new Map(
  ownText.map((path) => [path, readText(path)] as const).filter(([, text]) => !text.includes("\0")),
);
const trees = readTrees(["src", "test", "bench", "scripts"]);
const sources = new Map([...trees].filter(([path]) => path.startsWith("src/")));
const tests = new Map([...trees].filter(([path]) => path.endsWith(".test.ts")));
const markdown = new Map([...texts].filter(([path]) => path.endsWith(".md")));

/** The banned words of a planted file of src. */
function banned(path: string, text: string): string[] {
  const tree = parse(new Map([[path, text]])).get(path)!;
  return banProblems(path, tree);
}

describe("code", () => {
  it("takes time, chance and the process only through their doors", () => {
    const problems = [...sources].flatMap(([path, tree]) => banProblems(path, tree));
    expect(problems).toEqual([]);
  });

  it.each([
    ["Date.now()", "clock.nowUs"],
    ["new Date()", "clock.wallMs"],
    ["const { now } = Date", "clock.nowUs"],
    ["f(Date)", "clock.nowUs"],
    ["performance.now()", "clock.nowUs"],
    ["globalThis.performance.now()", "clock.nowUs"],
    ["process.hrtime.bigint()", "clock.nowUs"],
    ["setTimeout(f, 1)", "clock.at"],
    ["globalThis.setInterval(f, 1)", "clock.at"],
    ["f(setImmediate)", "clock.at"],
    ["import { setTimeout as wait } from 'node:timers/promises'", "clock.at"],
    ["await import('node:timers')", "clock.at"],
    ["AbortSignal.timeout(1)", "clock.deadline"],
    ["Math.random()", "Random"],
    ["Math['random']()", "Random"],
    ["const { random } = Math", "Random"],
    ["import { randomUUID } from 'node:crypto'", "Random"],
    ["crypto.getRandomValues(x)", "Random"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the code under test
    ["`late ${Date.now()}`", "clock.nowUs"],
    ["queueMicrotask(f)", "commit()"],
    ["process.exit(1)", "ManxError"],
    ["import { exit } from 'node:process'", "Io"],
    ["console.log(1)", "only cli prints"],
    ["process.stdout.write('')", "only cli prints"],
    ["enum Colour { Red }", "union of string literals"],
    ["namespace N { export const a = 1 }", "a module"],
  ])("%s is banned", (text, instead) => {
    const problems = banned("src/engine/a.ts", text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("src/engine/a.ts:1 uses ");
    expect(problems[0]).toContain(instead);
  });

  it("may say what it likes in comments, strings and patterns, and use what reads no clock", () => {
    const text = `// Date.now() setTimeout
      /* Math.random() */ const a = "Date.now()" + 'new Date()' + \`performance.now()\`;
      const b = /setTimeout|Math.random\\(/; const c = new Date(5).toISOString(); let d: Date;
      Math.max(1, Date.UTC(2020)); socket.setTimeout(0); x instanceof Date; o.performance;
      declare module "x" { interface A { b: 1 } }
      const e = { setTimeout: 1, now: 2 }; interface F { performance: number; console(): void }`;
    expect(banned("src/engine/a.ts", text)).toEqual([]);
    expect(banned("src/engine/a.test.ts", "Date.now(); console.log(1)")).toEqual([]);
    expect(banned("src/clock/a.ts", "Date.now(); Math.random(); setTimeout(f)")).toEqual([]);
    expect(banned("src/clock/a.ts", "process.exit()")).toHaveLength(1);
    expect(banned("src/cli/a.ts", "console.log(process.stdout, process.exit())")).toEqual([]);
    expect(banned("src/gateway/a.ts", "queueMicrotask(f)")).toEqual([]);
  });

  it("has an index.ts per folder that only passes on names", () => {
    const logic = [...sources].filter(([path, tree]) => {
      const isIndex = posix.basename(path) === "index.ts";
      return isIndex && (declaredExports(tree).length > 0 || tree.statements.length === 0);
    });
    expect(logic.map(([path]) => path)).toEqual([]);
  });
});

describe("dead code", () => {
  const entries = packageEntries(readPackage()).filter((path) => trees.has(path));

  it("is not exported", () => expect(deadExports(trees, entries)).toEqual([]));

  it("is not kept in files", () => expect(deadFiles(trees, entries)).toEqual([]));

  it("is found", () => {
    const planted = parse(
      new Map([
        ["src/index.ts", 'export { a } from "./x/index.ts";'],
        [
          "src/x/index.ts",
          'export { a, b, c } from "./y.ts"; export * from "./z.ts"; export * from "./deep/index.ts";',
        ],
        [
          "src/x/y.ts",
          "export const a = 1, d = 2; export function b() {} export class c {} export type E = F; " +
            "export interface F {}",
        ],
        ["src/x/z.ts", "const q = 1; export { q }; export default q;"],
        ["src/x/deep/index.ts", 'export { deep, deeper } from "./d.ts";'],
        ["src/x/deep/d.ts", "export const deep = 1, deeper = 2;"],
        [
          "src/w/w.ts",
          'import type { b } from "../x/index.ts"; import { deep, q } from "../x/index.ts";',
        ],
        ["src/w/w.test.ts", 'import * as all from "./lost.ts";'],
        ["src/w/lost.ts", "export const found = 1;"],
      ]),
    );
    expect(deadExports(planted, ["src/index.ts"]).map((one) => one.split(", ")[0])).toEqual([
      "src/x/y.ts exports d",
      "src/x/y.ts exports c",
      "src/x/y.ts exports E",
      "src/x/z.ts exports default",
      "src/x/deep/d.ts exports deeper",
    ]);
    expect(deadFiles(planted, ["src/index.ts"]).map((one) => one.split(" is ")[0])).toEqual([
      "src/w/w.ts",
      "src/w/lost.ts",
    ]);
  });
});

describe("length", () => {
  const ratchet = JSON.parse(readText("test/tidy-ratchet.json")) as Ratchet;
  const code = new Map([...trees.keys()].map((path) => [path, readText(path)]));

  it("of a file stays within the ratchet", () => {
    expect(lengthProblems(fileLengths(code), ratchet.files, FILE_LINES_MAX)).toEqual([]);
    const indexes = new Map([...code].filter(([path]) => path.endsWith("/index.ts")));
    expect(lengthProblems(fileLengths(indexes), {}, INDEX_LINES_MAX)).toEqual([]);
  });

  it("of a function stays within the ratchet", () => {
    expect(lengthProblems(functionLengths(trees), ratchet.functions, FUNCTION_LINES_MAX)).toEqual(
      [],
    );
  });

  it("is measured per function, and an allowance can only shrink", () => {
    const text = "class A {\n  m() {\n    return () => {\n    };\n  }\n}\nconst f = () => 1;\n";
    const lengths = functionLengths(parse(new Map([["src/a.ts", text]])));
    expect([...lengths]).toEqual([
      ["src/a.ts#A.m", 4],
      ["src/a.ts#callback", 2],
      ["src/a.ts#f", 1],
    ]);
    expect(lengthProblems(lengths, {}, 3)).toEqual([
      "src/a.ts#A.m has 4 lines, at most 3 are allowed; split it",
    ]);
    expect(lengthProblems(lengths, { "src/a.ts#A.m": 4 }, 3)).toEqual([]);
    expect(lengthProblems(lengths, { "src/a.ts#A.m": 5 }, 3)).toEqual([
      "src/a.ts#A.m has shrunk; set it from 5 to 4 in tidy-ratchet.json",
    ]);
    expect(lengthProblems(lengths, { "src/a.ts#A.m": 9, gone: 8 }, 4)).toHaveLength(2);
  });
});

describe("tests", () => {
  it("all run and all expect something", () => {
    expect(tests.size).toBeGreaterThan(10);
    expect([...tests].flatMap(([path, tree]) => focusedTests(path, tree))).toEqual([]);
    expect([...tests].flatMap(([path, tree]) => emptyTests(path, tree))).toEqual([]);
  });

  it("that do not are found", () => {
    const path = "src/a.test.ts";
    const text = `it("good", () => { expect(1).toBe(1); }); it("by a helper", () => check());
      function check() { fc.assert(1); } it.only("x", () => expect(1)); describe.only("y", () => {});
      it.each([1])("empty %s", () => { const expected = 1; }); it("quiet", () => {});
      it.skipIf(true)("expects", async () => { await expect(1).resolves.toBe(1); });`;
    const tree = parse(new Map([[path, text]])).get(path)!;
    expect(focusedTests(path, tree)).toHaveLength(2);
    expect(emptyTests(path, tree).map((one) => /"(.*)"/.exec(one)?.[1])).toEqual([
      "empty %s",
      "quiet",
    ]);
    expect(isTest(path)).toBe(true);
  });
});

describe("text", () => {
  it("has no leftovers, no path of one machine and no trailing blanks", () => {
    expect([...texts].flatMap(([path, text]) => textProblems(path, text))).toEqual([]);
    expect(files.map(nameProblem).filter((one) => one !== undefined)).toEqual([]);
  });

  it("names only commands that package.json has", () => {
    const { scripts } = readPackage();
    const named = [...texts].flatMap(([path, text]) => namedScripts(path, text));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ name }) => !Object.hasOwn(scripts, name))).toEqual([]);
    const run = ["npm", "run"].join(" ");
    expect(namedScripts("a.md", `x\n\`${run} a:b\`, ${run} c. ${run}s`)).toEqual([
      { at: "a.md:2", name: "a:b" },
      { at: "a.md:2", name: "c" },
    ]);
  });

  it("comes from no host that the lockfile would pin", () => {
    expect(readText("package-lock.json")).not.toMatch(/"resolved": "(?!\.)/);
  });

  it("with any of these is found", () => {
    const left = ["TO", "DO"].join("");
    const home = ["", "home", "me", "x"].join("/");
    const beside = ["..", "shared", "x"].join("/");
    const text = `// ${left}: later\nconst a = "${home}";\nlet b; \n// see ${beside}\n`;
    expect(textProblems("a.ts", text).map((one) => one.split(" ")[0])).toEqual([
      "a.ts:1",
      "a.ts:2",
      "a.ts:3",
      "a.ts:4",
    ]);
    expect(textProblems("a.ts", "const mastodon = 1; // https://x.org/home/page")).toEqual([]);
    expect(nameProblem("src/core/utils.ts")).toMatch(/one noun/);
    expect(nameProblem("src/core/eventHeap.ts")).toMatch(/kebab-case/);
    expect(nameProblem("src/core/event-heap.test.ts")).toBeUndefined();
  });
});

describe("Markdown", () => {
  it("has one h1 a file and links that lead somewhere", () => {
    expect(markdown.size).toBeGreaterThan(0);
    const problems = [...markdown].flatMap(([path, text]) => {
      const facts = readMarkdown(text);
      const found = linkProblems(path, facts, markdown, new Set(files));
      if (facts.h1.length !== 1) found.push(`${path} has ${facts.h1.length} h1, expected 1`);
      return found;
    });
    expect(problems).toEqual([]);
  });

  it("in docs/decisions is dated and listed in the README there", () => {
    const listed = new Set(
      readMarkdown(readText("docs/decisions/README.md")).links.map((one) => one.target),
    );
    const records = projectFiles("docs/decisions").map((path) => posix.basename(path));
    expect(records.length).toBeGreaterThan(1);
    for (const record of records.filter((name) => name !== "README.md")) {
      expect(record).toMatch(/^\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md$/);
      expect(listed).toContain(record);
    }
  });

  it("with a broken link or anchor is found", () => {
    const text =
      "# A b, c!\n## 中文 标题\n## `X_Y` z\n[ok](#a-b-c) [ok](#中文-标题) [ok](#x_y-z) [ok](b.md#q)\n" +
      "[no](#gone) [no](c.md) [no](b.md#gone) `[code](d.md)` [web](https://x.org) [dir](sub)\n" +
      "```\n# no heading [no link](e.md)\n```\n[back](../out.md)\n";
    const all = new Map([
      ["d/a.md", text],
      ["d/b.md", "# b\n<a id='q'></a>\n<a id=\"q\"></a>"],
    ]);
    const facts = readMarkdown(text);
    expect(facts.h1).toEqual(["A b, c!"]);
    const known = new Set(["d/a.md", "d/b.md", "d/sub/x.ts"]);
    expect(linkProblems("d/a.md", facts, all, known)).toEqual([
      "d/a.md:5 links to #gone, which is no heading there",
      "d/a.md:5 links to c.md, which does not exist",
      "d/a.md:5 links to b.md#gone, which is no heading there",
      "d/a.md:9 links to ../out.md, which does not exist",
    ]);
  });
});
