import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  emptyDocument,
  ladderDocument,
  loadDocument,
  withEveryText,
} from "../../test/support/sample-result.ts";
import { renderCsv } from "./csv.ts";

/** RFC 4180, read the long way: one character after the other. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[""]];
  let isQuoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const row = rows.at(-1)!;
    const character = text[i]!;
    if (isQuoted) {
      if (character !== '"') row[row.length - 1] += character;
      else if (text[i + 1] === '"') {
        row[row.length - 1] += '"';
        i += 1;
      } else isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === ",") row.push("");
    else if (character === "\n") rows.push([""]);
    else row[row.length - 1] += character;
  }
  expect(rows.pop()).toEqual([""]);
  return rows;
}

function records(text: string): Record<string, string>[] {
  const [heads, ...rows] = readCsv(text);
  for (const row of rows) expect(row).toHaveLength(heads!.length);
  return rows.map((row) => Object.fromEntries(heads!.map((head, i) => [head, row[i]!])));
}

it("has each figure once, with its unit, interval and n, and grey where ten samples do not carry it", () => {
  const document = loadDocument();
  const rows = records(renderCsv(document));
  const { quantiles } = document.runs[0]!.metrics.ttftUs!;
  const p99 = quantiles.find(({ q }) => q === 0.99)!;
  const found = rows.filter(
    ({ measure, statistic }) => measure === "ttftUs" && statistic === "p99",
  );
  expect(found).toEqual([
    {
      section: "metric",
      run: "load",
      measure: "ttftUs",
      statistic: "p99",
      unit: "us",
      value: String(p99.value),
      low: String(p99.low),
      high: p99.high === null ? "" : String(p99.high),
      n: "588",
      grey: "true",
    },
  ]);
  expect(rows.find(({ measure }) => measure === "failed: http-429")?.value).toBe("8");
  expect(rows.filter(({ section }) => section === "verdict").map(({ value }) => value)).toEqual([
    "fail",
    "unknown",
    "pass",
  ]);
});

it("has the cells of a comparison, and none for a column that is still to come", () => {
  const rows = records(renderCsv(ladderDocument())).filter(({ section }) =>
    section!.startsWith("comparison: "),
  );
  expect(rows).toHaveLength(12);
  const grey = rows.filter((row) => row.grey === "true");
  expect(grey.map(({ run, measure }) => [run, measure])).toEqual([
    ["chunked", "TTFT p99"],
    ["chunked", "decode (ITL) p99"],
  ]);
});

it("leaves a cell empty where nothing is known", () => {
  const text = renderCsv(emptyDocument());
  expect(text).not.toMatch(/NaN|null|undefined|Infinity/);
  const p50 = records(text).find(
    ({ measure, statistic }) => measure === "ttftUs" && statistic === "p50",
  );
  expect([p50?.value, p50?.n]).toEqual(["", "0"]);
});

describe("texts", () => {
  it("come back whole, whatever they hold", () => {
    const text = fc.string({
      unit: fc.constantFrom('"', ",", "\n", "\r", "a", " ", ";"),
      minLength: 1,
    });
    fc.assert(
      fc.property(text, (mark) => {
        const named = records(renderCsv(withEveryText(loadDocument(), mark)));
        expect(named[0]?.run).toBe(`load${mark}`);
      }),
      { numRuns: 40 },
    );
  });

  it.each(["=1+1", "+cmd", "-1", "@x", "\tx", "\rx"])(
    "%j is no formula to a spreadsheet",
    (name) => {
      const document = loadDocument();
      document.runs[0]!.name = name;
      expect(records(renderCsv(document))[0]?.run).toBe(`'${name}`);
    },
  );
});
