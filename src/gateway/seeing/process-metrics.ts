/** This process: what it uses, and how late its event loop runs. */
import { type Clock, LateTicks } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import { VERSION } from "../../version.ts";
import { LAG_BOUNDS_S } from "./histogram-bounds.ts";
import type { MetricPage } from "./metric-page.ts";

const LAG_EVERY_US = 25_000;

/** @returns what samples the lag, once it is started. */
export function addProcessMetrics(page: MetricPage, clock: Clock): LateTicks {
  const startedS = clock.wallMs() / 1_000;
  page.read("info", "1; which version runs", ["version"], () => [[[VERSION], 1]]);
  page.read("process_start_time_seconds", "Unix time of the gateway's start", [], () => [
    [[], startedS],
  ]);
  page.read("process_cpu_seconds_total", "CPU time of this process", [], () => {
    const { user, system } = process.cpuUsage();
    return [[[], (user + system) / US_PER_S]];
  });
  page.read("process_resident_memory_bytes", "Memory of this process", [], () => [
    [[], process.memoryUsage.rss()],
  ]);
  const lag = page.times(
    "event_loop_lag_seconds",
    "How late timers run, sampled every 25 ms, blocked ones included",
    LAG_BOUNDS_S,
  );
  const at = lag.book.at();
  return new LateTicks(clock, LAG_EVERY_US, (lagUs) => lag.record(at, lagUs));
}
