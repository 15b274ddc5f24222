/** The code of docs/how-to/testing.md runs as it stands there. */
import { describe, expect, it } from "vitest";
import * as testing from "../src/testing/index.ts";
import { budgetMatchers } from "../src/testing/vitest.ts";
import * as trace from "../src/trace/index.ts";
import { runCode, tsBlocks } from "./support/doc-code.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/testing.md");

describe("docs/how-to/testing.md", () => {
  it("runs a thousand turns and keeps the budget that it shows", async () => {
    const [code] = tsBlocks(page);
    const names = { ...testing, ...trace, budgetMatchers, expect };
    const untyped = code!.replace(": TurnRecord[]", "");
    const turns = (await runCode(untyped, "turns", names)) as trace.TurnRecord[];
    expect(turns).toHaveLength(1_000);
    expect(turns.every(({ flags }) => !flags.notInstrumented)).toBe(true);
  });

  it("names every field of a reply", () => {
    const source = readText("src/testing/scripted-reply.ts");
    const [, fields] = /interface ScriptedReply \{([\s\S]*?)\n\}/.exec(source)!;
    for (const [, name] of fields!.matchAll(/^ {2}readonly (\w+)\?/gm)) {
      expect(page).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``));
    }
  });
});
