/**
 * Graphs of tool calls in the shapes of LLMCompiler's loads (arXiv 2312.04511: parallel questions with 2 to 5 branches, eight
 * films side by side, chains and mixtures), against one call after the other and against waves, which is what plan-and-execute
 * loops do: all that is ready starts, and the next wave begins when the last of it is done.
 *
 *  1. in simulated time, exactly: end to end over the critical path, and over serial, with log-normal tool times;
 *  2. in real time: what the scheduler itself costs per task.
 *
 *     npm run bench:tool-graph [-- --graphs 10000]
 */
import { parseArgs } from "node:util";
import { Random, SimClock } from "../src/clock/index.ts";
import { type GraphTask, runGraph } from "../src/runtime/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";

const { values } = parseArgs({ options: { graphs: { type: "string", default: "10000" } } });
const graphs = Number(values.graphs);

type Shape = ReadonlyArray<readonly number[]>;

/** Needs of each task, by index; tasks come after what they need. */
const SHAPES: Readonly<Record<string, Shape>> = {
  "branch 2 + join": [[], [], [0, 1]],
  "branch 3 + join": [[], [], [], [0, 1, 2]],
  "branch 5 + join": [[], [], [], [], [], [0, 1, 2, 3, 4]],
  "8 wide": [[], [], [], [], [], [], [], []],
  "chain of 4": [[], [0], [1], [2]],
  "2 chains of 3 + join": [[], [0], [1], [], [3], [4], [2, 5]],
  mixed: [[], [0], [0], [1], [1, 2], [2], [3, 4, 5]],
};

const MEDIAN_MS = 500;

function durationsUs(shape: Shape, random: Random): number[] {
  return shape.map(() => Math.round(MEDIAN_MS * Math.exp(0.6 * random.normal()) * 1_000));
}

function criticalUs(shape: Shape, tookUs: readonly number[]): number {
  const ends: number[] = [];
  for (const [i, needs] of shape.entries()) {
    ends.push(tookUs[i]! + Math.max(0, ...needs.map((need) => ends[need]!)));
  }
  return Math.max(...ends);
}

function wavesUs(shape: Shape, tookUs: readonly number[]): number {
  const done = new Set<number>();
  let totalUs = 0;
  while (done.size < shape.length) {
    const wave = [...shape.keys()].filter(
      (i) => !done.has(i) && shape[i]!.every((need) => done.has(need)),
    );
    totalUs += Math.max(...wave.map((i) => tookUs[i]!));
    for (const i of wave) done.add(i);
  }
  return totalUs;
}

async function simulatedUs(shape: Shape, tookUs: readonly number[]): Promise<number> {
  const clock = new SimClock();
  const tasks: Record<string, GraphTask> = {};
  for (const [i, needs] of shape.entries()) {
    tasks[`t${i}`] = {
      needs: needs.map((need) => `t${need}`),
      run: () => clock.sleepUntil(clock.nowUs() + tookUs[i]!),
    };
  }
  const outcome = runGraph(tasks, { clock });
  await clock.run();
  return (await outcome).wallUs;
}

/** A random graph of up to 20 tasks, each with up to three needs. */
function randomShape(random: Random): Shape {
  return Array.from({ length: 2 + random.int(19) }, (_, i) => {
    const needs = Array.from({ length: i === 0 ? 0 : random.int(4) }, () => random.int(i));
    return [...new Set(needs)];
  });
}

const median = (all: number[]): number => sampleQuantile(Float64Array.from(all).sort(), 0.5).value;

async function shapes(): Promise<void> {
  const rounds = 200;
  console.log(`tool times log-normal, median ${MEDIAN_MS} ms, σ 0.6; medians of ${rounds} draws`);
  console.log("  shape                   over critical path   serial / Manx   waves / Manx");
  for (const [name, shape] of Object.entries(SHAPES)) {
    const random = new Random(1, name);
    const [stretch, serial, waves]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      const tookUs = durationsUs(shape, random);
      const oursUs = await simulatedUs(shape, tookUs);
      stretch.push(oursUs / criticalUs(shape, tookUs));
      serial.push(tookUs.reduce((sum, us) => sum + us, 0) / oursUs);
      waves.push(wavesUs(shape, tookUs) / oursUs);
    }
    const even = shape.length / depthOf(shape);
    console.log(
      `  ${name.padEnd(24)} ${Math.max(...stretch).toFixed(3)}× at most     ` +
        `${median(serial).toFixed(2)}× (${even.toFixed(1)}× if all took as long)   ${median(waves).toFixed(2)}×`,
    );
  }
  let worst = 0;
  const random = new Random(1, "random graphs");
  for (let graph = 0; graph < graphs; graph += 1) {
    const shape = randomShape(random);
    const tookUs = durationsUs(shape, random);
    worst = Math.max(worst, (await simulatedUs(shape, tookUs)) / criticalUs(shape, tookUs));
  }
  console.log(`  ${graphs} random graphs          ${worst.toFixed(3)}× at most (goal 1.05×)`);
}

function depthOf(shape: Shape): number {
  return criticalUs(
    shape,
    shape.map(() => 1),
  );
}

async function cost(): Promise<void> {
  const tasks: Record<string, GraphTask> = {};
  const random = new Random(1, "wide");
  for (let i = 0; i < 2_000; i += 1) {
    const needs = i < 10 ? [] : [`t${random.int(i)}`, `t${random.int(i)}`];
    tasks[`t${i}`] = { needs: [...new Set(needs)], run: () => Promise.resolve(i) };
  }
  const perTaskUs: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const start = performance.now();
    await runGraph(tasks);
    perTaskUs.push(((performance.now() - start) * 1_000) / 2_000);
  }
  console.log(
    `\nscheduling alone, 2,000 tasks: ${Math.min(...perTaskUs).toFixed(1)} µs a task at best, ` +
      `median ${median(perTaskUs).toFixed(1)} (goal 50 µs)`,
  );
  const real: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    const { wallUs, criticalPathUs } = await runGraph(realTasks());
    real.push(wallUs / criticalPathUs);
  }
  console.log(
    `eight timers of 30 to 60 ms in the mixed shape, real time: ${median(real).toFixed(3)}× critical path`,
  );
}

function realTasks(): Record<string, GraphTask> {
  const tasks: Record<string, GraphTask> = {};
  for (const [i, needs] of SHAPES.mixed!.entries()) {
    tasks[`t${i}`] = {
      needs: needs.map((need) => `t${need}`),
      run: () => new Promise((resolve) => setTimeout(resolve, 30 + 5 * i)),
    };
  }
  return tasks;
}

await shapes();
await cost();
