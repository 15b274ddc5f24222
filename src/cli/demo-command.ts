/** `manx demo`: shows the tail, cuts it, and proves it, on data that comes with the package. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { ManxError } from "../core/index.ts";
import type { ResultDocument } from "../load/index.ts";
import { parseSeed } from "./flag-values.ts";
import type { Io } from "./io.ts";
import { openOutput } from "./output-file.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

interface DemoFlags {
  readonly seed: string;
  readonly output?: string;
  readonly live: boolean;
  readonly json?: true;
}

/** Seconds of real traffic: with the virtual parts well within the 90 s that the README promises. */
const LIVE_S = 20;

export function addDemoCommand(program: Command, io: Io): void {
  program
    .command("demo")
    .description("Replay an hour of real traffic before and after, then send real traffic.")
    .option("--seed <number>", "of the live part's arrivals and lengths", "42")
    .option("--output <folder>", "where result.json and report.html go (default .manx/runs/<id>)")
    .option("--no-live", "leave the live part out")
    .option("--json", "print the result document instead of the table")
    .addHelpText("after", "\nExamples:\n  manx demo\n  manx demo --json > result.json\n")
    .action((flags: DemoFlags) => runDemoCommand(flags, io));
}

async function runDemoCommand(flags: DemoFlags, io: Io): Promise<void> {
  const seed = parseSeed(flags.seed);
  const progress = new ProgressLine(io);
  const startedUs = io.clock.nowUs();
  // The folder is made before the work, so that a minute of it does not end in "permission denied".
  const folder = flags.output ?? join(".manx", "runs", `demo-${io.clock.wallMs().toString(36)}`);
  const files = openFolder(folder, io);
  const [{ runDemo }, { readTrace }, report] = await Promise.all([
    import("../scenario/index.ts"),
    import("../load/index.ts"),
    import("../report/index.ts"),
  ]);
  const document = await runDemo({
    clock: io.clock,
    seed,
    hour: await readTrace(dataFile("azure-llm-2023/conversation.csv.gz")),
    shared: await readTrace(dataFile("mooncake-fast25/conversation-1000.jsonl.gz")),
    liveS: flags.live ? LIVE_S : 0,
    command: ["manx demo", `--seed ${seed}`, ...(flags.live ? [] : ["--no-live"])].join(" "),
    interrupt: io.interrupt,
    onProgress: (text, share) => progress.show(text, share),
  });
  progress.clear();
  files.json.write(`${JSON.stringify(document)}\n`);
  files.html.write(report.renderHtml(document));
  files.json.close();
  files.html.close();
  print(document, flags, report, io);
  const seconds = ((io.clock.nowUs() - startedUs) / 1e6).toFixed(0);
  io.stderr.write(`${files.jsonPath}\n${files.htmlPath}\n${seconds} s\n`);
  if (document.status === "partial") throw new ManxError("MANX_INTERRUPTED");
}

function print(
  document: ResultDocument,
  flags: DemoFlags,
  report: typeof import("../report/index.ts"),
  io: Io,
): void {
  if (flags.json === true) {
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  io.stdout.write(report.renderTerminal(document, terminalOptions(io)));
}

function openFolder(folder: string, io: Io) {
  try {
    makeFolder(folder);
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    throw new ManxError("MANX_OUTPUT_UNWRITABLE", {
      where: folder,
      got: cause.code ?? cause.message,
      cause,
    });
  }
  const jsonPath = join(folder, "result.json");
  const htmlPath = join(folder, "report.html");
  return { jsonPath, htmlPath, json: openOutput(jsonPath, io), html: openOutput(htmlPath, io) };
}

/** Level by level: Node 20's own recursive form never returns where a file system such as /proc refuses. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  mkdirSync(folder);
}

/** A file of the package's own data folder, which lies two levels above this file both in src and in dist. */
function dataFile(name: string): string {
  return fileURLToPath(new URL(`../../data/${name}`, import.meta.url));
}
