/**
 * `npm run bench:faults`: every cell of the fault matrix over real sockets, with what the caller saw and how long it
 * took beside the gateway's own limit. Options: `--only TEXT` for cells whose title has it, `--at-once N`, `--all` to print
 * the cells that are as expected too.
 */
import { parseArgs } from "node:util";
import { type CellResult, titleOf } from "../test/support/fault-cell.ts";
import { allCells, playCells, shortCells } from "../test/support/fault-matrix.ts";
import { OWN_CELLS } from "../test/support/fault-own-cells.ts";
import { playOwnCell } from "../test/support/fault-own-world.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    "at-once": { type: "string", default: "4" },
    all: { type: "boolean", default: false },
  },
});
const GRACE_MS = 100;

function isAsExpected({ expected, seen, left }: CellResult): boolean {
  return seen === expected && left.length === 0;
}

function line(result: CellResult): string {
  const { cell, expected, seen, tookMs, left } = result;
  const lateMs = tookMs - cell.fault.limitMs;
  const parts = [
    isAsExpected(result) ? "ok  " : "FAIL",
    `${tookMs.toFixed(0).padStart(5)} ms of ${String(cell.fault.limitMs).padStart(4)}`,
    lateMs > GRACE_MS ? "late" : "    ",
    expected.padEnd(8),
    titleOf(cell),
  ];
  if (seen !== expected) parts.push(`\n     saw ${seen.slice(0, 400)}`);
  if (left.length > 0) parts.push(`\n     left ${left.join("; ")}`);
  return parts.join("  ");
}

// What is compiled on first use must not count as anybody's delay.
await playCells(shortCells().slice(0, 8), 2);
const cells = allCells().filter((cell) => titleOf(cell).includes(values.only));
const own: { isAsExpected: boolean; isLate: boolean }[] = [];
const results = await playCells(cells, Number(values["at-once"]), (result) => {
  const isLate = result.tookMs - result.cell.fault.limitMs > GRACE_MS;
  if (values.all || !isAsExpected(result) || isLate) console.log(line(result));
});
for (const cell of OWN_CELLS.filter(({ name }) => name.includes(values.only))) {
  const { seen, expected, tookMs, limitMs, left, name } = await playOwnCell(cell);
  own.push({
    isAsExpected: seen === expected && left.length === 0,
    isLate: tookMs > limitMs + GRACE_MS,
  });
  const { isAsExpected: isWell, isLate } = own.at(-1)!;
  if (isWell && !isLate && !values.all) continue;
  const took = `${tookMs.toFixed(0).padStart(5)} ms of ${String(limitMs).padStart(4)}`;
  console.log(
    `${isWell ? "ok  " : "FAIL"}  ${took}  ${expected}  ${name}: ${seen} ${left.join("; ")}`,
  );
}
const count = (test: (result: CellResult) => boolean): number => results.filter(test).length;
console.log(`\n${results.length} cells
${count(isAsExpected)} as expected
${count(({ seen }) => seen.startsWith("TRUNCATED"))} truncated answers taken for whole
${count(({ left }) => left.length > 0)} with something left behind
${count(({ cell, tookMs }) => tookMs > cell.fault.limitMs + GRACE_MS)} later than their limit + ${GRACE_MS} ms`);
for (const verdict of ["whole", "status", "in-band", "passed"]) {
  console.log(`${count(({ seen }) => seen === verdict)} ended ${verdict}`);
}
const well = own.filter((one) => one.isAsExpected).length;
console.log(`
${own.length} cells of the caller's or the gateway's own making
${well} as expected
${own.filter(({ isLate }) => isLate).length} later than their limit + ${GRACE_MS} ms`);
process.exit(count(isAsExpected) === results.length && well === own.length ? 0 : 1);
