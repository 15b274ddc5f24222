/**
 * The before-and-after table that Manx is held against, as a ladder with a band: each lever alone on top of the one
 * before, on five samples of each trace; then where each published figure is reached and where it is not, and by which
 * set-up. Run: npm run bench:results [-- --seeds 5 --hour FILE --shared FILE]
 *
 * The band is over samples, not over the simulator, which repeats to the last digit.
 */
import { parseArgs } from "node:util";
import { formatUs, US_PER_S } from "../src/core/index.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../src/engine/index.ts";
import { planPools } from "../src/explain/index.ts";
import { readTrace, type WorkRequest } from "../src/load/index.ts";
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
import { type Figures, printReached, printRows } from "./results/figures.ts";
import { redrawMinutes, type Sample, thin } from "./results/samples.ts";
import { printReservations, printSizes } from "./results/setups.ts";

/** Beside this one, which stands for "no lever", the further rungs are alternatives: each on top of the whole ladder. */
const [, SPECULATION, SPLIT] = FURTHER_RUNGS as [Rung, Rung, Rung];
const PUBLISHED_ROWS = BATCHING_ROWS.filter(({ published }) => published !== null);
const PREFIX_ONLY = PREFIX_ROWS.slice(0, 2);

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "5" },
    hour: { type: "string", default: "data/azure-llm-2023/conversation.csv.gz" },
    shared: { type: "string", default: "data/mooncake-fast25/conversation-1000.jsonl.gz" },
  },
});
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);

interface Plan {
  readonly title: string;
  readonly path: string;
  readonly sample: Sample;
  readonly rungs: readonly Rung[];
  readonly rows: readonly RowPlan[];
}

async function printLadder({ title, path, sample, rungs, rows }: Plan): Promise<Figures> {
  const { requests } = await readTrace(path);
  // Of the trace as it is: a sample without its longest request would be reserved half as much.
  const base = { ...ENGINE_DEFAULTS, contextMax: contextFor(requests) };
  const engines = Math.max(2, (await sized(requests, rungs)).replicas);
  const tables: Figures["tables"][number][] = [];
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
  const setup = `${engines} × (${ENGINE_DEFAULTS.ranks} × ${ENGINE_DEFAULTS.gpu}), ${ENGINE_DEFAULTS.model}`;
  console.log(`\n${title}: ${requests.length} requests, ${rate.toFixed(2)}/s offered`);
  console.log(`  ${setup}; median and band of ${seeds.length} samples`);
  const figures = {
    title: `${title}, ${rate.toFixed(2)}/s on ${setup}`,
    rungs: rungs.map((rung) => rung.title),
    rows,
    tables,
  };
  printRows(figures);
  printPools(title, requests, engines, base);
  return figures;
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

/** One of the further rungs on top of all others. */
function onTop({ title, levers }: Rung, top: Rung): Rung {
  const { speculation, split } = levers ?? {};
  return {
    title,
    levers: {
      ...top.levers,
      ...(speculation !== undefined && { speculation }),
      ...(split !== undefined && { split }),
    },
  };
}

const azure = await printLadder({
  title: "Azure LLM 2023 conversation",
  path: values.hour,
  sample: redrawMinutes,
  rungs: [...BATCHING_RUNGS, SPECULATION, SPLIT],
  rows: BATCHING_ROWS,
});
const top = PREFIX_RUNGS.at(-1)!;
const mooncake = await printLadder({
  title: "Mooncake conversation",
  path: values.shared,
  sample: thin,
  // The first of the prefix rungs is the last of the batching ones.
  rungs: [...BATCHING_RUNGS, ...PREFIX_RUNGS.slice(1), onTop(SPECULATION, top), onTop(SPLIT, top)],
  rows: [...PUBLISHED_ROWS, ...PREFIX_ONLY],
});
printReached([azure, mooncake]);
const { requests } = await readTrace(values.hour);
printSizes(requests);
printReservations(requests);
