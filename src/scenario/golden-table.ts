/** The golden scenarios of steps, fan-out and streaming tools as tables of seconds: what the docs show. */
import type { Quantile } from "../stats/index.ts";
import type { FanOutTail } from "./fan-out-tail.ts";
import type { StepCure } from "./multi-step-tail.ts";
import type { StreamingWay } from "./streaming-tools.ts";

export function stepTable(cures: readonly StepCure[]): string {
  return table(
    ["five steps", "p50", "p95", "p99", "more runs", "n"],
    cures.map(({ name, tail: { p50, p95, p99 }, moreRuns }) => [
      name,
      ...[p50, p95, p99].map(seconds),
      percent(moreRuns),
      String(p99.n),
    ]),
  );
}

export function fanOutTable(tails: readonly FanOutTail[]): string {
  return table(
    ["fan-out", "p50", "p95", "p99", "over 20 s", "more calls", "n"],
    tails.map(({ name, p50, p95, p99, over20s, moreCalls }) => [
      name,
      ...[p50, p95, p99].map(seconds),
      percent(over20s),
      percent(moreCalls),
      String(p99.n),
    ]),
  );
}

export function streamingTable(ways: readonly StreamingWay[]): string {
  return table(
    ["tools start", "p50", "p99", "n"],
    ways.map(({ name, p50, p99 }) => [name, seconds(p50), seconds(p99), String(p99.n)]),
  );
}

function seconds({ value }: Quantile): string {
  return `${(value / 1e6).toFixed(2)} s`;
}

function percent(share: number): string {
  return share === 0 ? "–" : `${(100 * share).toFixed(1)} %`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
