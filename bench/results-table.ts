/**
 * The before-and-after table that Manx is held against, as a ladder with a band: each lever alone on top of the one
 * before, on five samples of each trace. Run: npm run bench:results [-- --seeds 5 --hour FILE --shared FILE]
 *
 * The band is over samples, not over the simulator, which repeats to the last digit. The Azure hour is drawn anew minute
 * by minute with replacement: rate and lengths stay, bursts come in another order. Of the Mooncake trace each sample keeps
 * nine requests in ten: drawing one twice would be a prefix hit that nobody had.
 */
import { parseArgs } from "node:util";
import { Random } from "../src/clock/index.ts";
import { formatUs, US_PER_S } from "../src/core/index.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../src/engine/index.ts";
import { planPools } from "../src/explain/index.ts";
import { type ResultComparison, readTrace, replay, type WorkRequest } from "../src/load/index.ts";
import {
  BATCHING_RUNGS,
  contextFor,
  FURTHER_RUNGS,
  PREFIX_RUNGS,
  type Rung,
  runLadder,
} from "../src/scenario/ladder.ts";
import {
  BATCHING_ROWS,
  ladderComparison,
  PREFIX_ROWS,
  type RowPlan,
} from "../src/scenario/ladder-table.ts";
import { PUBLISHED } from "../src/scenario/published.ts";

const MINUTE_US = 60 * US_PER_S;
const KEPT_SHARE = 0.9;
/** Beside this one, which stands for "no lever", the further rungs are alternatives: each on top of the whole ladder. */
const [, SPECULATION, SPLIT] = FURTHER_RUNGS as [Rung, Rung, Rung];

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "5" },
    hour: { type: "string", default: "data/azure-llm-2023/conversation.csv.gz" },
    shared: { type: "string", default: "data/mooncake-fast25/conversation-1000.jsonl.gz" },
  },
});
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);

type Sample = (requests: readonly WorkRequest[], seed: number) => WorkRequest[];

/** As many minutes as the trace has, each a minute of it. */
const redrawMinutes: Sample = (requests, seed) => {
  const random = new Random(seed, "minutes");
  const minutes: WorkRequest[][] = [];
  for (const request of requests) {
    const minute = Math.floor(request.atUs / MINUTE_US);
    while (minutes.length <= minute) minutes.push([]);
    minutes[minute]!.push(request);
  }
  return minutes.flatMap((_, place) => {
    const drawn = random.int(minutes.length);
    const shiftUs = (place - drawn) * MINUTE_US;
    return minutes[drawn]!.map((request) => ({ ...request, atUs: request.atUs + shiftUs }));
  });
};

const thin: Sample = (requests, seed) => {
  const random = new Random(seed, "thinning");
  return requests.filter(() => random.next() < KEPT_SHARE);
};

interface Plan {
  readonly title: string;
  readonly path: string;
  readonly sample: Sample;
  readonly rungs: readonly Rung[];
  readonly rows: readonly RowPlan[];
}

async function printLadder({ title, path, sample, rungs, rows }: Plan): Promise<void> {
  const { requests } = await readTrace(path);
  // Of the trace as it is: a sample without its longest request would be reserved half as much.
  const base = { ...ENGINE_DEFAULTS, contextMax: contextFor(requests) };
  const engines = Math.max(2, (await sized(requests, rungs)).replicas);
  const tables: ResultComparison[] = [];
  for (const seed of seeds) {
    const ladder = await runLadder({
      requests: sample(requests, seed),
      workload: title,
      seed,
      rungs,
      replicas: engines,
      base,
    });
    tables.push(ladderComparison(ladder, title, rows));
  }
  const lastUs = requests.at(-1)!.atUs;
  const rate = (requests.length * US_PER_S) / lastUs;
  console.log(`\n${title}: ${requests.length} requests, ${rate.toFixed(2)}/s offered`);
  console.log(
    `  ${engines} × (${ENGINE_DEFAULTS.ranks} × ${ENGINE_DEFAULTS.gpu}), ${ENGINE_DEFAULTS.model}; ` +
      `median and band of ${seeds.length} samples`,
  );
  for (const row of rows) printRow(row, rungs, tables);
  printPools(title, requests, engines, base);
}

/** Every split of the engines, under the limits of MLPerf's chat server, and the same engines unsplit. */
function printPools(
  workload: string,
  requests: readonly WorkRequest[],
  engines: number,
  config: EngineConfig,
): void {
  const limits = { ttftUs: 2 * US_PER_S, tpotUs: 200_000 };
  const link = "infiniband-400g";
  const plan = planPools({ config, engines, link, requests, workload, limits });
  console.log("  split of the engines, the trace as it is, TTFT p99 ≤ 2 s and TPOT p99 ≤ 200 ms");
  for (const { text, strain, ttftP99Us, tpotP99Us } of [plan.together, ...plan.splits]) {
    console.log(
      `    ${text.padEnd(46)} TTFT p99 ${formatUs(ttftP99Us)}, TPOT p99 ${formatUs(tpotP99Us)}, ` +
        `${strain.toPrecision(3)} of the limits`,
    );
  }
  console.log(`    recommended: ${plan.text}`);
}

/** The rule of the demo, on the trace as it is, so that all samples meet the same engines. */
function sized(requests: readonly WorkRequest[], rungs: readonly Rung[]) {
  return runLadder({ requests, workload: "", seed: 0, rungs: rungs.slice(0, 1), rates: false });
}

function printRow(row: RowPlan, rungs: readonly Rung[], tables: readonly ResultComparison[]): void {
  console.log(`  ${row.title}`);
  const figures = rungs.map((rung) =>
    tables.map((table) => {
      const found = table.rows.find(({ title }) => title === row.title);
      const at = table.columns.findIndex(({ title }) => title === rung.title);
      return found?.cells.find(({ run }) => run === table.columns[at]?.run)?.value ?? Number.NaN;
    }),
  );
  const before = figures[0]!;
  for (const [i, rung] of rungs.entries()) {
    const gains = figures[i]!.map((value, s) =>
      row.better === "lower" ? before[s]! / value : value / before[s]!,
    );
    const hasGain = i > 0 && gains.every(Number.isFinite);
    const gain = hasGain ? `${band(gains, times)} better than the first rung` : "";
    const published = !hasGain || row.published === null ? "" : verdict(gains, row.published.ratio);
    console.log(
      `    ${rung.title.padEnd(22)} ${band(figures[i]!, (value) => shown(row, value)).padEnd(36)} ${gain}${published}`,
    );
  }
}

/** Reached only if every sample does. */
function verdict(gains: readonly number[], published: number): string {
  const reached = gains.filter((gain) => gain >= published).length;
  const how = reached === gains.length ? "reached" : reached === 0 ? "not reached" : "in part";
  return `; published ${times(published)}: ${how}`;
}

function band(figures: readonly number[], show: (value: number) => string): string {
  const sorted = figures.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return "–";
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  return `${show(middle)} (${show(sorted[0]!)} to ${show(sorted.at(-1)!)})`;
}

function times(ratio: number): string {
  return `${Number(ratio.toPrecision(3))}×`;
}

function shown(row: RowPlan, value: number): string {
  if (row.unit === "us") return formatUs(value);
  if (row.unit === "share") return `${(100 * value).toPrecision(3)} %`;
  return `${value.toPrecision(3)}${row.unit === "per-s" ? "/s" : ""}`;
}

/** Under which set-up the published memory figure is reached: it is a point on a curve over the reserved length. */
async function printReservations(): Promise<void> {
  const { requests } = await readTrace(values.hour);
  const { before, after } = PUBLISHED.kvLiveShare;
  console.log("\nKV memory used by live tokens, by what is reserved for each request (Azure hour)");
  const share = (memory: "contiguous" | "paged", contextMax: number): void => {
    const done = replay({
      name: memory,
      requests,
      workload: "",
      arrivals: "",
      seed: null,
      replicas: 2,
      config: { ...ENGINE_DEFAULTS, scheduling: "continuous", memory, contextMax },
    });
    const { liveTokenSteps, reservedTokenSteps } = done.totals;
    const percent = ((100 * liveTokenSteps) / reservedTokenSteps).toFixed(1).padStart(5);
    const name = memory === "paged" ? "16-token pages" : `${contextMax} tokens`;
    console.log(
      `  ${name.padEnd(16)} ${percent} %   ${done.offered - done.finished} requests too long`,
    );
  };
  for (const contextMax of [2_048, 3_072, 4_096, 8_192, 16_384]) share("contiguous", contextMax);
  share("paged", 16_384);
  console.log(`  published        ${100 * before} % before, ${100 * after} % after`);
}

await printLadder({
  title: "Azure LLM 2023 conversation",
  path: values.hour,
  sample: redrawMinutes,
  rungs: [...BATCHING_RUNGS, SPECULATION, SPLIT],
  rows: BATCHING_ROWS,
});
await printLadder({
  title: "Mooncake conversation",
  path: values.shared,
  sample: thin,
  rungs: [
    ...PREFIX_RUNGS,
    {
      title: SPECULATION.title,
      levers: { ...PREFIX_RUNGS.at(-1)!.levers, ...withSpeculation(SPECULATION) },
    },
    { title: SPLIT.title, levers: { ...PREFIX_RUNGS.at(-1)!.levers, ...withSplit(SPLIT) } },
  ],
  rows: PREFIX_ROWS,
});
await printReservations();

function withSpeculation({ levers }: Rung): Rung["levers"] {
  return levers?.speculation === undefined ? null : { speculation: levers.speculation };
}

function withSplit({ levers }: Rung): Rung["levers"] {
  return levers?.split === undefined ? null : { split: levers.split };
}
