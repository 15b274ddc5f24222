/**
 * Verdicts as JUnit XML, which CI systems draw as test cases. A breached limit is a failure; what cannot be known is an
 * error and not a skip, so that no pipeline goes green on a measurement that could not carry its verdict.
 */
import { US_PER_S } from "../core/index.ts";
import type { ResultDocument, ResultRun, ResultVerdict } from "../load/index.ts";
import { escapeMarkup } from "./markup.ts";

const PARTIAL: ResultVerdict = {
  name: "complete",
  status: "unknown",
  text: "interrupted: what was in flight is in no figure",
};
const UNJUDGED: ResultVerdict = {
  name: "verdicts",
  status: "unknown",
  text: "no run carries a verdict",
};

export function renderJunit(document: ResultDocument): string {
  const own: ResultVerdict[] = [
    ...(document.status === "partial" ? [PARTIAL] : []),
    ...(document.runs.every(({ verdicts }) => verdicts.length === 0) ? [UNJUDGED] : []),
  ];
  const judged = document.runs.filter(({ verdicts }) => verdicts.length > 0);
  const suites = [
    ...judged.map((run) => suite(run.name, run.verdicts, runFacts(run), run.durationUs)),
    ...(own.length === 0 ? [] : [suite(document.kind, own, [], 0)]),
  ];
  const all = [...judged.flatMap(({ verdicts }) => verdicts), ...own];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="manx ${escapeMarkup(document.id)}" ${totals(all)}>`,
    ...suites.flat(),
    "</testsuites>",
    "",
  ].join("\n");
}

type Fact = readonly [name: string, value: string];

function runFacts({ seed, world, conditions }: ResultRun): Fact[] {
  const { offeredPerS, arrivals, workload, temperature } = conditions;
  return [
    ["seed", seed === null ? "none" : String(seed)],
    ["world", world],
    ["offered per second", String(offeredPerS)],
    ["arrivals", arrivals],
    ["workload", workload],
    ["temperature", temperature],
  ];
}

function suite(
  name: string,
  verdicts: readonly ResultVerdict[],
  facts: readonly Fact[],
  durationUs: number,
): string[] {
  const label = escapeMarkup(name);
  return [
    `  <testsuite name="${label}" ${totals(verdicts)} time="${durationUs / US_PER_S}">`,
    ...(facts.length === 0
      ? []
      : [
          "    <properties>",
          ...facts.map(
            ([key, value]) => `      <property name="${key}" value="${escapeMarkup(value)}"/>`,
          ),
          "    </properties>",
        ]),
    ...verdicts.map((verdict) => testCase(label, verdict)),
    "  </testsuite>",
  ];
}

function totals(verdicts: readonly ResultVerdict[]): string {
  const failures = verdicts.filter(({ status }) => status === "fail").length;
  const errors = verdicts.filter(({ status }) => status === "unknown").length;
  return `tests="${verdicts.length}" failures="${failures}" errors="${errors}" skipped="0"`;
}

function testCase(suiteLabel: string, { name, status, text }: ResultVerdict): string {
  const head = `    <testcase classname="${suiteLabel}" name="${escapeMarkup(name)}"`;
  const message = escapeMarkup(text);
  if (status === "pass") return `${head}><system-out>${message}</system-out></testcase>`;
  const element = status === "fail" ? "failure" : "error";
  return `${head}><${element} message="${message}" type="${status}"/></testcase>`;
}
