/** `manx report`: a saved result document in another form. */
import type { Command } from "commander";
import { lookUp } from "../core/index.ts";
import type { ResultDocument } from "../load/index.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";
import { terminalOptions } from "./terminal-options.ts";

interface ReportFlags {
  readonly format: string;
  readonly output?: string;
}

type Report = typeof import("../report/index.ts");
type Render = (report: Report, document: ResultDocument, io: Io, isFile: boolean) => string;

const FORMATS: Readonly<Record<string, Render>> = {
  // A file has no colours and no width of its own.
  terminal: (report, document, io, isFile) =>
    report.renderTerminal(document, isFile ? {} : terminalOptions(io)),
  json: (report, document) => report.renderJson(document),
  csv: (report, document) => report.renderCsv(document),
  markdown: (report, document) => report.renderMarkdown(document),
  html: (report, document) => report.renderHtml(document),
  junit: (report, document) => report.renderJunit(document),
};

export function addReportCommand(program: Command, io: Io): void {
  program
    .command("report")
    .description("Draw a saved result document: table, HTML page, CSV, Markdown, JUnit or JSON.")
    .argument("<file>", "result.json of a run; - is stdin")
    .option("--format <name>", Object.keys(FORMATS).join(", "), "terminal")
    .option("--output <file>", "write there; - is stdout", "-")
    .addHelpText(
      "after",
      "\nExamples:\n  manx report result.json\n" +
        "  manx report result.json --format html --output report.html\n" +
        "  manx demo --json | manx report - --format markdown\n",
    )
    .action((file: string, flags: ReportFlags) => runReport(file, flags, io));
}

async function runReport(file: string, flags: ReportFlags, io: Io): Promise<void> {
  const render = lookUp(FORMATS, flags.format, "format", "--format");
  const report = await import("../report/index.ts");
  const text = await readInput(file, report.RESULT_CHARS_MAX);
  const document = report.parseResult(text, file === "-" ? "standard input" : file);
  // Opened only now: a document that cannot be read leaves no empty file behind.
  const output = openOutput(flags.output ?? "-", io);
  try {
    output.write(render(report, document, io, (flags.output ?? "-") !== "-"));
  } finally {
    output.close();
  }
}
