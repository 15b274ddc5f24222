/**
 * Repeats each recorded run of Vidur in full and prints how far ours is from it. The first departure of a run is printed
 * instead of its row, and makes the command fail. Run: npm run bench:fidelity, of which it is the first part.
 *
 * Seconds are of the second repetition, conservation checks included. They are about this machine, not about Vidur:
 * nobody ran it here.
 */
import { performance } from "node:perf_hooks";
import { GOLDEN_NAMES, type GoldenRun, readGolden, repeat } from "../test/parity/golden-run.ts";
import { repeatOnTwin } from "../test/parity/twin-run.ts";

const COLUMNS = [
  ["file", 26],
  ["policy", 20],
  ["requests", 10],
  ["steps", 8],
  ["restarts", 10],
  ["largest error", 15],
  ["s", 8],
  ["twin's own steps", 18],
] as const;

function line(cells: readonly string[]): string {
  const padded = cells.map((cell, i) => {
    const width = COLUMNS[i]![1];
    return i < 2 ? cell.padEnd(width) : cell.padStart(width);
  });
  return padded.join("");
}

function row(golden: GoldenRun): { cells: string[]; steps: number; seconds: number } {
  repeat(golden);
  const startMs = performance.now();
  const { requests, steps, restarts, timeErrorMax } = repeat(golden);
  const seconds = (performance.now() - startMs) / 1_000;
  const twin = repeatOnTwin(golden);
  const cells = [
    golden.name,
    golden.meta.scheduler,
    String(requests),
    String(steps),
    String(restarts.length),
    timeErrorMax === 0 ? "0" : timeErrorMax.toExponential(1),
    seconds.toFixed(2),
    twin.isWhole && twin.otherTimes === 0 ? "all" : `first ${twin.steps}`,
  ];
  return { cells, steps, seconds };
}

console.log("Each step: same members, order, tokens, start and price (===). Error: relative, of");
console.log("scheduled, first-token and completion time of every request; goal <= 1e-9.");
console.log("Last column: steps that the twin's own scheduler shares until its rules differ.\n");
console.log(line(COLUMNS.map(([name]) => name)));
let totalSteps = 0;
let totalS = 0;
for (const name of GOLDEN_NAMES) {
  try {
    const { cells, steps, seconds } = row(readGolden(name));
    totalSteps += steps;
    totalS += seconds;
    console.log(line(cells));
  } catch (error) {
    process.exitCode = 1;
    console.log(`${name.padEnd(26)}departs: ${error instanceof Error ? error.message : error}`);
  }
}
const rate = (totalSteps / totalS / 1e3).toFixed(0);
console.log(
  `\n${totalSteps} steps in ${totalS.toFixed(2)} s (${rate},000 steps/s), Node ${process.version}`,
);
