/**
 * Reads a table of measurements (CSV with a header) into rows of names and numbers. Such a table is the ground under a
 * price, so nothing in it is set aside: a missing column or one bad cell refuses the whole of it, with the line.
 */
import { ManxError } from "../core/index.ts";

export interface TableText {
  /** Where it came from, for messages: a path or a title. */
  readonly name: string;
  readonly text: string;
}

export interface MeasuredRow {
  /** Cells of the name columns, in the order asked for. */
  readonly names: readonly string[];
  /** Cells of the number columns, in the order asked for; finite, and from 0 unless the column is signed. */
  readonly numbers: readonly number[];
}

export interface TableColumns {
  readonly names?: readonly string[];
  readonly numbers: readonly string[];
  /** Those of the number columns that may hold less than 0. */
  readonly signed?: readonly string[];
}

/** Columns beside those asked for are ignored. @throws MANX_TABLE_FORMAT */
export function readTable({ name, text }: TableText, columns: TableColumns): MeasuredRow[] {
  const lines = text.split(/\r?\n/);
  const header = (lines[0] ?? "").split(",").map((cell) => cell.trim());
  const places = (wanted: readonly string[]): number[] =>
    wanted.map((column) => {
      const place = header.indexOf(column);
      if (place >= 0) return place;
      throw new ManxError("MANX_TABLE_FORMAT", {
        what: `the table has no column "${column}"`,
        where: `${name}:1`,
        expected: [...(columns.names ?? []), ...columns.numbers].join(","),
        got: header.join(","),
      });
    });
  const namePlaces = places(columns.names ?? []);
  const numberPlaces = places(columns.numbers);
  const rows: MeasuredRow[] = [];
  for (let i = 1; i < lines.length; i += 1) {
    if (lines[i] === "") continue;
    const cells = lines[i]!.split(",");
    rows.push({
      names: namePlaces.map((place) => cells[place]?.trim() ?? ""),
      numbers: numberPlaces.map((place) =>
        toNumber(cells[place], `${name}:${i + 1}`, header[place]!, columns.signed),
      ),
    });
  }
  if (rows.length > 0) return rows;
  throw new ManxError("MANX_TABLE_FORMAT", {
    what: "the table has no rows",
    where: name,
    expected: "at least one measurement under the header",
    got: "none",
  });
}

function toNumber(
  cell: string | undefined,
  where: string,
  column: string,
  signed: readonly string[] = [],
): number {
  const value = cell === undefined || cell.trim() === "" ? Number.NaN : Number(cell);
  const least = signed.includes(column) ? Number.NEGATIVE_INFINITY : 0;
  if (Number.isFinite(value) && value >= least) return value;
  throw new ManxError("MANX_TABLE_FORMAT", {
    what: "the table has a cell that is no measurement",
    where,
    expected: least === 0 ? `${column}: a number from 0` : `${column}: a number`,
    got: cell ?? "nothing",
  });
}
