/**
 * The first table of `manx demo` as both READMEs show it, made by running what the demo runs. `npm run docs` puts it in,
 * test/readme.test.ts holds it there: virtual figures repeat to the last digit, so a README that differs is out of date.
 */

import { SimClock } from "../src/clock/index.ts";
import { makeDocument, readTrace } from "../src/load/index.ts";
import { renderTerminal } from "../src/report/index.ts";
import { hourLadder } from "../src/scenario/index.ts";

const BEGIN = "<!-- demo output, made by npm run docs -->";
const END = "<!-- end of demo output -->";

/** Runs the first part of the demo; some ten seconds. */
export async function demoBlock(): Promise<string> {
  const hour = await readTrace("data/azure-llm-2023/conversation.csv.gz");
  const comparison = await hourLadder({ hour, seed: 42 });
  const document = makeDocument({
    kind: "demo",
    clock: new SimClock(),
    startedMs: 0,
    command: "",
    status: "complete",
    runs: [],
    comparisons: [comparison.comparison],
    next: "",
  });
  const [table = ""] = renderTerminal(document, { columns: 100 }).split("\n\n");
  return `${BEGIN}\n\`\`\`text\n${table}\n\`\`\`\n${END}`;
}

/** What stands between the marks in a README, marks included; undefined if it has none. */
export function blockOf(readme: string): string | undefined {
  const from = readme.indexOf(BEGIN);
  const to = readme.indexOf(END);
  return from < 0 || to < from ? undefined : readme.slice(from, to + END.length);
}

export function withBlock(readme: string, block: string): string {
  const old = blockOf(readme);
  if (old === undefined) throw new Error(`no "${BEGIN}" in this README`);
  return readme.replace(old, () => block);
}
