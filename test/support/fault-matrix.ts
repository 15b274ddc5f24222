/** All cells of the fault matrix, and a short selection in which every fault strikes in each of its phases. */
import type { Fault } from "./fault.ts";
import { type CellResult, type FaultCell, playCell } from "./fault-cell.ts";
import { FAULTS } from "./fault-list.ts";
import type { FaultPhase } from "./fault-wire.ts";

const WAYS = [
  { caller: "openai", api: "openai" },
  { caller: "responses", api: "responses" },
  { caller: "anthropic", api: "anthropic" },
  { caller: "openai", api: "anthropic" },
  { caller: "responses", api: "anthropic" },
  { caller: "anthropic", api: "openai" },
] as const;

/** Every fault, in every phase and mode that it has, on every way between caller and upstream, alone and with a spare. */
export function allCells(): FaultCell[] {
  return FAULTS.flatMap((fault) => pointsOf(fault).flatMap((point) => cellsAt(fault, point)));
}

type Point = Pick<FaultCell, "phase" | "isStream">;

function pointsOf(fault: Fault): Point[] {
  return fault.modes.flatMap((mode) =>
    fault.phases
      // A whole answer is held until it is whole: it has no "after content".
      .filter((phase) => mode === "stream" || !isLate(phase) || fault.phases.length === 1)
      .map((phase) => ({ phase, isStream: mode === "stream" })),
  );
}

function isLate(phase: FaultPhase): boolean {
  return phase === "after" || phase === "tool";
}

function cellsAt(fault: Fault, point: Point): FaultCell[] {
  // What does no harm needs no spare to show it.
  const spares = fault.alone === "whole" && fault.passes !== true ? [false] : [false, true];
  return WAYS.flatMap((way) => spares.map((hasSpare) => ({ fault, ...point, ...way, hasSpare })));
}

/** Streams of the responses API that break off after content: they are not gone on with, so the caller must be told. */
export function responsesCells(): FaultCell[] {
  return allCells().filter(
    ({ caller, phase, hasSpare, isStream }) =>
      caller === "responses" && isLate(phase) && isStream && !hasSpare,
  );
}

/** One cell for each fault, phase and spare; mode and way take turns. */
export function shortCells(): FaultCell[] {
  const groups = new Map<string, FaultCell[]>();
  for (const cell of allCells()) {
    const { fault, phase, hasSpare } = cell;
    const key = `${fault.name}/${phase}/${hasSpare}`;
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups.values()].map((group, at) => group[(at * 5) % group.length]!);
}

/** @param atOnce few: each cell has servers, a gateway and a client in this one process. */
export async function playCells(
  cells: readonly FaultCell[],
  atOnce: number,
  onResult: (result: CellResult) => void = () => undefined,
): Promise<CellResult[]> {
  const results: CellResult[] = new Array(cells.length);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cells.length) {
      const at = next;
      next += 1;
      results[at] = await playCell(cells[at]!);
      onResult(results[at]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}
