/**
 * The whole path over real sockets on loopback: load → gateway → live engine. Three clients share the arrivals at the same
 * time, request by request, so that all meet the same engine: one opens a connection for each request, one keeps them,
 * and one goes past the gateway, to show what that costs.
 */
import type { Clock } from "../clock/index.ts";
import { describeConfig, ENGINE_DEFAULTS, type EngineConfig } from "../engine/index.ts";
import { type EngineServer, startEngineServer } from "../engine-server/index.ts";
import { type Gateway, startGateway } from "../gateway/index.ts";
import {
  arrivalTimes,
  LiveTarget,
  type ResultComparison,
  type ResultRun,
  runOpenLoop,
  type WorkRequest,
} from "../load/index.ts";
import { percentileCell, type RowCell } from "./ladder-table.ts";

export interface LivePathOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** Lengths are taken from these, in order. */
  readonly requests: readonly WorkRequest[];
  readonly durationUs: number;
  readonly ratePerS?: number;
  readonly interrupt?: AbortSignal;
  readonly onProgress?: (share: number, text: string) => void;
}

/** Three streams on a small machine that also runs the gateway and the engine. */
const RATE_PER_S = 36;
/** Long enough for a stream to have a shape, short enough for many of them. */
const PROMPT_TOKENS_MAX = 512;
const OUTPUT_TOKENS_MAX = 32;
const WARM_CONNECTIONS = 8;
const WARM_UP_US = 3_000_000;

interface Path {
  readonly name: string;
  readonly via: "gateway" | "engine";
  readonly cold: boolean;
}

const PATHS: readonly Path[] = [
  { name: "live: gateway, new connections", via: "gateway", cold: true },
  { name: "live: gateway, kept connections", via: "gateway", cold: false },
  { name: "live: direct, kept connections", via: "engine", cold: false },
];

/** @returns a run for each of the three paths, in the order above. */
export async function runLivePath(options: LivePathOptions): Promise<ResultRun[]> {
  const { clock, seed } = options;
  const config: EngineConfig = { ...ENGINE_DEFAULTS };
  options.onProgress?.(0, "starting engine and gateway");
  const engine = await startEngineServer({ config, clock, port: 0, seed });
  let gateway: Gateway | undefined;
  try {
    gateway = await startGateway({ upstream: engine.url, clock, preconnect: WARM_CONNECTIONS });
    await warmUp(options, config, engine, gateway);
    return await sendAll(options, config, engine, gateway);
  } finally {
    await gateway?.close();
    await engine.close();
  }
}

/** The first traffic of a process pays for compiling all that it passes through: it is sent, and counted nowhere. */
async function warmUp(
  options: LivePathOptions,
  config: EngineConfig,
  engine: EngineServer,
  gateway: Gateway,
): Promise<void> {
  const durationUs = Math.min(WARM_UP_US, options.durationUs);
  const onProgress = (): void => options.onProgress?.(0, "warming up");
  await sendAll(
    { ...options, durationUs, seed: options.seed + 1, onProgress },
    config,
    engine,
    gateway,
  );
}

function sendAll(
  options: LivePathOptions,
  config: EngineConfig,
  engine: EngineServer,
  gateway: Gateway,
): Promise<ResultRun[]> {
  const workload = liveWorkload(options);
  return Promise.all(
    PATHS.map(async (path, index) => {
      const mine = workload.filter((_, i) => i % PATHS.length === index);
      const url = path.via === "gateway" ? gateway.url : engine.url;
      return sendOne(path, url, mine, options, config);
    }),
  );
}

async function sendOne(
  path: Path,
  url: string,
  requests: readonly WorkRequest[],
  options: LivePathOptions,
  config: EngineConfig,
): Promise<ResultRun> {
  const { clock, seed, durationUs, interrupt, onProgress, ratePerS = RATE_PER_S } = options;
  const target = new LiveTarget({
    url,
    clock,
    model: config.model,
    nonce: `demo${seed}${path.via}${path.cold ? "cold" : "kept"}`,
    seed,
    cold: path.cold,
    exactOutput: true,
  });
  if (!path.cold) await target.warm(WARM_CONNECTIONS);
  const startUs = clock.nowUs();
  try {
    return await runOpenLoop({
      name: path.name,
      world: "live",
      seed,
      clock,
      requests,
      spanUs: durationUs,
      target,
      conditions: {
        target: `twin behind ${path.via === "gateway" ? "the gateway" : "nothing"} on loopback`,
        arrivals: `Poisson, ${ratePerS}/s shared by ${PATHS.length} clients`,
        workload: `the trace's lengths, prompts cut to ${PROMPT_TOKENS_MAX} tokens and outputs to ${OUTPUT_TOKENS_MAX}`,
        temperature: path.cold ? "cold" : "warm",
        cacheMode: "off",
        setup: describeConfig(config),
      },
      ...(interrupt !== undefined && { signal: interrupt }),
      progressEveryUs: 200_000,
      onProgress: () => {
        const share = Math.min(1, (clock.nowUs() - startUs) / durationUs);
        onProgress?.(share, "load → gateway → engine");
      },
    });
  } finally {
    target.close();
  }
}

function liveWorkload(options: LivePathOptions): WorkRequest[] {
  const { seed, durationUs, ratePerS = RATE_PER_S, requests } = options;
  const workload: WorkRequest[] = [];
  for (const atUs of arrivalTimes({ process: "poisson", ratePerS, durationUs, seed })) {
    const shape = requests[workload.length % requests.length];
    if (shape === undefined) break;
    workload.push({
      atUs,
      promptTokens: Math.min(shape.promptTokens, PROMPT_TOKENS_MAX),
      outputTokens: Math.min(shape.outputTokens, OUTPUT_TOKENS_MAX),
      row: shape.row,
    });
  }
  return workload;
}

interface LiveRow {
  readonly title: string;
  readonly metric: string;
  readonly q: number;
  readonly remark: string;
}

const LIVE_ROWS: readonly LiveRow[] = [
  {
    title: "TTFT p50",
    metric: "ttftUs",
    q: 0.5,
    remark:
      "on loopback a new connection costs a fraction of a millisecond; over a network one to three round trips more",
  },
  {
    title: "TTFT p95",
    metric: "ttftUs",
    q: 0.95,
    remark: "the engine's own queue, the same for all three",
  },
  { title: "ITL p50", metric: "itlUs", q: 0.5, remark: "one step of the engine" },
  {
    title: "ITL p99",
    metric: "itlUs",
    q: 0.99,
    remark: "prompts of others in the step, and this machine's own jitter",
  },
  { title: "E2E p95", metric: "e2eUs", q: 0.95, remark: "" },
];

export function liveComparison(runs: readonly ResultRun[]): ResultComparison {
  return {
    title: "The whole path over real sockets, side by side",
    columns: runs.map((run) => ({
      run: run.name,
      title: run.name.replace("live: ", ""),
      status: "measured" as const,
    })),
    rows: LIVE_ROWS.map(({ title, metric, q, remark }) => ({
      title,
      unit: "us" as const,
      better: "lower" as const,
      cells: runs.map((run): RowCell => ({ run: run.name, ...percentileCell(run, metric, q) })),
      published: null,
      remark,
    })),
    source: "",
  };
}
