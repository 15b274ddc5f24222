/** `manx precompile`: validators of tools' JSON Schemas as a module that imports nothing, for a start without compiling. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import { ManxError } from "../core/index.ts";
import type { NamedSchema, PrecompiledModule } from "../runtime/precompile/index.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";

interface PrecompileFlags {
  readonly out: string;
  readonly check?: true;
  readonly strict?: true;
  readonly json?: true;
}

const BYTES_MAX = 64 * 1024 * 1024;
const FILES_MAX = 10_000;
const CODE = /\.[cm]?[jt]s$/;

export function addPrecompileCommand(program: Command, io: Io): void {
  program
    .command("precompile")
    .description("Compile tools' JSON Schemas into a module of validators, ahead of the start.")
    .argument(
      "<source>",
      "a module that exports tools, a JSON file of declarations or schemas by name, a folder of schemas; - is stdin",
    )
    .requiredOption("--out <file>", "the module to write, such as tools.validators.js; - is stdout")
    .option("--check", "write nothing; exit 3 if the module is not what would be written")
    .option(
      "--strict",
      "refuse schemas with patterns that may hang or formats that are not checked",
    )
    .option("--json", "what was compiled and what is to be known of it, as JSON on stdout")
    .addHelpText(
      "after",
      "\nExamples:\n  manx precompile tools.json --out tools.validators.js\n" +
        "  manx precompile dist/tools.js --out dist/tools.validators.js --strict\n" +
        "  manx precompile schemas/ --out tools.validators.ts --check\n",
    )
    .action((source: string, flags: PrecompileFlags) => precompile(source, flags, io));
}

async function precompile(source: string, flags: PrecompileFlags, io: Io): Promise<void> {
  if (flags.out === "-" && (flags.json === true || flags.check === true)) {
    throw new ManxError("MANX_FLAG_VALUE", {
      what: "stdout is neither for a module and JSON at once nor a module to check",
      where: "manx precompile --out",
      got: `"-" with ${flags.json === true ? "--json" : "--check"}`,
    });
  }
  const { validatorModule } = await import("../runtime/precompile/index.ts");
  const made = validatorModule(await schemasOf(source));
  for (const { tool, note } of made.notes) io.stderr.write(`note: tool "${tool}": ${note}\n`);
  if (flags.strict === true && made.notes.length > 0) throw strictError(source, made);
  const isStale = flags.check === true && textOf(flags.out) !== made.text;
  if (flags.json === true) {
    const { tools, notes } = made;
    io.stdout.write(`${JSON.stringify({ out: flags.out, tools, notes, stale: isStale })}\n`);
  }
  if (isStale) {
    throw new ManxError("MANX_VALIDATORS_STALE", {
      where: flags.out,
      hint: `run manx precompile ${source} --out ${flags.out}`,
    });
  }
  if (flags.check !== true) write(flags.out, made.text, io);
  const count = `${made.tools.length} ${made.tools.length === 1 ? "schema" : "schemas"}`;
  const did = flags.check === true ? `as compiled in ${flags.out}` : `compiled to ${flags.out}`;
  io.stderr.write(`${count} ${did}\n`);
}

function write(out: string, text: string, io: Io): void {
  const file = openOutput(out, io);
  try {
    file.write(text);
  } finally {
    file.close();
  }
}

function strictError(source: string, { notes }: PrecompiledModule): ManxError {
  return new ManxError("MANX_SCHEMA_INVALID", {
    what: `${notes.length} ${notes.length === 1 ? "note" : "notes"} on the schemas`,
    where: source,
    hint: "mend what is noted above, or leave out --strict",
  });
}

/** @returns undefined if there is no such file: then it is not up to date either. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

async function schemasOf(source: string): Promise<readonly NamedSchema[]> {
  const { namedSchemas } = await import("../runtime/precompile/index.ts");
  if (source === "-") return namedSchemas(parse(await readInput("-", BYTES_MAX), "-"), "stdin");
  if (isFolder(source)) return folderSchemas(source);
  if (CODE.test(source)) return moduleSchemas(source);
  return namedSchemas(parse(await readInput(source, BYTES_MAX), source), source);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Each `NAME.json` or `NAME.schema.json` is the schema of the tool NAME. */
async function folderSchemas(folder: string): Promise<readonly NamedSchema[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  if (names.length === 0 || names.length > FILES_MAX) {
    throw new ManxError("MANX_SCHEMA_INVALID", {
      what: "no folder of schemas",
      where: folder,
      expected: `1 to ${FILES_MAX} files NAME.json`,
      got: String(names.length),
    });
  }
  const schemas: NamedSchema[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const schema = parse(await readInput(path, BYTES_MAX), path);
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      const got = Array.isArray(schema) ? "a list" : String(schema);
      throw new ManxError("MANX_SCHEMA_INVALID", { where: path, expected: "a schema", got });
    }
    const tool = basename(name, ".json").replace(/\.schema$/, "");
    schemas.push({ name: tool, schema: schema as NamedSchema["schema"] });
  }
  return schemas;
}

/** All exports that are tools, lists of tools, or tool boxes. */
async function moduleSchemas(source: string): Promise<readonly NamedSchema[]> {
  const { namedSchemas } = await import("../runtime/precompile/index.ts");
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(pathToFileURL(resolve(source)).href)) as Record<string, unknown>;
  } catch (cause) {
    throw unreadable(source, cause);
  }
  const found = new Map<string, NamedSchema>();
  for (const [key, value] of Object.entries(exported)) {
    const list = toolsIn(value);
    if (list.length === 0) continue;
    // A tool may be exported by itself and in a list; two schemas of one name are refused further on.
    for (const one of namedSchemas(list, `${source} ${key}`)) found.set(JSON.stringify(one), one);
  }
  if (found.size > 0) return [...found.values()];
  throw new ManxError("MANX_SCHEMA_INVALID", {
    what: "a module that exports no tool with a JSON Schema",
    where: source,
    expected: "tools, a list of tools or a ToolBox among its exports",
    got: Object.keys(exported).join(", ") || "no exports",
    hint: "schemas of zod need no compiling ahead; a module in TypeScript has to be built first",
  });
}

function toolsIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.filter(isTool);
  if (isTool(value)) return [value];
  const box = value as { names?: unknown; get?: unknown } | null | undefined;
  if (!Array.isArray(box?.names) || typeof box?.get !== "function") return [];
  return box.names.map((name: string) => (box as { get(name: string): unknown }).get(name));
}

function isTool(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const one = value as { name?: unknown; function?: { name?: unknown } };
  return typeof one.name === "string" || typeof one.function?.name === "string";
}

function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ManxError("MANX_SCHEMA_INVALID", {
      what: "a file that is no JSON",
      where,
      got: (cause as Error).message,
      hint: "mend the line named above",
      cause,
    });
  }
}

function unreadable(where: string, cause: unknown): ManxError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new ManxError("MANX_FILE_UNREADABLE", {
    where,
    got: code ?? message,
    // Of Node before 22.18: the file is there, and no permission helps.
    ...(code === "ERR_UNKNOWN_FILE_EXTENSION" && {
      hint: `build it first, or run npx tsx node_modules/manx/dist/cli/main.js precompile ${where}`,
    }),
    cause,
  });
}
