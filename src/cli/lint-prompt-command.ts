/** `manx lint-prompt`: what in recorded requests breaks the prefix that a provider's cache could serve. */
import type { Command } from "commander";
import { ManxError } from "../core/index.ts";
import type { LintOptions, LintSummary, PromptLinter } from "../runtime/index.ts";
import { breath } from "./breath.ts";
import { parseCount } from "./flag-values.ts";
import type { Io } from "./io.ts";
import { ProgressLine } from "./progress-line.ts";
import { terminalOptions } from "./terminal-options.ts";

interface LintFlags {
  readonly failOn: string;
  readonly prefillRate?: string;
  readonly price?: string;
  readonly top: string;
  readonly each?: true;
  readonly showText?: true;
  readonly json?: true;
}

/** Bytes of records between two turns of the event loop. */
const BREATH_CHARS = 4 * 1024 * 1024;
const RATE_MAX = 100_000_000;

export function addLintPromptCommand(program: Command, io: Io): void {
  program
    .command("lint-prompt")
    .description("Find what breaks prompt caches in recorded requests: byte, field, cause, cost.")
    .argument(
      "<file...>",
      "bodies for OpenAI or Anthropic: JSON Lines, a JSON list, or HAR; plain or gzipped; - is stdin",
    )
    .option("--fail-on <share>", "fail if more of the tokens are lost: any, never, or 5%", "any")
    .option("--prefill-rate <tokens>", "prompt tokens computed in a second, for the TTFT lost")
    .option("--price <input,cached>", "US dollars for a million prompt tokens, such as 3,0.3")
    .option("--top <count>", "causes to show in full", "5")
    .option("--each", "one line for each break, as it is found")
    .option("--show-text", "show what differs; by default only its shape, and secrets never")
    .option("--json", "the summary as JSON; with --each one JSON object for each break before it")
    .addHelpText(
      "after",
      "\nExamples:\n  manx lint-prompt requests.jsonl\n" +
        "  manx lint-prompt session.har --show-text\n" +
        "  zcat log.jsonl.gz | manx lint-prompt - --json --fail-on 5%\n",
    )
    .action((files: string[], flags: LintFlags) => lintPrompts(files, flags, io));
}

async function lintPrompts(files: readonly string[], flags: LintFlags, io: Io): Promise<void> {
  const limit = parseLimit(flags.failOn);
  const top = parseCount(flags.top, "--top", 0, 1_000);
  const options: LintOptions = {
    ...(flags.prefillRate !== undefined && {
      prefillTokensPerS: parseCount(flags.prefillRate, "--prefill-rate", 1, RATE_MAX),
    }),
    ...(flags.price !== undefined && { price: parsePrice(flags.price) }),
    showText: flags.showText === true,
  };
  const { PromptLinter } = await import("../runtime/index.ts");
  const linter = new PromptLinter(options);
  for (const file of files) await readFile(file, linter, flags, io);
  const summary = linter.summary();
  if (summary.requests === 0) throw noRequest(files, summary);
  if (flags.json === true) io.stdout.write(`${JSON.stringify({ version: 1, ...summary })}\n`);
  else {
    const { drawLint } = await import("./lint-prompt-view.ts");
    io.stdout.write(drawLint(summary, { ...terminalOptions(io), top }));
  }
  judge(summary, limit, flags.failOn);
}

async function readFile(
  file: string,
  linter: PromptLinter,
  flags: LintFlags,
  io: Io,
): Promise<void> {
  const { promptRecords } = await import("./prompt-records.ts");
  const { recordedRequests } = await import("../runtime/index.ts");
  const { breakLine } = await import("./lint-prompt-view.ts");
  const progress = new ProgressLine(io);
  const name = file === "-" ? "standard input" : file;
  let charsLeft = BREATH_CHARS;
  try {
    for await (const record of promptRecords(file)) {
      if ("reason" in record) {
        linter.setAside(name, record.line, record.reason);
        continue;
      }
      const { source, value, share } = record;
      const requests = recordedRequests(value);
      if (requests.length === 0) linter.setAside(name, source.line, "no request that is known");
      for (const request of requests) {
        const found = linter.add(request, source)?.found ?? null;
        if (found === null || flags.each !== true) continue;
        progress.clear();
        io.stdout.write(`${flags.json === true ? JSON.stringify(found) : breakLine(found)}\n`);
      }
      if (!Number.isNaN(share)) progress.show(name, share);
      charsLeft -= source.json.length;
      if (charsLeft > 0) continue;
      charsLeft = BREATH_CHARS;
      await breath(io.interrupt);
    }
  } finally {
    progress.clear();
  }
}

/** @returns share of tokens that may be lost. */
function parseLimit(text: string): number {
  if (text === "any") return 0;
  if (text === "never") return Number.POSITIVE_INFINITY;
  const value = /^(\d+(?:\.\d+)?)\s?%$/.exec(text)?.[1];
  if (value !== undefined && Number(value) <= 100) return Number(value) / 100;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--fail-on",
    expected: 'any, never, or a share such as "5%"',
    got: JSON.stringify(text),
  });
}

function parsePrice(text: string): { inputUsd: number; cachedUsd: number } {
  const parts = text
    .split(",")
    .map((part) => (/^\d*\.?\d+$/.test(part) ? Number(part) : Number.NaN));
  const [inputUsd = Number.NaN, cachedUsd = Number.NaN] = parts;
  if (parts.length === 2 && cachedUsd <= inputUsd) return { inputUsd, cachedUsd };
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--price",
    expected: 'two prices, the cached one no higher, such as "3,0.3"',
    got: JSON.stringify(text),
  });
}

function noRequest(files: readonly string[], { setAside }: LintSummary): ManxError {
  const [first = "no record"] = setAside.first;
  return new ManxError("MANX_TRACE_FORMAT", {
    what: "no request that could be read",
    where: files.map((file) => (file === "-" ? "standard input" : file)).join(", "),
    expected: "bodies with messages or input, under body, request or params, or in a HAR file",
    got: setAside.records === 0 ? "nothing" : `${setAside.records} records set aside; ${first}`,
    hint: "record the bodies as they are sent, one JSON object a line",
  });
}

/** @throws MANX_BUDGET_BREACHED */
function judge(summary: LintSummary, limit: number, asGiven: string): void {
  const { breaks, lostTokens, tokens } = summary;
  const lost = tokens === 0 ? 0 : lostTokens / tokens;
  if (breaks === 0 || lost < limit || (limit > 0 && lost === limit)) return;
  if (limit === Number.POSITIVE_INFINITY) return;
  throw new ManxError("MANX_BUDGET_BREACHED", {
    what: "prompts break their own cache",
    where: "manx lint-prompt --fail-on",
    expected: asGiven === "any" ? "no break" : `at most ${asGiven} of the tokens lost`,
    got: `${breaks} breaks, ${(lost * 100).toFixed(1)} % of the tokens lost`,
    hint: "mend the first cause above, or allow a share with --fail-on",
  });
}
