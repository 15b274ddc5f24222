/** `manx config`: checks a configuration file, shows what is in effect and why, and prints the schema. */
import type { Command } from "commander";
import type { SectionName, Setting } from "../config/index.ts";
import { lookUp, ManxError, renderError } from "../core/index.ts";
import {
  type CheckedSection,
  checkSectionOf,
  fileJsonSchema,
  SECTION_NAMES,
} from "./config-sections.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";

const FILE = "manx.config.jsonc";

interface CheckFlags {
  readonly secrets?: true;
  readonly observed?: string;
  readonly json?: true;
}

interface PrintFlags {
  readonly section?: string;
  readonly defaults?: true;
  readonly json?: true;
}

interface ImportFlags {
  readonly from: string;
  readonly output: string;
}

const IMPORT_BYTES_MAX = 2 ** 20;
const OBSERVED_BYTES_MAX = 2 ** 28;

export function addConfigCommand(program: Command, io: Io): void {
  const config = program
    .command("config")
    .description(`Check ${FILE}, show what is in effect and where it is from, print its schema.`)
    .addHelpText("after", "\nExamples:\n  manx config check\n  manx config print\n");
  config
    .command("check")
    .description("Tell everything that is wrong or doubtful, with line and column.")
    .argument("[file]", "configuration file", FILE)
    .option("--secrets", "also read each secret that the file names; none is shown")
    .option("--observed <log>", "an access log of the gateway: hold its policies against it")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nVariables count as they would for the command: MANX_GATEWAY_LISTEN__PORT=4001 is\n" +
        "gateway.listen.port.\n\nExamples:\n  manx config check\n" +
        "  manx config check prod.jsonc --secrets --json\n" +
        "  manx config check prod.jsonc --observed access.jsonl\n",
    )
    .action((file: string, flags: CheckFlags) => runCheck(file, flags, io));
  config
    .command("print")
    .description("Print each value in effect with its source; secrets as ***.")
    .argument("[file]", "configuration file", FILE)
    .option("--section <name>", SECTION_NAMES.join(" or "))
    .option("--defaults", "without a file: what variables and defaults alone give")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  manx config print\n  manx config print --section engine\n",
    )
    .action((file: string, flags: PrintFlags) => runPrint(file, flags, io));
  config
    .command("import")
    .description(
      "Read another gateway's configuration into one for Manx, with notes on what differs.",
    )
    .argument("<file>", "its configuration, YAML or JSON; - is stdin")
    .requiredOption("--from <name>", "litellm or portkey")
    .option("--output <file>", "write there; - is stdout", "-")
    .addHelpText(
      "after",
      "\nExamples:\n  manx config import --from litellm config.yaml --output manx.config.jsonc\n" +
        "  manx config import --from portkey config.json\n",
    )
    .action((file: string, flags: ImportFlags) => runImport(file, flags, io));
  config
    .command("schema")
    .description("Print the file's JSON Schema, with every key, its meaning and its default.")
    .addHelpText("after", "\nExample:\n  manx config schema > manx.schema.json\n")
    .action(async () => {
      io.stdout.write(`${JSON.stringify(await fileJsonSchema(), null, 2)}\n`);
    });
}

async function runCheck(file: string, flags: CheckFlags, io: Io): Promise<void> {
  const sections = await sectionsOf(file);
  const secrets = flags.secrets === true;
  const log = flags.observed;
  const observed =
    log === undefined ? undefined : { path: log, text: await readInput(log, OBSERVED_BYTES_MAX) };
  const checked: [SectionName, CheckedSection][] = [];
  for (const name of sections) {
    checked.push([
      name,
      await checkSectionOf(name, { path: file, env: io.env, secrets, observed }),
    ]);
  }
  if (flags.json === true) {
    const entries = checked.map(([name, { settings: _, ...told }]) => [name, told]);
    io.stdout.write(`${JSON.stringify({ file, sections: Object.fromEntries(entries) })}\n`);
  } else {
    for (const [name, one] of checked) io.stdout.write(checkText(name, one));
  }
  const errors = checked.flatMap(([, one]) => one.errors);
  if (errors.length === 0) return;
  throw new ManxError(errors[0]!.code, {
    what: errors.length === 1 ? "there is an error" : `there are ${errors.length} errors`,
    where: file,
    hint: "mend what is shown above",
  });
}

function checkText(name: SectionName, { errors, notices, observed }: CheckedSection): string {
  const shown = [
    ...errors.map(renderError),
    ...notices.map(({ level, error }) => renderError(error).replace(/^error/, level)),
  ];
  if (errors.length === 0) {
    const rest = notices.length === 0 ? "" : `, with ${notices.length} to look at`;
    shown.push(`${name}: ok${rest}${observed === undefined ? "" : heldAgainst(observed)}`);
  }
  return `${shown.join("\n")}\n`;
}

/** A verdict without its n would say as much of a log that has nothing to do with the file. */
function heldAgainst({ calls, models }: { calls: number; models: number }): string {
  if (calls === 0) return "; the log has no stream of its models";
  const few = calls < 20 * models ? ": few to judge by" : "";
  return `; held against ${calls} streams of ${models} ${models === 1 ? "model" : "models"}${few}`;
}

/** Those that the file has. One that holds none, or something else, is told of by the check of any. */
async function sectionsOf(file: string): Promise<readonly SectionName[]> {
  const { readConfigFile } = await import("../config/index.ts");
  const { value } = await readConfigFile(file);
  const present = SECTION_NAMES.filter((name) => Object.hasOwn(value, name));
  return present.length > 0 ? present : ["gateway"];
}

async function runPrint(file: string, flags: PrintFlags, io: Io): Promise<void> {
  const path = flags.defaults === true ? undefined : file;
  const named = flags.section;
  const names = Object.fromEntries(SECTION_NAMES.map((name) => [name, name]));
  const sections =
    named !== undefined
      ? [lookUp(names, named, "section")]
      : path === undefined
        ? SECTION_NAMES
        : await sectionsOf(path);
  const all: Setting[] = [];
  for (const name of sections) {
    const { errors, settings } = await checkSectionOf(name, { path, env: io.env, secrets: false });
    if (errors.length > 0) {
      const { firstOf } = await import("../config/index.ts");
      throw firstOf(errors);
    }
    all.push(...settings);
  }
  if (flags.json === true) io.stdout.write(`${JSON.stringify({ settings: all })}\n`);
  else io.stdout.write(settingsText(all));
}

async function runImport(file: string, flags: ImportFlags, io: Io): Promise<void> {
  const { importConfig } = await import("../gateway/import/index.ts");
  const name = file === "-" ? "standard input" : file;
  const imported = await importConfig(flags.from, await readInput(file, IMPORT_BYTES_MAX), name);
  const output = openOutput(flags.output, io);
  try {
    output.write(imported.text);
  } finally {
    output.close();
  }
  const count = imported.notes.length;
  const notes = count === 0 ? "" : `; ${count} notes at its top`;
  io.stderr.write(`config: imported from ${name}${notes}; check it with manx config check\n`);
}

/** Widest column of values that is filled up with blanks. */
const COLUMN_MAX = 72;

function settingsText(settings: readonly Setting[]): string {
  const lines = settings.map(({ path, shown, source }) => ({
    left: `${path} = ${shown}`,
    right: source.name === "" ? source.kind : source.name,
  }));
  const width = Math.min(COLUMN_MAX, Math.max(0, ...lines.map(({ left }) => left.length)));
  return lines.map(({ left, right }) => `${left.padEnd(width)}  # ${right}\n`).join("");
}
