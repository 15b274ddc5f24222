import { describe, expect, it } from "vitest";
import {
  emptyDocument,
  ladderDocument,
  loadDocument,
  withEveryText,
} from "../../test/support/sample-result.ts";
import { renderMarkdown } from "./markdown.ts";

/** The cells of a line of a table: parted by bars that no backslash escapes. */
function cells(line: string): string[] {
  return line.split(/(?<!\\)\|/).slice(1, -1);
}

function tables(text: string): string[][] {
  return text
    .split("\n\n")
    .map((block) => block.split("\n").filter((line) => line.startsWith("|")))
    .filter((lines) => lines.length > 0);
}

it("draws a comparison with n in each cell, grey ones marked, next ones named", () => {
  const [head, , ttft, , kv] = tables(renderMarkdown(ladderDocument()))[0]!;
  expect(cells(head!).map((cell) => cell.trim())).toEqual([
    "",
    "static + contiguous",
    "continuous",
    "\\+ paged",
    "\\+ chunked prefill",
    "\\+ prefix cache",
    "published",
  ]);
  const [, , , , grey, next, published] = cells(ttft!).map((cell) => cell.trim());
  expect(grey).toMatch(/^\\~\d+ ms \(n 40\)$/);
  expect([next, published]).toEqual(["next", "2.85 s → 380 ms"]);
  expect(cells(kv!)[3]!.trim()).toBe("98.9 % (n 5,000)");
});

it("says conditions, counts, stalls and verdicts of a run, how to repeat it and what to try", () => {
  const text = renderMarkdown(loadDocument());
  expect(text).toContain("588 of 600 completed, 11 failed");
  expect(text).toContain("Stalls: 4 of 588 streams (0.68 %), worst gap 2.40 s.");
  expect(text).toContain("- ✗ goodput fail:");
  expect(text).toContain(`Repeat: \`${loadDocument().command}\``);
  expect(text.trimEnd().endsWith(`Next: \`${loadDocument().next}\``)).toBe(true);
});

it("has nothing that is no figure where nothing was measured", () => {
  const text = renderMarkdown(emptyDocument());
  expect(text).not.toMatch(/NaN|undefined|null|Infinity/);
  expect(text).toContain("**Partial: the run was interrupted.**");
});

it("fences a command with more backticks than it has", () => {
  const document = loadDocument();
  document.command = "a `b` ``c``";
  document.next = "plain";
  const text = renderMarkdown(document);
  expect(text).toContain("Repeat: ``` a `b` ``c`` ```  \nNext: `plain`\n");
});

describe("a hostile document", () => {
  it.each([
    "\n\n# heading",
    "](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "<img src=x onerror=y>",
    "| more | cells |",
    "`code` ``more``",
    "@somebody #1",
    "</details>",
    "\u001b[31m\u202e",
  ])("with %j in every text draws the same tables and no markup", (mark) => {
    const text = renderMarkdown(withEveryText(ladderDocument(), mark));
    const plain = renderMarkdown(withEveryText(ladderDocument(), "x"));
    const shape = (drawn: string): number[][] =>
      tables(drawn).map((lines) => lines.map((line) => cells(line).length));
    expect(shape(text)).toEqual(shape(plain));
    expect(text.split("\n").length).toBe(plain.split("\n").length);
    // Commands stand in spans of code, which show everything as it is.
    const outside = text.split("\n").filter((line) => !/^(Repeat|Next): `/.test(line));
    expect(outside.length).toBe(text.trimEnd().split("\n").length - 1);
    expect(outside.filter((line) => line.includes("</details>"))).toHaveLength(4);
    expect(outside.join("\n")).not.toMatch(/https?:\/\/|<img|@somebody/);
    // A summary is HTML, where a bracket means nothing.
    const own = outside.filter((line) => !line.startsWith("<details><summary>"));
    expect(own.join("\n")).not.toMatch(/(?<!\\)\[/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });
});
