/** docs/errors.md as text, made from the error table alone, so that the page cannot say what the code does not. */
import { ERROR_TABLE, type ErrorCode, ManxError, renderError } from "../src/core/index.ts";
import { ERROR_EXAMPLES } from "./error-examples.ts";

const EXITS: Readonly<Record<number, string>> = {
  0: "ok",
  1: "internal error, or one of another system",
  2: "usage or configuration error",
  3: "a check has failed: a budget is breached, or what is checked is out of date",
  4: "the measurement is not trustworthy",
  130: "interrupted; the partial result is saved and marked",
};

const HEAD = `# Errors

<!-- Made by \`npm run docs\` from src/core/error-table.ts. Change the table, not this page. -->

Each error has a code that does not change once released. In a terminal it has up to four lines: what is wrong, where,
what was expected and got, and what to try. With \`--json\` and in HTTP bodies the same parts are fields; scripts should
match on \`code\`. The exit code of a command, or the HTTP status of a server's answer, follows from the code.
There and in code \`message\` of a mistake in usage (exit code 2) has the first three of these parts, and \`what\` the first alone.
`;

export function errorsPage(): string {
  const codes = Object.keys(ERROR_TABLE) as ErrorCode[];
  const exits = Object.entries(EXITS).map(([exit, meaning]) => `| ${exit} | ${meaning} |`);
  const index = codes.map((code) => {
    const { summary, exit, status } = new ManxError(code).kind;
    return `| [${code}](#${code.toLowerCase()}) | ${summary} | ${exit} | ${status ?? ""} |`;
  });
  return [
    HEAD,
    "## Exit codes\n",
    `| exit | meaning |\n| --- | --- |\n${exits.join("\n")}\n`,
    "## All codes\n",
    `| code | what is wrong | exit | HTTP |\n| --- | --- | --- | --- |\n${index.join("\n")}\n`,
    ...codes.map(section),
  ].join("\n");
}

function section(code: ErrorCode): string {
  const { summary, exit, status, hint } = new ManxError(code).kind;
  const meaning = EXITS[exit];
  const served = status === undefined ? "" : ` A server answers with HTTP ${status}.`;
  const example = new ManxError(code, ERROR_EXAMPLES[code] ?? {});
  return [
    `## ${code}\n`,
    `${capital(summary)}. Exit code ${exit}: ${meaning}.${served}\n`,
    `\`\`\`text\n${renderError(example)}\n\`\`\`\n`,
    // The example shows the hint already unless it has a better one of its own.
    ...(example.hint === hint ? [] : [`What helps: ${hint}.\n`]),
  ].join("\n");
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
