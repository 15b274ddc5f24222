/** Columns of text in a terminal: the first to the left, figures to the right, no line wider than asked for. */
import { oneLine } from "./printable.ts";

export interface TextCell {
  readonly text: string;
  /** Applied after the width is known, since its marks have none. */
  readonly paint?: (text: string) => string;
}

type TextRow = readonly TextCell[];

const GAP = 2;
const FIRST_MIN = 12;

/**
 * @returns lines without trailing blanks. Where the table would be too wide the first column is wrapped; what is still too
 * wide is drawn as several tables below each other, each with the first column.
 */
export function textTable(rows: readonly TextRow[], columns: number): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => displayWidth(row[column]?.text ?? ""))),
  );
  const words = rows.flatMap((row) => oneLine(row[0]?.text ?? "").split(" "));
  const firstMin = Math.max(FIRST_MIN, ...words.map(displayWidth));
  return columnGroups(widths, columns - firstMin).flatMap((group) => {
    const figures = group.reduce((sum, column) => sum + widths[column]! + GAP, 0);
    const first = Math.max(firstMin, Math.min(widths[0] ?? 0, columns - figures));
    const shown = [first, ...group.map((column) => widths[column]!)];
    return rows.flatMap((row) =>
      tableRow([row[0] ?? BLANK, ...group.map((column) => row[column] ?? BLANK)], shown),
    );
  });
}

const BLANK: TextCell = { text: "" };

/** Columns after the first, in as few groups as `room` lets in; none is empty but the only one. */
function columnGroups(widths: readonly number[], room: number): number[][] {
  const groups: number[][] = [[]];
  let left = room;
  for (let column = 1; column < widths.length; column += 1) {
    const needed = widths[column]! + GAP;
    if (needed > left && groups.at(-1)!.length > 0) {
      groups.push([]);
      left = room;
    }
    groups.at(-1)!.push(column);
    left -= needed;
  }
  return groups;
}

function tableRow(row: TextRow, widths: readonly number[]): string[] {
  const [head, ...figures] = row;
  const lines = wrapText(head?.text ?? "", widths[0]!);
  return lines.map((line, index) => {
    const isLast = index === lines.length - 1;
    const label = (head?.paint ?? same)(line) + " ".repeat(widths[0]! - displayWidth(line));
    const rest = isLast
      ? figures.map((cell, i) => {
          const pad = " ".repeat(widths[i + 1]! + GAP - displayWidth(cell.text));
          return pad + (cell.paint ?? same)(cell.text);
        })
      : [];
    return (label + rest.join("")).trimEnd();
  });
}

/** Words into lines of at most `width`; a longer word keeps a line for itself. Never empty, no control character left. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of oneLine(text).split(" ")) {
    if (line !== "" && displayWidth(line) + 1 + displayWidth(word) > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;
const NARROW = /\p{Mn}|\p{Me}|\p{Cf}/u;

/** Columns that a terminal gives to a text: two for a wide East Asian character, none for an accent of its own. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    width += NARROW.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  }
  return width;
}

function same(text: string): string {
  return text;
}
