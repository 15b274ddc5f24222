/** Runs that are looked at together: the columns of a comparison, or one run that is in none. */
import type { ResultComparison, ResultDocument, ResultRun } from "../load/index.ts";

export interface GroupRun {
  /** Short name within the group. */
  readonly title: string;
  /** Place among the group's columns; gives it the same colour in each chart. */
  readonly series: number;
  readonly run: ResultRun;
}

export interface RunGroup {
  readonly title: string;
  readonly comparison: ResultComparison | null;
  readonly runs: readonly GroupRun[];
}

/** Every run is in at least one group; the comparisons come first, in their own order. */
export function runGroups(document: ResultDocument): RunGroup[] {
  const compared = document.comparisons.map(
    (comparison): RunGroup => ({
      title: comparison.title,
      comparison,
      runs: comparison.columns.flatMap(({ run: name, title }, series) => {
        const run = document.runs.find((one) => one.name === name);
        return run === undefined ? [] : [{ title, series, run }];
      }),
    }),
  );
  const seen = new Set(compared.flatMap(({ runs }) => runs.map(({ run }) => run)));
  const alone = document.runs
    .filter((run) => !seen.has(run))
    .map(
      (run): RunGroup => ({
        title: run.name,
        comparison: null,
        runs: [{ title: run.name, series: 0, run }],
      }),
    );
  return [...compared, ...alone];
}
