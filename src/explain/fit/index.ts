/** From what a real engine did to prices of steps, with the error of the fit on what it has not seen. */
export type { FitDetails } from "./fit-details.ts";
export { type FitMetricsOptions, fitMetrics } from "./fit-metrics.ts";
export { type FitRequestLogOptions, fitRequestLog } from "./fit-request-log.ts";
export {
  type FittedDocument,
  fittedDocumentSchema,
  fittedJsonSchema,
} from "./fitted-document.ts";
export { MetricsPage } from "./metrics-page.ts";
export {
  type EngineFacts,
  engineFacts,
  type MetricsWindow,
  metricsWindow,
} from "./metrics-window.ts";
export { readRequestLog } from "./read-log.ts";
export type { LogFormat, LoggedRequest, RequestLog } from "./request-log.ts";
