/**
 * The document as an HTML report carries it: whole, unless that would make the file too large to send around. Then the
 * buckets of its histograms are joined, by two, four and so on, until it fits: quantiles, counts and texts stay exact.
 */
import type { ResultDistribution, ResultDocument } from "../load/index.ts";

/** Of a report of 1 MB, what its tables and charts leave over. */
const CHARS_MAX = 700_000;
/** Joined 1,024 to one, a bucket is an octave: there is nothing left to save. */
const JOIN_BITS_MAX = 10;

export interface Embeddable {
  readonly document: ResultDocument;
  readonly isThinned: boolean;
}

export function embeddable(document: ResultDocument): Embeddable {
  let thinned = document;
  for (let bits = 1; bits <= JOIN_BITS_MAX; bits += 1) {
    if (JSON.stringify(thinned).length <= CHARS_MAX) break;
    thinned = joinBuckets(document, bits);
  }
  return { document: thinned, isThinned: thinned !== document };
}

function joinBuckets(document: ResultDocument, bits: number): ResultDocument {
  return {
    ...document,
    runs: document.runs.map((run) => ({
      ...run,
      metrics: Object.fromEntries(
        Object.entries(run.metrics).map(([name, metric]) => [
          name,
          { ...metric, histogram: joined(metric.histogram, bits) },
        ]),
      ),
    })),
  };
}

type HistogramPart = ResultDistribution["histogram"];

/** Each group of 2^bits buckets becomes its middle one. */
function joined(histogram: HistogramPart, bits: number): HistogramPart {
  const buckets: number[] = [];
  let bucket = 0;
  let before = 0;
  for (let i = 0; i + 1 < histogram.buckets.length; i += 2) {
    bucket += histogram.buckets[i]!;
    const count = histogram.buckets[i + 1]!;
    const middle = Math.floor(bucket / 2 ** bits) * 2 ** bits + 2 ** (bits - 1);
    if (buckets.length > 0 && middle === before) {
      buckets[buckets.length - 1]! += count;
    } else {
      buckets.push(middle - before, count);
      before = middle;
    }
  }
  return { ...histogram, buckets };
}
