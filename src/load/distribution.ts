/** A histogram as the result document has it: with its unit, its starting instant, and the quantiles everyone asks for. */
import { type Histogram, histogramQuantile } from "../stats/index.ts";
import type { ResultDistribution } from "./result-document.ts";

const QUANTILES = [0.5, 0.9, 0.95, 0.99, 0.999] as const;

export interface DistributionLabel {
  readonly title: string;
  readonly unit: ResultDistribution["unit"];
  readonly from: ResultDistribution["from"];
}

export function toDistribution(histogram: Histogram, label: DistributionLabel): ResultDistribution {
  const { subBits, n, sum, min, max, buckets } = histogram.toJSON();
  return {
    ...label,
    histogram: { subBits, n, sum, min, max, buckets: [...buckets] },
    quantiles: QUANTILES.map((q) => {
      const { value, ...rest } = histogramQuantile(histogram, q);
      return { ...rest, value: Number.isNaN(value) ? null : value };
    }),
  };
}

/** The metrics that Manx has one name, title and starting instant for, wherever they are measured. */
export const METRIC_LABELS = {
  ttfbUs: { title: "TTFB", unit: "us", from: "intended-start" },
  ttftUs: { title: "TTFT", unit: "us", from: "intended-start" },
  ttfvtUs: { title: "TTFVT", unit: "us", from: "intended-start" },
  serviceTtftUs: { title: "TTFT from send", unit: "us", from: "actual-send" },
  itlUs: { title: "ITL", unit: "us", from: "previous-output" },
  chunkGapUs: { title: "chunk gap", unit: "us", from: "previous-output" },
  largestGapUs: { title: "largest gap of a stream", unit: "us", from: "previous-output" },
  tpotUs: { title: "TPOT", unit: "us", from: "first-output" },
  e2eUs: { title: "E2E", unit: "us", from: "intended-start" },
  serviceE2eUs: { title: "E2E from send", unit: "us", from: "actual-send" },
  failedTtftUs: { title: "TTFT of failed streams", unit: "us", from: "intended-start" },
  waitUs: { title: "wait until sent", unit: "us", from: "intended-start" },
  connectUs: { title: "connect", unit: "us", from: "none" },
  loopLagUs: { title: "event-loop lag", unit: "us", from: "none" },
  scheduleLagUs: { title: "schedule lag", unit: "us", from: "intended-start" },
  handoverUs: { title: "KV hand-over", unit: "us", from: "none" },
  queueUs: { title: "queue", unit: "us", from: "intended-start" },
} as const satisfies Record<string, DistributionLabel>;

export type MetricName = keyof typeof METRIC_LABELS;
