/**
 * The demo as one result document: a ladder on an hour of real traffic, a second one on a trace with shared prefixes, two
 * levers that are not for everybody, and real HTTP traffic through a real gateway to a live engine. Everything virtual repeats to the last digit for a seed.
 */
import type { Clock } from "../clock/index.ts";
import { US_PER_S } from "../core/index.ts";
import {
  makeDocument,
  type ResultComparison,
  type ResultDocument,
  type ResultRun,
  type Trace,
} from "../load/index.ts";
import {
  BATCHING_RUNGS,
  FURTHER_RUNGS,
  type LadderOptions,
  PREFIX_RUNGS,
  runLadder,
} from "./ladder.ts";
import { BATCHING_ROWS, FURTHER_ROWS, ladderComparison, PREFIX_ROWS } from "./ladder-table.ts";
import { liveComparison, runLivePath } from "./live-path.ts";

export interface DemoOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** An hour of requests with times and lengths. */
  readonly hour: Trace;
  /** Requests that name their prompts' pieces. */
  readonly shared: Trace;
  /** Seconds of real traffic; 0 leaves the live part out. */
  readonly liveS: number;
  readonly command: string;
  readonly interrupt?: AbortSignal;
  readonly onProgress?: (text: string, share: number) => void;
}

/** Shares of the whole that the parts take on a small machine; only a progress line needs them. */
const PARTS = { hour: 0.39, shared: 0.13, further: 0.04, live: 0.44 } as const;

export async function runDemo(options: DemoOptions): Promise<ResultDocument> {
  const startedMs = options.clock.wallMs();
  const comparisons: ResultComparison[] = [];
  const runs: ResultRun[] = [];
  const isStopped = (): boolean => options.interrupt?.aborted === true;

  const parts: (() => Promise<void>)[] = [
    () => addHour(options, runs, comparisons),
    () => addShared(options, runs, comparisons),
    () => addFurther(options, runs, comparisons),
    () => addLive(options, runs, comparisons),
  ];
  for (const part of parts) {
    try {
      await part();
    } catch (thrown) {
      if (!isStopped()) throw thrown;
    }
    if (isStopped()) break;
  }
  return makeDocument({
    kind: "demo",
    clock: options.clock,
    startedMs,
    command: options.command,
    status: isStopped() ? "partial" : "complete",
    runs,
    comparisons,
    notes: notes(options),
    next: "npx manx engine, and in another terminal: npx manx load --url http://127.0.0.1:8000",
  });
}

async function addHour(
  options: DemoOptions,
  runs: ResultRun[],
  comparisons: ResultComparison[],
): Promise<void> {
  const { comparison, runs: measured } = await hourLadder({
    hour: options.hour,
    ...ladderOptions(options, options.hour, 0, PARTS.hour),
  });
  comparisons.push(comparison);
  runs.push(...measured);
}

export interface HourOptions extends Pick<LadderOptions, "seed" | "onStep"> {
  readonly hour: Trace;
}

/** The first table of the demo, and the runs behind it. */
export async function hourLadder(
  options: HourOptions,
): Promise<{ comparison: ResultComparison; runs: ResultRun[] }> {
  const { hour, ...rest } = options;
  const ladder = await runLadder({
    ...rest,
    requests: hour.requests,
    workload: `Azure LLM 2023 conversation, ${describe(hour)}`,
    rungs: BATCHING_RUNGS,
  });
  const title = "One hour of real traffic, one lever at a time";
  return {
    comparison: ladderComparison(ladder, title, BATCHING_ROWS),
    runs: ladder.rungs.flatMap(({ run }) => (run === null ? [] : [run])),
  };
}

async function addShared(
  options: DemoOptions,
  runs: ResultRun[],
  comparisons: ResultComparison[],
): Promise<void> {
  const ladder = await runLadder({
    ...ladderOptions(options, options.shared, PARTS.hour, PARTS.shared),
    workload: `Mooncake conversation, ${describe(options.shared)}`,
    prefix: "shared prefixes: ",
    rungs: PREFIX_RUNGS,
  });
  comparisons.push(
    ladderComparison(ladder, "Prompts that begin alike: prefix cache and routing", PREFIX_ROWS),
  );
  for (const { run } of ladder.rungs) if (run !== null) runs.push(run);
}

/** On as many engines as the first table, and on two at least, since fewer cannot be split. */
async function addFurther(
  options: DemoOptions,
  runs: ResultRun[],
  comparisons: ResultComparison[],
): Promise<void> {
  const engines = Number(runs[0]?.conditions.setup.replicas ?? 1);
  const ladder = await runLadder({
    ...ladderOptions(options, options.hour, PARTS.hour + PARTS.shared, PARTS.further),
    workload: `Azure LLM 2023 conversation, ${describe(options.hour)}`,
    prefix: "further: ",
    rungs: FURTHER_RUNGS,
    replicas: Math.max(2, engines),
    rates: false,
  });
  const title = "What else moves the tail: speculation, and prefill and decode apart";
  comparisons.push(ladderComparison(ladder, title, FURTHER_ROWS, "alone"));
  for (const { run } of ladder.rungs) if (run !== null) runs.push(run);
}

async function addLive(
  options: DemoOptions,
  runs: ResultRun[],
  comparisons: ResultComparison[],
): Promise<void> {
  if (options.liveS === 0) return;
  const { clock, seed, onProgress, interrupt } = options;
  const live = await runLivePath({
    clock,
    seed,
    requests: options.hour.requests,
    durationUs: options.liveS * US_PER_S,
    ...(interrupt !== undefined && { interrupt }),
    onProgress: (share, text) => onProgress?.(`live: ${text}`, 1 - PARTS.live + share * PARTS.live),
  });
  runs.push(...live);
  comparisons.push(liveComparison(live));
}

function ladderOptions(
  options: DemoOptions,
  trace: Trace,
  from: number,
  share: number,
): Pick<LadderOptions, "requests" | "seed" | "onStep"> {
  return {
    requests: trace.requests,
    seed: options.seed,
    onStep: async (text, done, of) => {
      options.onProgress?.(`virtual: ${text}`, from + (done / of) * share);
      // The replays hold the event loop; between two of them an interrupt gets its turn.
      await options.clock.sleepUntil(options.clock.nowUs());
      options.interrupt?.throwIfAborted();
    },
  };
}

function describe(trace: Trace): string {
  const { requests } = trace;
  const n = requests.length;
  const mean = (of: (request: (typeof requests)[number]) => number): number =>
    Math.round(requests.reduce((sum, request) => sum + of(request), 0) / Math.max(1, n));
  const minutes = Math.round((requests.at(-1)?.atUs ?? 0) / (60 * US_PER_S));
  const tokens = `mean ${mean((r) => r.promptTokens)} tokens in, ${mean((r) => r.outputTokens)} out`;
  return `${n} requests in ${minutes} min, ${tokens}`;
}

function notes(options: DemoOptions): ResultDocument["notes"] {
  const all: ResultDocument["notes"] = [
    {
      level: "info",
      text: "virtual runs replay the traces' own times and lengths: they do not depend on the seed and repeat to the last digit",
    },
    {
      level: "info",
      text: "the twin prices steps from data sheets: read ratios, not absolute times; npm run bench:engine and the parity tests say how far it is from measured engines",
    },
    {
      level: "info",
      text: "engines are counted by rule: the fewest with which the first rung carries the trace at all",
    },
  ];
  for (const trace of [options.hour, options.shared]) {
    if (trace.setAside === 0) continue;
    all.push({ level: "warn", text: `${trace.path}: ${trace.setAside} malformed rows set aside` });
  }
  return all;
}
