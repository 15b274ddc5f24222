/** What the progress line of `manx load` says. */
import { formatUs } from "../core/index.ts";
import type { LoadProgress } from "../load/index.ts";

/** @param expected requests of the whole run; null if they are not counted ahead. */
export function progressText(progress: LoadProgress, expected: number | null): string {
  const { offered, sent, open, failed, metric, p50Us, p99Us, lagP99Us } = progress;
  const parts = [`sent ${sent}${expected === null ? "" : `/${expected}`}`, `open ${open}`];
  if (offered > sent) parts.push(`waiting ${offered - sent}`);
  if (failed > 0) parts.push(`failed ${failed}`);
  parts.push(
    `${metric} p50 ${formatUs(p50Us)} p99 ${formatUs(p99Us)}`,
    `lag ${formatUs(lagP99Us)}`,
  );
  return parts.join("  ");
}
