/**
 * The published table names no set-up. These are the two that move its figures most, on the Azure hour as it is: how many
 * engines there are for the traffic, and how much memory an engine without pages sets aside for each request.
 */
import { formatUs, US_PER_S } from "../../src/core/index.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../../src/engine/index.ts";
import { type Replay, type ReplayOptions, replay, type WorkRequest } from "../../src/load/index.ts";
import { PUBLISHED } from "../../src/scenario/published.ts";
import { histogramQuantile } from "../../src/stats/index.ts";
import { times } from "./figures.ts";

const AT_ONCE = 1e12;
const STATIC: Partial<EngineConfig> = { scheduling: "static", memory: "contiguous" };
const WHOLE: Partial<EngineConfig> = { scheduling: "continuous" };

interface Part extends Pick<ReplayOptions, "requests"> {
  readonly engines: number;
  readonly levers: Partial<EngineConfig>;
  readonly pools?: ReplayOptions["pools"];
  readonly speed?: number;
}

function run({ requests, engines, levers, pools, speed = 1 }: Part): Replay {
  return replay({
    name: "",
    requests,
    workload: "",
    arrivals: "",
    seed: null,
    speed,
    config: { ...ENGINE_DEFAULTS, ...levers },
    ...(pools === undefined ? { replicas: engines } : { pools }),
  });
}

function p99(done: Replay, metric: "ttftUs" | "itlUs" | "e2eUs"): number {
  return histogramQuantile(done.histograms[metric], 0.99).value;
}

function printLine(cells: readonly string[]): void {
  console.log(
    `  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(9) : cell.padStart(14))).join("")}`,
  );
}

/** Before and after at each number of engines: waiting shrinks with them, a gap between tokens does not. */
export function printSizes(requests: readonly WorkRequest[]): void {
  const { ttftP99, itlP99, e2eP99 } = PUBLISHED;
  console.log("\np99 by number of engines (Azure hour): static + contiguous → chunked + paged");
  printLine(["engines", "TTFT before", "after", "ratio", "E2E before", "after", "ratio"]);
  for (const engines of [2, 3, 4, 6, 8]) {
    const before = run({ requests, engines, levers: STATIC });
    const after = run({ requests, engines, levers: {} });
    const cells = (["ttftUs", "e2eUs"] as const).flatMap((metric) => {
      const [from, to] = [p99(before, metric), p99(after, metric)];
      return [formatUs(from), formatUs(to), times(from / to)];
    });
    printLine([String(engines), ...cells]);
  }
  printLine(["published", ...[ttftP99, e2eP99].flatMap(publishedCells)]);
  console.log("\nDecode p99 by number of engines (Azure hour): whole prompts → drafts, or pools");
  printLine(["engines", "whole", "chunked", "drafts", "ratio", "pools", "ratio"]);
  const speculation = { draftTokens: 5, acceptance: 0.7, draftShare: 1 / 30 };
  for (const engines of [2, 3, 4, 6, 8]) {
    const prefill = Math.floor(engines / 2);
    const pools = { prefill, decode: engines - prefill, link: "infiniband-400g" } as const;
    const [whole, chunked, drafts, split] = [
      { levers: WHOLE },
      { levers: {} },
      { levers: { speculation } },
      { levers: {}, pools },
    ].map((part) => p99(run({ requests, engines, ...part }), "itlUs")) as [
      number,
      number,
      number,
      number,
    ];
    const shares = [drafts, split].flatMap((us) => [formatUs(us), times(whole / us)]);
    printLine([String(engines), formatUs(whole), formatUs(chunked), ...shares]);
  }
  const [before, after, ratio] = publishedCells(itlP99);
  printLine(["published", before!, "", after!, ratio!]);
}

function publishedCells(figure: { before: number; after: number; ratio: number }): string[] {
  return [formatUs(figure.before), formatUs(figure.after), times(figure.ratio)];
}

/** Memory and throughput are points on a curve over the reserved length. */
export function printReservations(requests: readonly WorkRequest[]): void {
  const { kvLiveShare, peakPerS } = PUBLISHED;
  const engines = 2;
  console.log("\nBy what is reserved for each request (Azure hour, 2 engines)");
  printLine(["reserved", "live of it", "too long", "static, all", "chunked, all", "ratio"]);
  const perS = ({ finished, endUs }: Replay): number => (finished * US_PER_S) / endUs;
  const live = ({ totals }: Replay): string =>
    `${((100 * totals.liveTokenSteps) / totals.reservedTokenSteps).toFixed(1)} %`;
  for (const contextMax of [2_048, 3_072, 4_096, 8_192, 16_384]) {
    const reserved = { ...WHOLE, memory: "contiguous", contextMax } as const;
    const contiguous = run({ requests, engines, levers: reserved });
    // Of those that fit, so that both ends of the ratio carry the same.
    const fitting = requests.filter((one) => one.promptTokens + one.outputTokens <= contextMax);
    const atOnce = { requests: fitting, engines, speed: AT_ONCE };
    const before = perS(run({ ...atOnce, levers: { ...STATIC, contextMax } }));
    const after = perS(run({ ...atOnce, levers: { contextMax } }));
    printLine([
      `${contextMax}`,
      live(contiguous),
      String(contiguous.offered - contiguous.finished),
      `${before.toFixed(1)}/s`,
      `${after.toFixed(1)}/s`,
      times(after / before),
    ]);
  }
  printLine(["16 (pages)", live(run({ requests, engines, levers: WHOLE })), "0"]);
  const { before, after, ratio } = peakPerS;
  const shares = `${100 * kvLiveShare.before} → ${100 * kvLiveShare.after} %`;
  printLine(["published", shares, "", `${before}/s`, `${after}/s`, times(ratio)]);
}
