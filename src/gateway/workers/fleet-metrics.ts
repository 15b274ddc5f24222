/** What a scraper sees of several workers: one page, and how many of them it is of. */
import { mergeMetrics } from "./metric-merge.ts";

export interface CrewFigures {
  readonly serving: number;
  readonly leaving: number;
  readonly starting: number;
  readonly restarts: number;
  /** Workers whose figures are not on this page. */
  readonly unanswered: number;
}

export function fleetPage(pages: readonly string[], figures: CrewFigures): string {
  const { serving, leaving, starting, restarts, unanswered } = figures;
  const own = [
    "# HELP manx_gateway_workers Processes that serve the port, by what they do",
    "# TYPE manx_gateway_workers gauge",
    ...Object.entries({ serving, leaving, starting }).map(
      ([state, count]) => `manx_gateway_workers{state="${state}"} ${count}`,
    ),
    "# HELP manx_gateway_worker_restarts Workers that ended unasked and were started again",
    "# TYPE manx_gateway_worker_restarts gauge",
    `manx_gateway_worker_restarts ${restarts}`,
    "# HELP manx_gateway_workers_unanswered Workers that are not on this page: no answer in time",
    "# TYPE manx_gateway_workers_unanswered gauge",
    `manx_gateway_workers_unanswered ${unanswered}`,
    "",
  ].join("\n");
  return mergeMetrics(pages.length === 0 ? [own] : [...pages, own]);
}
