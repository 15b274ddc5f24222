/** The code of docs/how-to/adapters.md fits what it imports, the SDKs included, and its loop runs as it stands there. */
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPackage } from "./support/package-json.ts";
import { ROOT, readText } from "./support/source-tree.ts";

const run = promisify(execFile);
const page = readText("docs/how-to/adapters.md");
const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!);
const folder = join(ROOT, ".manx", `adapters-docs-${process.pid}`);

const CALLS_THE_LOOP = `
import { loop } from "./block-0.ts";
import { ToolBox, tool } from "manx/runtime";
const search = tool({ name: "search", effect: "pure", input: { type: "object" }, run: () => "found" });
const said = [
  { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "c", function: { name: "search", arguments: "{}" } }] }, finish_reason: "tool_calls" }] },
  { choices: [{ index: 0, delta: { content: "done" }, finish_reason: "stop" }] },
];
async function* one() { yield said.shift()!; }
console.log(JSON.stringify(await loop(new ToolBox([search]), async () => one(), "go")));
`;

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  for (const [i, code] of blocks.entries()) writeFileSync(join(folder, `block-${i}.ts`), code);
  const files = blocks.map((_, i) => `block-${i}.ts`);
  const config = { extends: relative(folder, join(ROOT, "tsconfig.json")), files, include: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "calls-the-loop.ts"), CALLS_THE_LOOP);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("docs/how-to/adapters.md", () => {
  it("has code that fits", async () => {
    expect(blocks.length).toBeGreaterThan(4);
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const checking = run(process.execPath, [tsc, "-p", folder, "--noEmit"], { cwd: ROOT });
    const printed = await checking.then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(printed).toBe("");
  });

  it("has a loop that runs tools and ends", async () => {
    const script = join(folder, "calls-the-loop.ts");
    const { stdout } = await run(process.execPath, ["--import", "tsx", script], { cwd: ROOT });
    expect(JSON.parse(stdout)).toEqual([
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "search", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "found" },
      { role: "assistant", content: "done" },
    ]);
  });

  it("names subpaths that the package has", () => {
    const named = new Set([...page.matchAll(/`manx\/([a-z]+)`/g)].map(([, name]) => `./${name}`));
    expect(named.size).toBeGreaterThan(5);
    const exported = Object.keys(readPackage().exports);
    expect([...named].filter((name) => !exported.includes(name))).toEqual([]);
  });
});
