/** A log of requests to a fitted document: the log's own flaws, the engine as it was run, and the fit, in one. */
import { type FitDetails, fittedDocument } from "./fit-details.ts";
import { fitLog, type LogFit } from "./fit-log.ts";
import type { FittedDocument } from "./fitted-document.ts";
import type { RequestLog } from "./request-log.ts";

export interface FitRequestLogOptions extends FitDetails {
  readonly log: RequestLog;
  /** Uses the first so many requests. */
  readonly limit: number;
}

/** The config's `contextMax` is raised to the log's longest request. @throws as `fitLog` does. */
export async function fitRequestLog(options: FitRequestLogOptions): Promise<FittedDocument> {
  const { log, config: given } = options;
  const requests = log.requests.slice(0, options.limit);
  const contextMax = requests.reduce(
    (most, { promptTokens, outputTokens }) => Math.max(most, promptTokens + outputTokens),
    given.contextMax,
  );
  const config = { ...given, contextMax };
  const fit = await fitLog({ ...options, requests, config });
  const on = { source: log.path, requests: requests.length };
  return fittedDocument({ ...options, config }, fit, fit.findings, on, {
    error: [...fit.error],
    quantiles: fit.quantiles.map((one, i) => ({
      ...one,
      sheetUs: fit.sheetQuantiles[i]!.twinUs,
    })),
    sheetError: [...fit.sheetError],
    notes: notesOf(log, requests.length, fit),
  });
}

function notesOf(log: RequestLog, used: number, fit: LogFit): string[] {
  const notes: string[] = [];
  if (used < log.requests.length) {
    notes.push(`the first ${used} of ${log.requests.length} requests were used`);
  }
  if (log.setAside > 0) {
    const { row, expected, got } = log.problems[0]!;
    notes.push(
      `${log.setAside} of ${log.rows} rows set aside, the first in row ${row}: expected ${expected}, got ${got}`,
    );
  }
  if (log.failed > 0) {
    notes.push(
      `${log.failed} of ${log.rows} requests failed; they loaded the engine and the twin does not see them`,
    );
  }
  if (log.reordered > 0) notes.push(`${log.reordered} rows were earlier than the row before them`);
  notes.push(
    fit.blocks > 0
      ? `${fit.replays} replays; errors are those of ${fit.blocks} fits, each on the part of the log that it had not seen`
      : `${fit.replays} replays; too few requests to hold any back, so how far the fit is off is not known`,
  );
  return notes;
}
