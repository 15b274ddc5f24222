/** Draws what `manx lint-prompt` found: shares, causes with what they cost, where to look, and what to do. */
import { formatUs } from "../core/index.ts";
import type { TerminalOptions } from "../report/index.ts";
import { COLOUR_INK, type Ink, PLAIN_INK } from "../report/ink.ts";
import { oneLine } from "../report/printable.ts";
import { textTable, wrapText } from "../report/text-table.ts";
import type { BreakGroup, LintSummary, PlacedBreak } from "../runtime/index.ts";

const COLUMNS = 100;

export interface LintView extends TerminalOptions {
  /** Groups that are drawn; the rest is counted. */
  readonly top: number;
}

export function drawLint(summary: LintSummary, view: LintView): string {
  const ink = view.color === true ? COLOUR_INK : PLAIN_INK;
  const columns = view.columns ?? COLUMNS;
  const shown = summary.groups.slice(0, view.top);
  const more = summary.groups.length - shown.length;
  const lines = [
    ...headLines(summary, ink),
    ...(shown.length === 0 ? [] : ["", ...textTable(tableRows(shown, ink), columns)]),
    ...shown.flatMap((group) => ["", ...groupLines(group, columns, ink)]),
    ...(more > 0
      ? ["", ink.dim(`${more} more causes; show them with --top ${summary.groups.length}`)]
      : []),
    ...lateLines(summary, columns, ink),
    ...problemLines(summary, columns, ink),
    ...baseLines(summary, columns, ink),
  ];
  return `${lines.join("\n")}\n`;
}

function headLines(summary: LintSummary, ink: Ink): string[] {
  const { requests, conversations, breaks, tokens, gotTokens, couldTokens, usage } = summary;
  const requestsText = `${count(requests, "request")} in ${count(conversations, "conversation")}`;
  const verdict = breaks === 0 ? "no prefix is broken" : `${count(breaks, "break")}`;
  const paint = breaks === 0 ? ink.good : ink.bad;
  const measured =
    usage === null || usage.promptTokens === 0
      ? ""
      : `; the provider counted ${percent(usage.cachedTokens / usage.promptTokens)} (n = ${usage.requests})`;
  return [
    ink.bold(`${requestsText}: ${paint(verdict)}`),
    `hit share ${share(gotTokens, tokens)} of ${plain(tokens)} prompt tokens as they are, ` +
      `${share(couldTokens, tokens)} if each went on where the last ended${measured}`,
  ];
}

function tableRows(groups: readonly BreakGroup[], ink: Ink) {
  const head = ["cause and field", "breaks", "tokens lost", "share", "TTFT lost", "USD lost"];
  return [
    head.map((text) => ({ text, paint: ink.dim })),
    ...groups.map((group) => [
      { text: `${group.cause} ${group.field}` },
      { text: plain(group.breaks) },
      { text: plain(group.lostTokens) },
      { text: percent(group.share) },
      { text: formatUs(group.lostTtftUs) },
      { text: money(group.lostUsd) },
    ]),
  ];
}

function groupLines(group: BreakGroup, columns: number, ink: Ink): string[] {
  const [first] = group.examples;
  return [
    ink.bold(`${group.cause} ${oneLine(group.field)}`),
    ...(first === undefined ? [] : exampleLines(first)),
    ...wrapText(`do: ${group.advice}`, columns - 4).map((line) => `  ${line}`),
  ];
}

function exampleLines(one: PlacedBreak): string[] {
  const byte =
    one.byteInPart === null ? "a byte that was not kept" : `byte ${plain(one.byteInPart)}`;
  const inPrompt = one.byteInPrompt === null ? "" : `, ${plain(one.byteInPrompt)} of the prompt`;
  const who = one.providerTells ? "the provider would say" : "in the provider's words";
  const reason = one.providerReason === null ? "" : `; ${who} ${one.providerReason}`;
  const gone = one.isGone ? " (gone)" : "";
  return [
    `  at ${oneLine(one.where)}, compared with ${oneLine(one.comparedWith)}`,
    `  ${byte} of ${oneLine(one.part)}${gone}${inPrompt}: ${oneLine(one.culprit)}`,
    `  ${plain(one.keptTokens)} tokens before it are kept, ${plain(one.lostTokens)} are lost${reason}`,
  ];
}

function lateLines({ late }: LintSummary, columns: number, ink: Ink): string[] {
  if (late.requests === 0) return [];
  const text =
    `${count(late.requests, "request")} came after the provider had let the prefix go: ` +
    `${plain(late.tokens)} tokens; a longer lifetime or CacheKeeper would have kept them`;
  return [
    "",
    ...wrapText(text, columns - 2).map((line, i) => ink.doubt(i === 0 ? line : `  ${line}`)),
  ];
}

function problemLines({ problems }: LintSummary, columns: number, ink: Ink): string[] {
  if (problems.length === 0) return [];
  return [
    "",
    ...problems.flatMap(({ kind, text, requests, first }) =>
      wrapText(`${kind}: ${text} (${count(requests, "request")}, first ${first})`, columns - 2).map(
        (line, i) => ink.doubt(i === 0 ? line : `  ${line}`),
      ),
    ),
  ];
}

function baseLines(summary: LintSummary, columns: number, ink: Ink): string[] {
  const { prefill, pricesAsOf, unpriced, setAside } = summary;
  const rate = `${plain(prefill.tokensPerS)} prompt tokens/s`;
  const source = {
    measured: `measured on ${prefill.n} requests`,
    given: "as given",
    assumed: "assumed; records with usage and times would tell, or --prefill-rate",
  }[prefill.source];
  const dated = pricesAsOf.filter((asOf) => asOf !== "given");
  const prices =
    pricesAsOf.length === 0
      ? "no price is known"
      : dated.length === 0
        ? "prices as given"
        : `list prices as of ${dated.join(", ")}`;
  const lacking =
    unpriced.length === 0 ? "" : `; none for ${unpriced.slice(0, 5).join(", ")}: give --price`;
  const aside =
    setAside.records === 0
      ? []
      : [
          ink.doubt(`${count(setAside.records, "record")} set aside:`),
          ...setAside.first.map((text) => ink.doubt(`  ${oneLine(text)}`)),
        ];
  return [
    "",
    ...wrapText(
      `TTFT: ${rate}, ${source}. Tokens are a quarter of the characters. Money: ${prices}${lacking}.`,
      columns,
    ).map(ink.dim),
    ...aside,
  ];
}

/** One line for each break, as it is found. */
export function breakLine(one: PlacedBreak): string {
  const { where, cause, field, byteInPart, culprit, lostTokens } = one;
  const byte = byteInPart === null ? "" : ` byte ${byteInPart}`;
  return oneLine(`${where}: ${cause} in ${field}${byte}: ${culprit} (${lostTokens} tokens lost)`);
}

function count(n: number, word: string): string {
  return `${plain(n)} ${word}${n === 1 ? "" : "s"}`;
}

function plain(value: number): string {
  return value.toLocaleString("en-US");
}

function percent(value: number): string {
  return `${(value * 100).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
}

function share(part: number, all: number): string {
  return all === 0 ? "–" : percent(part / all);
}

function money(usd: number | null): string {
  if (usd === null) return "–";
  return usd === 0
    ? "0"
    : usd.toPrecision(3).replace(/^(\d+)\.?\d*e\+?\d+$/, () => String(Math.round(usd)));
}
