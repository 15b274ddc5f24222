import { expect, it } from "vitest";
import { emptyDocument, ladderDocument, loadDocument } from "../../test/support/sample-result.ts";
import { renderJson } from "./json.ts";

it("reads back to the same document", () => {
  for (const document of [loadDocument(), ladderDocument(), emptyDocument()]) {
    expect(JSON.parse(renderJson(document))).toEqual(document);
  }
});

it("is the same text whatever order the fields came in", () => {
  const document = loadDocument();
  const turned = Object.fromEntries(Object.entries(document).reverse()) as typeof document;
  expect(Object.keys(turned)[0]).not.toBe(Object.keys(document)[0]);
  expect(renderJson(turned)).toBe(renderJson(document));
});

it("gives a histogram one line, and every other field its own", () => {
  const lines = renderJson(loadDocument()).split("\n");
  expect(lines.filter((line) => line.includes('"buckets": ['))).toHaveLength(4);
  expect(
    lines.filter((line) => line.includes('"buckets": [')).every((line) => line.endsWith("]")),
  ).toBe(true);
  expect(lines).toContain('      "name": "load",');
  expect(lines).toContain('  "comparisons": [],');
});
