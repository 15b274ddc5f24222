/** Another gateway's configuration as a file of ours, with a comment for each thing that it could not take along. */
import { type ErrorParts, ManxError, nearestName } from "../../core/index.ts";
import { fromLitellm } from "./from-litellm.ts";
import { fromPortkey } from "./from-portkey.ts";
import type { Imported, ImportNote } from "./imported.ts";
import { ReadMarks } from "./read-marks.ts";

export interface ImportedConfig {
  /** A whole manx.config.jsonc. */
  readonly text: string;
  readonly notes: readonly ImportNote[];
}

const IMPORTERS: Readonly<Record<string, (marks: ReadMarks) => Imported>> = {
  litellm: fromLitellm,
  portkey: fromPortkey,
};

export const IMPORT_SOURCES = Object.keys(IMPORTERS);

const UNREAD_MAX = 200;

/**
 * @param from one of `IMPORT_SOURCES`.
 * @param text YAML or JSON, which is YAML too.
 * @param where its name, for errors.
 * @throws MANX_NAME_UNKNOWN, MANX_CONFIG_SYNTAX, MANX_CONFIG_VALUE
 */
export async function importConfig(
  from: string,
  text: string,
  where: string,
): Promise<ImportedConfig> {
  const importer = Object.hasOwn(IMPORTERS, from) ? IMPORTERS[from] : undefined;
  if (importer === undefined) throw unknownSource(from);
  const marks = new ReadMarks(await parse(text, where));
  const imported = importer(marks);
  for (const path of marks.unread(UNREAD_MAX)) imported.note(path, "has no equal; left out");
  if (imported.models.size === 0) {
    const hint = imported.notes.map((note) => `${note.where}: ${note.what}`)[0];
    throw new ManxError("MANX_CONFIG_VALUE", {
      what: `there is no model in it that Manx can serve`,
      where,
      expected: `a ${from} configuration`,
      ...(hint !== undefined && { hint }),
    });
  }
  return { text: render(imported, from), notes: imported.notes };
}

function unknownSource(from: string): ManxError {
  const near = nearestName(from, IMPORT_SOURCES);
  return new ManxError("MANX_NAME_UNKNOWN", {
    what: "no such source of configurations",
    where: "--from",
    expected: `one of ${IMPORT_SOURCES.join(", ")}`,
    got: JSON.stringify(from),
    ...(near !== undefined && { hint: `did you mean "${near}"?` }),
  });
}

async function parse(text: string, where: string): Promise<unknown> {
  const { parseDocument } = await import("yaml");
  const refuse = (parts: ErrorParts): ManxError => new ManxError("MANX_CONFIG_SYNTAX", parts);
  const document = parseDocument(text, { prettyErrors: false, logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) {
    const before = text.slice(0, error.pos[0]).split("\n");
    const at = `${where}:${before.length}:${(before.at(-1) ?? "").length + 1}`;
    throw refuse({ what: "this is no YAML", where: at, hint: error.message.split("\n")[0]! });
  }
  try {
    // Aliases that name each other grow without bound; a hundred is more than any configuration has.
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    throw refuse({ where, what: "its aliases cannot be resolved", cause });
  }
  throw refuse({ where, expected: "an object" });
}

function render(imported: Imported, from: string): string {
  const notes = imported.notes.map(({ where, what }) => `//   ${oneLine(where)}: ${oneLine(what)}`);
  const head = [
    `// Imported from ${from}. Check it with: manx config check`,
    ...(notes.length === 0 ? [] : ["//", "// To look at:", ...notes]),
  ];
  const body = JSON.stringify({ gateway: imported.section() }, null, 2);
  return `${head.join("\n")}\n${body}\n`;
}

/** A name in the other's file may hold a line end, and would end the comment. */
function oneLine(text: string): string {
  return text.replace(/[\s\u2028\u2029]+/g, " ").slice(0, 200);
}
