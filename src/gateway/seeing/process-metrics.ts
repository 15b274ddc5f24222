/** This process: what it uses, and how late its event loop runs. */
import type { Clock } from "../../clock/index.ts";
import { VERSION } from "../../version.ts";
import { LAG_BOUNDS_S } from "./histogram-bounds.ts";
import { LoopWatch } from "./loop-watch.ts";
import type { MetricPage } from "./metric-page.ts";

const US_PER_S = 1e6;

/** @returns what samples the lag, once it is started. */
export function addProcessMetrics(page: MetricPage, clock: Clock): LoopWatch {
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
  return new LoopWatch(lag, clock);
}
