/**
 * What the gateway adds, and what it can carry, as difference and ratio to the same load sent direct, in interleaved pairs:
 * absolute figures of a shared machine mean little, pairs a few seconds apart do.
 *
 *     npx tsx bench/gateway.ts [--short] [--pairs 5]
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { sampleQuantile } from "../src/stats/index.ts";
import { closedLoop, openLoop } from "./gateway/client.ts";
import { build, type Process, startGatewayProcess, startMock } from "./gateway/processes.ts";

const { values } = parseArgs({
  options: { short: { type: "boolean", default: false }, pairs: { type: "string" } },
});
const pairs = Number(values.pairs ?? (values.short ? 1 : 5));
const openMs = values.short ? 3_000 : 8_000;
const closedMs = values.short ? 1_500 : 3_000;

interface Samples {
  readonly json: number[];
  readonly ttft: number[];
  readonly gaps: number[];
  readonly jsonPerS: number[];
  readonly streamsPerS: number[];
  /** Each pair's own p50 and p99, for differences within pairs. */
  readonly jsonQuantiles: [number, number][];
  readonly ttftQuantiles: [number, number][];
  errors: number;
}

function empty(): Samples {
  return {
    json: [],
    ttft: [],
    gaps: [],
    jsonPerS: [],
    streamsPerS: [],
    jsonQuantiles: [],
    ttftQuantiles: [],
    errors: 0,
  };
}

function quantile(values: readonly number[], q: number): number {
  return sampleQuantile(
    [...values].sort((a, b) => a - b),
    q,
  ).value;
}

async function measure(url: string, seed: number, into: Samples): Promise<void> {
  const open = { warmMs: 1_000, runMs: openMs, seed };
  const json = await openLoop(url, { ...open, model: "mock", perS: 100 });
  const streams = await openLoop(url, { ...open, model: "mock-20-5", perS: 50 });
  const closed = { connections: 32, warmMs: 500, runMs: closedMs };
  const jsonCeiling = await closedLoop(url, { ...closed, model: "mock" });
  const streamCeiling = await closedLoop(url, { ...closed, model: "mock-64-0" });
  into.json.push(...json.latenciesMs);
  into.ttft.push(...streams.latenciesMs);
  into.gaps.push(...streams.gapsMs);
  into.jsonQuantiles.push([quantile(json.latenciesMs, 0.5), quantile(json.latenciesMs, 0.99)]);
  into.ttftQuantiles.push([
    quantile(streams.latenciesMs, 0.5),
    quantile(streams.latenciesMs, 0.99),
  ]);
  into.jsonPerS.push(jsonCeiling.perS);
  into.streamsPerS.push(streamCeiling.perS);
  into.errors += json.errors + streams.errors + jsonCeiling.errors + streamCeiling.errors;
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Median over pairs of the difference of one quantile. */
function added(
  through: Samples,
  direct: Samples,
  of: "jsonQuantiles" | "ttftQuantiles",
  at: 0 | 1,
) {
  return median(through[of].map((pair, i) => pair[at] - direct[of][i]![at]));
}

function ratios(through: readonly number[], direct: readonly number[]): string {
  const each = through.map((value, i) => value / direct[i]!);
  const range = `${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)}`;
  return `${median(each).toFixed(2)} x direct (${range}; ${median(through).toFixed(0)}/s against ${median(direct).toFixed(0)}/s)`;
}

function residentMb(child: Process): string {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
  return line === null ? "unknown" : (Number(line[1]) / 1_024).toFixed(0);
}

function latencyRow(name: string, of: "json" | "ttft" | "gaps", through: Samples, direct: Samples) {
  const show = (values: readonly number[]): string =>
    `p50 ${quantile(values, 0.5).toFixed(2)} p99 ${quantile(values, 0.99).toFixed(2)} ms (n ${values.length})`;
  return `${name}: direct ${show(direct[of])}, gateway ${show(through[of])}`;
}

await build();
const mock = await startMock();
const gateway = await startGatewayProcess(mock.url);
const direct = empty();
const through = empty();
try {
  for (let pair = 0; pair < pairs; pair += 1) {
    // The order alternates, so that a drift of the machine does not favour one side.
    const sides: [string, Samples][] = [
      [mock.url, direct],
      [gateway.url, through],
    ];
    if (pair % 2 === 1) sides.reverse();
    for (const [url, into] of sides) await measure(url, pair, into);
    process.stderr.write(`pair ${pair + 1} of ${pairs} done\n`);
  }
  const row = (at: 0 | 1, of: "jsonQuantiles" | "ttftQuantiles"): string =>
    added(through, direct, of, at).toFixed(2);
  console.log(
    [
      `${pairs} interleaved pairs; 100 JSON/s, then 50 streams/s of 20 events 5 ms apart; Node ${process.version}`,
      latencyRow("JSON", "json", through, direct),
      `  added p50 ${row(0, "jsonQuantiles")} p99 ${row(1, "jsonQuantiles")} ms (goal 0.6, 2.0)`,
      latencyRow("TTFT", "ttft", through, direct),
      `  added p50 ${row(0, "ttftQuantiles")} p99 ${row(1, "ttftQuantiles")} ms (goal 0.5, 1.5)`,
      latencyRow("largest gap", "gaps", through, direct),
      `JSON ceiling, 32 connections: ${ratios(through.jsonPerS, direct.jsonPerS)} (goal 0.30)`,
      `stream ceiling, 64 events: ${ratios(through.streamsPerS, direct.streamsPerS)} (goal 0.55)`,
      `errors: direct ${direct.errors}, gateway ${through.errors}; gateway resident ${residentMb(gateway)} MB`,
      "no peer beside it yet: nginx and HAProxy would need to be installed",
    ].join("\n"),
  );
} finally {
  await gateway.stop();
  await mock.stop();
}
