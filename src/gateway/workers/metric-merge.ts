/**
 * Pages of metrics of several processes as one, in Prometheus' text format: what counts is added up, series by series, and
 * so are the buckets of histograms; of what says a state the worst one stands for all.
 *
 * A family keeps the place, the help and the type of its first page. A line that is none of a page is left out.
 */

interface Family {
  readonly name: string;
  readonly head: string[];
  readonly type: string;
  /** By name and labels as they are written: all pages come from the same code, in the same order of labels. */
  readonly series: Map<string, { value: number; exemplar: string }>;
}

type Join = (a: number, b: number) => number;

const ADD: Join = (a, b) => a + b;
const GREATEST: Join = (a, b) => Math.max(a, b);
const LEAST: Join = (a, b) => Math.min(a, b);

/** Gauges that are no amounts. */
const JOINS: readonly (readonly [pattern: RegExp, join: Join])[] = [
  [/(_info|_state|_slow|_oldest_seconds|_age_seconds|_lag_seconds)$/, GREATEST],
  // Known by each process alike.
  [/_replica_(running|waiting|kv_use)$|_shared_gateways$/, GREATEST],
  [/(_start_time_seconds|_ready|_connected)$/, LEAST],
];

const COMMENT = /^# (HELP|TYPE|UNIT) (\S+) ?(.*)$/;
/** Name and labels, value, and what may follow it. A label's value may hold anything, braces included. */
const SAMPLE = /^([a-zA-Z_:][\w:]*(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?) (\S+)(.*)$/;
const END = "# EOF";

export function mergeMetrics(pages: readonly string[]): string {
  const [first] = pages;
  if (pages.length === 1) return first!;
  const families = new Map<string, Family>();
  for (const page of pages) addPage(page, families);
  const lines = [...families.values()].flatMap(({ head, series }) => [
    ...head,
    ...Array.from(
      series,
      ([name, { value, exemplar }]) => `${name} ${numberText(value)}${exemplar}`,
    ),
  ]);
  // Only OpenMetrics has an end; without it a scraper takes the page for cut off.
  if (first?.trimEnd().endsWith(END) === true) lines.push(END);
  return `${lines.join("\n")}\n`;
}

function addPage(page: string, families: Map<string, Family>): void {
  let family: Family | undefined;
  let isNew = false;
  for (const line of page.split("\n")) {
    const comment = COMMENT.exec(line);
    if (comment !== null) {
      const [, kind, name = "", text = ""] = comment;
      if (family?.name !== name) {
        isNew = !families.has(name);
        family = families.get(name) ?? { name, head: [], type: "", series: new Map() };
        families.set(name, family);
      }
      if (isNew) family.head.push(line);
      if (kind === "TYPE" && family.type === "") {
        family = { ...family, type: text };
        families.set(name, family);
      }
      continue;
    }
    const sample = SAMPLE.exec(line);
    if (sample !== null && family !== undefined) addSample(family, sample);
  }
}

function addSample({ name, type, series }: Family, [, key = "", text, rest = ""]: string[]): void {
  const value = readNumber(text ?? "");
  if (Number.isNaN(value)) return;
  const before = series.get(key);
  if (before === undefined) {
    series.set(key, { value, exemplar: rest });
    return;
  }
  before.value = joinOf(name, type)(before.value, value);
  // Any of them leads to a trace; a page that has one wins over one that has none.
  if (before.exemplar === "") before.exemplar = rest;
}

function joinOf(name: string, type: string): Join {
  if (type !== "gauge") return ADD;
  return JOINS.find(([pattern]) => pattern.test(name))?.[1] ?? ADD;
}

function readNumber(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  return text === "" ? Number.NaN : Number(text);
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
