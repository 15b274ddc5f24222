import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TextCell, textTable, wrapText } from "./text-table.ts";

/** Columns on a screen, counted in another way than the table does: by the letters that the tests use. */
function widthOf(line: string): number {
  return [...line].reduce((sum, letter) => sum + (letter >= "一" ? 2 : 1), 0);
}

const word = fc.stringMatching(/^[a-z+~]{1,9}$/);
const wide = fc.stringMatching(/^[中文字]{1,4}$/);
const label = fc
  .array(fc.oneof(word, wide), { minLength: 1, maxLength: 6 })
  .map((words) => words.join(" "));
const figure = fc.oneof(fc.constantFrom("", "next", "–", "~1.2 s"), word, wide);

/** Rows of one length, as the report draws them. */
const table = fc
  .integer({ min: 1, max: 9 })
  .chain((count) =>
    fc.array(fc.tuple(label, fc.array(figure, { minLength: count, maxLength: count })), {
      minLength: 1,
      maxLength: 6,
    }),
  )
  .map((rows) => rows.map(([head, rest]) => [head, ...rest].map((text): TextCell => ({ text }))));

describe("a text table", () => {
  it("has no line wider than asked for, whatever is in it", () => {
    fc.assert(
      fc.property(table, fc.integer({ min: 30, max: 120 }), (rows, columns) => {
        for (const line of textTable(rows, columns)) {
          expect(widthOf(line), line).toBeLessThanOrEqual(columns);
        }
      }),
    );
  });

  it("keeps every text, in order, where it is wide enough", () => {
    fc.assert(
      fc.property(table, (rows) => {
        const drawn = textTable(rows, 1_000).join(" ").split(/\s+/);
        const given = rows.flatMap((row) => row.flatMap(({ text }) => text.split(/\s+/)));
        expect(drawn.filter(Boolean)).toEqual(given.filter(Boolean));
      }),
    );
  });

  it("loses no figure where it is split", () => {
    fc.assert(
      fc.property(table, fc.integer({ min: 30, max: 60 }), (rows, columns) => {
        const drawn = textTable(rows, columns).join(" ").split(/\s+/);
        for (const { text } of rows.flatMap((row) => row.slice(1))) {
          for (const one of text.split(" ").filter(Boolean)) expect(drawn).toContain(one);
        }
      }),
    );
  });

  it("lets figures end under each other", () => {
    const rows = [
      ["", "p50", "p99"],
      ["TTFT", "180 ms", "~2.31 s"],
      ["漢字 label", "9 ms", "1 s"],
    ].map((row) => row.map((text) => ({ text })));
    expect(textTable(rows, 40)).toEqual([
      "                 p50      p99",
      "TTFT          180 ms  ~2.31 s",
      "漢字 label      9 ms      1 s",
    ]);
  });

  it("wraps the first column before it splits, figures on its last line", () => {
    const rows = [[{ text: "KV memory used by live tokens" }, { text: "98.9 %" }, { text: "n 9" }]];
    expect(textTable(rows, 32)).toEqual(["KV memory used by", "live tokens          98.9 %  n 9"]);
  });

  it("is drawn below itself where the columns do not fit side by side", () => {
    const rows = [["", "aaaaaaaaaa", "bbbbbbbbbb"].map((text) => ({ text }))];
    rows.push(["row", "1", "2"].map((text) => ({ text })));
    expect(textTable(rows, 30)).toEqual([
      "              aaaaaaaaaa",
      "row                    1",
      "              bbbbbbbbbb",
      "row                    2",
    ]);
  });

  it("bears a word that is longer than the whole table", () => {
    const long = "x".repeat(90);
    const rows = [
      [{ text: long }, { text: "1" }],
      [{ text: "b" }, { text: "2" }],
    ];
    const lines = textTable(rows, 40);
    expect(lines).toEqual([`${long}  1`, `b${" ".repeat(91)}2`]);
  });

  it("paints after the width is known, so that marks take no room", () => {
    const paint = (text: string): string => `\x1b[2m${text}\x1b[0m`;
    const plain = textTable([[{ text: "a" }, { text: "1" }]], 40);
    const painted = textTable([[{ text: "a" }, { text: "1", paint }]], 40);
    expect(painted).toEqual([plain[0]!.replace("1", paint("1"))]);
  });

  it("of no rows is no lines", () => {
    expect(textTable([], 80)).toEqual([]);
  });
});

describe("wrapText", () => {
  it("keeps each word, and each line within the width or one word long", () => {
    fc.assert(
      fc.property(label, fc.integer({ min: 4, max: 40 }), (text, width) => {
        const lines = wrapText(text, width);
        expect(lines.join(" ")).toBe(text);
        for (const line of lines) {
          if (line.includes(" ")) expect(widthOf(line)).toBeLessThanOrEqual(width);
        }
      }),
    );
  });

  it("counts an accent of its own as no column and an emoji as two", () => {
    expect(wrapText("e\u0301e\u0301e\u0301 x", 5)).toEqual(["e\u0301e\u0301e\u0301 x"]);
    expect(wrapText("🐈🐈 x", 5)).toEqual(["🐈🐈", "x"]);
  });

  it("lets no text move the cursor or begin a line of its own", () => {
    expect(wrapText("a\x1b[2Jb\nc\rd", 40)).toEqual(["a\ufffd[2Jb c d"]);
  });
});
