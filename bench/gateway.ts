/**
 * What the gateway adds, and what it can carry, as difference and ratio to the same load sent direct, in interleaved rounds
 * with other proxies beside it: absolute figures of a shared machine mean little, runs a few seconds apart do.
 *
 *     npm run bench:gateway [-- --short] [-- --rounds 5] [-- --peers nginx,haproxy,caddy,node,portkey]
 *
 * `armed` is the gateway with a deadline, retries, hedging, lanes and an access log; `plain` has its defaults. A peer that
 * is not installed is left out and named.
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sampleQuantile } from "../src/stats/index.ts";
import { closedLoop, openLoop } from "./gateway/client.ts";
import { build, type Process, startGatewayProcess, startMock } from "./gateway/processes.ts";
import { PEER_NAMES, startPeer } from "./peers/proxies.ts";

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    rounds: { type: "string" },
    peers: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.short ? 1 : 5));
const openMs = values.short ? 3_000 : 8_000;
const closedMs = values.short ? 1_500 : 3_000;
const wanted = (values.peers ?? (values.short ? "" : PEER_NAMES.join(",")))
  .split(",")
  .filter(Boolean);

interface Side {
  readonly name: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** undefined: the mock itself. */
  readonly process?: Process;
  readonly rounds: Round[];
}

/** What one side has shown in one round. */
interface Round {
  readonly jsonMs: readonly number[];
  readonly ttftMs: readonly number[];
  readonly gapsMs: readonly number[];
  readonly jsonPerS: number;
  readonly streamsPerS: number;
  readonly errors: number;
}

function quantile(of: readonly number[], q: number): number {
  return sampleQuantile(
    [...of].sort((a, b) => a - b),
    q,
  ).value;
}

const median = (of: readonly number[]): number => quantile(of, 0.5);

async function measure({ url, headers = {} }: Side, seed: number): Promise<Round> {
  const open = { warmMs: 1_000, runMs: openMs, seed, headers };
  const json = await openLoop(url, { ...open, model: "mock", perS: 100 });
  const streams = await openLoop(url, { ...open, model: "mock-20-5", perS: 50 });
  const closed = { connections: 32, warmMs: 500, runMs: closedMs, headers };
  const jsonCeiling = await closedLoop(url, { ...closed, model: "mock" });
  const streamCeiling = await closedLoop(url, { ...closed, model: "mock-64-0" });
  return {
    jsonMs: json.latenciesMs,
    ttftMs: streams.latenciesMs,
    gapsMs: streams.gapsMs,
    jsonPerS: jsonCeiling.perS,
    streamsPerS: streamCeiling.perS,
    errors: json.errors + streams.errors + jsonCeiling.errors + streamCeiling.errors,
  };
}

/** Median over rounds of the difference to the direct run of the same round, of one quantile. */
function added(side: Side, direct: Side, of: "jsonMs" | "ttftMs" | "gapsMs", q: number): string {
  const each = side.rounds.map(
    (round, i) => quantile(round[of], q) - quantile(direct.rounds[i]![of], q),
  );
  const value = median(each);
  return `${value >= 0 ? "+" : ""}${value.toFixed(2)}`;
}

function ratio(side: Side, direct: Side, of: "jsonPerS" | "streamsPerS"): string {
  const each = side.rounds.map((round, i) => round[of] / direct.rounds[i]![of]);
  return `${median(each).toFixed(2)} (${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)})`;
}

function residentMb({ process: child }: Side): string {
  if (child === undefined) return "";
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
  return line === null ? "unknown" : `${(Number(line[1]) / 1_024).toFixed(0)} MB`;
}

function row(side: Side, direct: Side): string {
  const count = (of: "jsonMs" | "ttftMs"): number =>
    side.rounds.reduce((sum, round) => sum + round[of].length, 0);
  const pair = (of: "jsonMs" | "ttftMs"): string =>
    `${added(side, direct, of, 0.5)} / ${added(side, direct, of, 0.99)} (n ${count(of)})`;
  const errors = side.rounds.reduce((sum, round) => sum + round.errors, 0);
  const cells = [
    side.name,
    pair("jsonMs"),
    pair("ttftMs"),
    added(side, direct, "gapsMs", 0.99),
    ratio(side, direct, "jsonPerS"),
    ratio(side, direct, "streamsPerS"),
    residentMb(side),
    String(errors),
  ];
  return `| ${cells.join(" | ")} |`;
}

function directLine({ rounds: all }: Side): string {
  const p = (of: "jsonMs" | "ttftMs" | "gapsMs", q: number): string =>
    median(all.map((round) => quantile(round[of], q))).toFixed(2);
  const perS = (of: "jsonPerS" | "streamsPerS"): string =>
    median(all.map((round) => round[of])).toFixed(0);
  return (
    `direct: JSON ${p("jsonMs", 0.5)} / ${p("jsonMs", 0.99)} ms, TTFT ${p("ttftMs", 0.5)} / ${p("ttftMs", 0.99)} ms, ` +
    `largest gap p99 ${p("gapsMs", 0.99)} ms, ceilings ${perS("jsonPerS")} JSON/s and ${perS("streamsPerS")} streams/s`
  );
}

await build();
const mock = await startMock();
const log = join(mkdtempSync(join(tmpdir(), "manx-bench-")), "access.log");
const armedFlags = ["--lanes", "--hedge", "--deadline", "120s", "--access-log", log];
const direct: Side = { name: "direct", url: mock.url, rounds: [] };
const sides: Side[] = [];
const add = (name: string, child: Process, headers = {}): void => {
  sides.push({ name, url: child.url, process: child, headers, rounds: [] });
};
const absent: string[] = [];
try {
  add("manx, armed", await startGatewayProcess(mock.url, armedFlags));
  add("manx, plain", await startGatewayProcess(mock.url));
  for (const name of wanted) {
    const peer = await startPeer(name, mock.url);
    if (peer === undefined) absent.push(name);
    else add(name, peer, peer.headers);
  }
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, so that a drift of the machine does not favour one side.
    const order = [direct, ...sides];
    if (round % 2 === 1) order.reverse();
    for (const side of order) {
      side.rounds.push(await measure(side, round));
      process.stderr.write(`round ${round + 1} of ${rounds}: ${side.name} done\n`);
    }
  }
  console.log(
    [
      `${rounds} interleaved rounds; 100 JSON/s, then 50 streams/s of 20 events 5 ms apart; ceilings over 32 connections,`,
      `streams of 64 events without gap; Node ${process.version}; added = difference to direct in the same round, ms`,
      directLine(direct),
      "",
      "| | JSON added p50 / p99 | TTFT added p50 / p99 | largest gap p99 added | JSON ceiling x direct | streams x direct | resident | errors |",
      "| --- | --- | --- | --- | --- | --- | --- | --- |",
      "| goal | 0.6 / 2.0 | 0.5 / 1.5 | 2 | 0.30 | 0.55 | 200 MB | 0 |",
      ...sides.map((side) => row(side, direct)),
      ...(absent.length === 0 ? [] : [`not installed here: ${absent.join(", ")}`]),
    ].join("\n"),
  );
} finally {
  for (const { process: child } of sides) await child?.stop();
  await mock.stop();
}
