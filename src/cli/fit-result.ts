/** A fitted document as a table: quantiles of log, fitted twin and data sheet side by side, then what was found out. */
import type { FittedDocument } from "../explain/index.ts";
import type { ResultComparison, ResultComparisonRow, ResultDocument } from "../load/index.ts";

const FIGURES = { ttft: "TTFT", tpot: "TPOT", itl: "ITL", e2e: "E2E" } as const;
const COLUMNS = ["log", "fitted", "sheet"] as const;

/** For drawing only: it has no runs. */
export function fitAsResult(document: FittedDocument): ResultDocument {
  return {
    schemaVersion: 1,
    kind: "run",
    id: "fit",
    startedAt: document.startedAt,
    command: document.command,
    status: "complete",
    versions: { manx: document.manx, node: process.version },
    host: null,
    runs: [],
    comparisons: [comparison(document)],
    notes: [
      ...findingTexts(document).map((text) => ({ level: "info" as const, text })),
      ...document.notes.map((text) => ({ level: "info" as const, text })),
    ],
    next: "manx engine plan --cost FILE --trace TRACE --slo ttft=500ms,itl=50ms",
  };
}

function comparison(document: FittedDocument): ResultComparison {
  const { source, requests } = document.fittedOn;
  return {
    title: `Fitted to ${requests} requests of ${source}; the twin on requests that its fit had not seen`,
    columns: [
      { run: "log", title: "log", status: "measured" },
      { run: "fitted", title: "fitted twin", status: "measured" },
      { run: "sheet", title: "data sheet twin", status: "measured" },
    ],
    rows: [...errorRows(document), ...quantileRows(document)],
    source: "",
  };
}

function errorRows({ error, sheetError }: FittedDocument): ResultComparisonRow[] {
  return error.flatMap(({ figure, n, medianPercent, p90Percent }) => {
    const sheet = sheetError.find((one) => one.figure === figure);
    return [
      row(`${FIGURES[figure]} error, median`, "share", n, [
        null,
        medianPercent / 100,
        share(sheet?.medianPercent),
      ]),
      row(`${FIGURES[figure]} error, p90`, "share", n, [
        null,
        p90Percent / 100,
        share(sheet?.p90Percent),
      ]),
    ];
  });
}

function share(percent: number | undefined): number | null {
  return percent === undefined ? null : percent / 100;
}

function quantileRows({ quantiles }: FittedDocument): ResultComparisonRow[] {
  return quantiles.map(({ figure, q, n, beyond, logUs, twinUs, sheetUs }) =>
    row(
      `${FIGURES[figure]} ${q === null ? "mean" : `p${q * 100}`}`,
      "us",
      n,
      [logUs, twinUs, sheetUs],
      beyond < 10,
    ),
  );
}

function row(
  title: string,
  unit: ResultComparisonRow["unit"],
  n: number,
  values: readonly (number | null)[],
  grey = false,
): ResultComparisonRow {
  return {
    title,
    unit,
    better: "lower",
    published: null,
    remark: "",
    cells: COLUMNS.map((run, i) => ({ run, value: values[i]!, low: null, high: null, n, grey })),
  };
}

type Finding = FittedDocument["findings"][number];

/** A line for each that the log tells, and one for all others of the same reason. */
function findingTexts({ findings }: FittedDocument): string[] {
  const told = findings.filter(({ determined }) => determined).map(toldText);
  const others = findings.filter(({ determined }) => !determined);
  const untold = [...new Set(others.map(({ why }) => why))].map((why) => {
    const values = others
      .filter((one) => one.why === why)
      .map(({ name, value }) => `${name} ${digits(value)}`);
    return `kept near the data sheet: ${values.join(", ")} (${why})`;
  });
  return [...told, ...untold];
}

/** `stepUs 13060 (12852 to 13271; data sheet 6459)`. */
function toldText({ name, value, sheet, low, high, why }: Finding): string {
  const range = low === null || high === null ? "" : `${digits(low)} to ${digits(high)}; `;
  const text = `${name} ${digits(value)} (${range}data sheet ${digits(sheet)})`;
  return why === "" ? text : `${text}: ${why}`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
