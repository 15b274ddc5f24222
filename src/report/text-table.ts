/** Columns of text in a terminal: the first to the left, figures to the right, no line wider than asked for. */

export interface TextCell {
  readonly text: string;
  /** Applied after the width is known, since its marks have none. */
  readonly paint?: (text: string) => string;
}

const GAP = 2;
const FIRST_MIN = 12;

/** @returns lines without trailing blanks. The first column gives way, wrapped, if the table would be too wide. */
export function textTable(rows: readonly (readonly TextCell[])[], columns: number): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => displayWidth(row[column]?.text ?? ""))),
  );
  const figures = widths.slice(1).reduce((sum, width) => sum + width + GAP, 0);
  const first = Math.max(FIRST_MIN, Math.min(widths[0] ?? 0, columns - figures));
  return rows.flatMap((row) => tableRow(row, [first, ...widths.slice(1)]));
}

function tableRow(row: readonly TextCell[], widths: readonly number[]): string[] {
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

/** Words into lines of at most `width`; a longer word keeps a line for itself. Never empty. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && displayWidth(line) + 1 + displayWidth(word) > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

/** Columns that a terminal gives to a text: two for each wide East Asian character. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/.test(
        character,
      )
        ? 2
        : 1;
  }
  return width;
}

function same(text: string): string {
  return text;
}
