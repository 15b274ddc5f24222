/**
 * Reads the few series that routing needs from a page in Prometheus' text format, line by line. The page comes from a
 * process that may be busy, old or broken, so nothing in it is trusted: a line that is none is counted and left out, and
 * the rest still counts.
 */

export interface Sample {
  /** As written between the braces; "" without. */
  readonly labels: string;
  readonly value: number;
}

export interface MetricsPage {
  /** By name, wanted ones only, in the order of the page. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  /** Neither a sample nor a comment. */
  readonly badLines: number;
}

/** Name, labels in braces (a label's value may hold any of these characters), value, perhaps a time stamp. */
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t\r]*$/;
/** Longer than any label set; what a line costs to read stays bounded. */
const LINE_CHARS_MAX = 65_536;
/** Kept of one name: data-parallel ranks times models, and far from what a broken page could send. */
const SAMPLES_MAX = 1_024;

export function parseMetricsPage(text: string, wanted: ReadonlySet<string>): MetricsPage {
  const samples = new Map<string, Sample[]>();
  let badLines = 0;
  for (const line of text.split("\n")) {
    if (line === "" || line[0] === "#" || line === "\r") continue;
    const parts = line.length > LINE_CHARS_MAX ? null : LINE.exec(line);
    const [, name, labels = "", digits = ""] = parts ?? [];
    const value = toNumber(digits);
    if (name === undefined || value === undefined) {
      badLines += 1;
      continue;
    }
    if (!wanted.has(name)) continue;
    const all = samples.get(name);
    if (all === undefined) samples.set(name, [{ labels, value }]);
    else if (all.length < SAMPLES_MAX) all.push({ labels, value });
  }
  return { samples, badLines };
}

/** Prometheus writes what Go reads: NaN, +Inf and -Inf are numbers too. */
function toNumber(digits: string): number | undefined {
  if (/^[+-]?Inf$/i.test(digits)) {
    return digits[0] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (/^NaN$/i.test(digits)) return Number.NaN;
  const value = digits === "" ? Number.NaN : Number(digits);
  return Number.isNaN(value) ? undefined : value;
}
