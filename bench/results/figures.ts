/** The figures of a ladder over several samples, and what they say of the published ones. */
import { formatUs } from "../../src/core/index.ts";
import type { ResultComparison } from "../../src/load/index.ts";
import type { RowPlan } from "../../src/scenario/ladder-table.ts";

export interface Figures {
  /** Where they are from, with the set-up: "Azure hour, 2 × …". */
  readonly title: string;
  readonly rungs: readonly string[];
  readonly rows: readonly RowPlan[];
  /** One comparison for each sample. */
  readonly tables: readonly ResultComparison[];
}

/** By rung, then by sample; NaN where a rung has no such figure. */
function valuesOf({ rungs, tables }: Figures, row: RowPlan): number[][] {
  return rungs.map((rung) =>
    tables.map((table) => {
      const found = table.rows.find(({ title }) => title === row.title);
      const run = table.columns.find(({ title }) => title === rung)?.run;
      return found?.cells.find((cell) => cell.run === run)?.value ?? Number.NaN;
    }),
  );
}

function gains(row: RowPlan, before: readonly number[], after: readonly number[]): number[] {
  return after.map((value, sample) =>
    row.better === "lower" ? before[sample]! / value : value / before[sample]!,
  );
}

export function printRows(figures: Figures): void {
  for (const row of figures.rows) {
    console.log(`  ${row.title}`);
    const values = valuesOf(figures, row);
    for (const [i, rung] of figures.rungs.entries()) {
      const better = gains(row, values[0]!, values[i]!);
      const hasGain = i > 0 && better.every(Number.isFinite);
      const gain = hasGain ? `${band(better, times)} better than the first rung` : "";
      const published =
        hasGain && row.published !== null
          ? `; published ${times(row.published.ratio)}: ${verdict(better, row.published.ratio)}`
          : "";
      const shownBand = band(values[i]!, (value) => shown(row, value));
      console.log(`    ${rung.padEnd(22)} ${shownBand.padEnd(36)} ${gain}${published}`);
    }
  }
}

/** For each published figure the steps of the ladder that make as much of a difference, and the rungs that are as good. */
export function printReached(all: readonly Figures[]): void {
  console.log("\nWhere each published figure is reached, in every sample");
  for (const row of all[0]!.rows.filter(({ published }) => published !== null)) {
    const { before, after, ratio } = row.published!;
    console.log(
      `  ${row.title}: published ${shown(row, before)} → ${shown(row, after)}, ${times(ratio)}`,
    );
    for (const figures of all) {
      const mine = figures.rows.find(({ title }) => title === row.title);
      if (mine === undefined) continue;
      const values = valuesOf(figures, mine);
      const isAsGood = (value: number): boolean =>
        row.better === "lower" ? value <= after : value >= after;
      const asGood = figures.rungs.filter((_, i) => values[i]!.every(isAsGood));
      console.log(`    ${figures.title}`);
      console.log(`      ratio: ${ratioText(figures, mine, values, ratio)}`);
      console.log(`      ${shown(row, after)} or better: ${listed(asGood)}`);
    }
  }
}

/** From the first rung if any step from it is large enough, otherwise from whichever is. */
function ratioText(
  { rungs }: Figures,
  row: RowPlan,
  values: readonly number[][],
  ratio: number,
): string {
  for (const [from, start] of rungs.entries()) {
    const steps = rungs.slice(from + 1).map((rung, i) => ({
      rung,
      better: gains(row, values[from]!, values[from + 1 + i]!),
    }));
    const reached = steps.filter(({ better }) => better.every((gain) => gain >= ratio));
    if (reached.length === 0) continue;
    const texts = reached.map(({ rung, better }) => `${rung} ${band(better, times)}`);
    return `from ${start} to ${texts.join(", ")}`;
  }
  const best = rungs.map((rung, to) => ({ rung, better: gains(row, values[0]!, values[to]!) }));
  const nearest = best.reduce((a, b) => (middle(b.better) > middle(a.better) ? b : a));
  return `not reached; nearest from ${rungs[0]} to ${nearest.rung} ${band(nearest.better, times)}`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "no rung" : names.join(", ");
}

function verdict(better: readonly number[], published: number): string {
  const reached = better.filter((gain) => gain >= published).length;
  return reached === better.length ? "reached" : reached === 0 ? "not reached" : "in part";
}

function middle(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NEGATIVE_INFINITY;
}

/** Median, then least and most. */
function band(values: readonly number[], show: (value: number) => string): string {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return "–";
  return `${show(middle(sorted))} (${show(sorted[0]!)} to ${show(sorted.at(-1)!)})`;
}

export function times(ratio: number): string {
  return `${Number(ratio.toPrecision(3))}×`;
}

function shown({ unit }: RowPlan, value: number): string {
  if (unit === "us") return formatUs(value);
  if (unit === "share") return `${(100 * value).toPrecision(3)} %`;
  return `${Number(value.toPrecision(3))}${unit === "per-s" ? "/s" : ""}`;
}
