/**
 * A page of /metrics as numbers by name and labels. It may come from anything that answers there, so a line that cannot be
 * read is left out, and what is kept is bounded.
 */
export interface ScrapedSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export type ScrapedPage = ReadonlyMap<string, readonly ScrapedSample[]>;

const SAMPLES_MAX = 200_000;
const LINE_CHARS_MAX = 16_384;
/** Name, labels in braces, value; a time stamp or an exemplar behind it says nothing here. */
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*?)\})?[ \t]+([+-]?(?:[\d.eE+-]+|Inf|NaN))(?:[ \t]|\r?$)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** @param prefix of the names that are wanted. */
export function parseScrapedPage(text: string, prefix: string): ScrapedPage {
  const page = new Map<string, ScrapedSample[]>();
  let kept = 0;
  for (const line of text.split("\n")) {
    if (!line.startsWith(prefix) || line.length > LINE_CHARS_MAX) continue;
    const [, name, labels = "", digits = ""] = LINE.exec(line) ?? [];
    const value = toNumber(digits);
    if (name === undefined || Number.isNaN(value)) continue;
    kept += 1;
    if (kept > SAMPLES_MAX) break;
    const samples = page.get(name);
    const sample = { labels: parseLabels(labels), value };
    if (samples === undefined) page.set(name, [sample]);
    else samples.push(sample);
  }
  return page;
}

function toNumber(digits: string): number {
  if (digits.endsWith("Inf")) return digits.startsWith("-") ? -Infinity : Infinity;
  return digits === "" ? Number.NaN : Number(digits);
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(LABEL)) {
    labels[name] = value.replace(/\\(.)/g, (_, one: string) => (one === "n" ? "\n" : one));
  }
  return labels;
}
