/**
 * A measured function of several variables: linear between neighbouring measurements, axis by axis from the first to the
 * last, and the last segment extended outside. Each value of an axis has axes of its own below it, since no profile
 * measures every combination (no decodes, then no KV length of decodes). An axis with a single value does not matter.
 */
import { assert } from "../core/index.ts";

/** Ascending places of one axis, and below each the next axis or, on the last, the value. */
interface Axis {
  readonly places: readonly number[];
  readonly below: readonly (Axis | number)[];
}

export class MeasuredGrid {
  readonly #root: Axis;
  readonly #depth: number;

  /** Rows of coordinates and, last, the value. Of equal coordinates the mean is taken. */
  constructor(rows: readonly (readonly number[])[]) {
    assert(rows.length > 0, "a grid has measurements");
    this.#depth = rows[0]!.length - 1;
    assert(this.#depth >= 1, "a grid has an axis");
    this.#root = axisOf(rows, 0, this.#depth);
  }

  /** One coordinate for each axis. */
  at(...coordinates: readonly number[]): number {
    assert(coordinates.length === this.#depth, "a coordinate for each axis");
    return along(this.#root, coordinates, 0);
  }

  /** Measured places of the first axis, ascending. */
  get places(): readonly number[] {
    return this.#root.places;
  }

  /** All places of the last axis, wherever they were measured, ascending. */
  get lastPlaces(): readonly number[] {
    const places = new Set<number>();
    collectLast(this.#root, places);
    return [...places].sort((a, b) => a - b);
  }
}

function collectLast(axis: Axis, places: Set<number>): void {
  axis.places.forEach((place, i) => {
    const below = axis.below[i]!;
    if (typeof below === "number") places.add(place);
    else collectLast(below, places);
  });
}

function axisOf(rows: readonly (readonly number[])[], axis: number, depth: number): Axis {
  const groups = new Map<number, (readonly number[])[]>();
  for (const row of rows) {
    const group = groups.get(row[axis]!);
    if (group === undefined) groups.set(row[axis]!, [row]);
    else group.push(row);
  }
  const places = [...groups.keys()].sort((a, b) => a - b);
  const below = places.map((place) => {
    const group = groups.get(place)!;
    if (axis + 1 < depth) return axisOf(group, axis + 1, depth);
    return group.reduce((sum, row) => sum + row[depth]!, 0) / group.length;
  });
  return { places, below };
}

function along(axis: Axis | number, coordinates: readonly number[], depth: number): number {
  if (typeof axis === "number") return axis;
  const { places, below } = axis;
  if (places.length === 1) return along(below[0]!, coordinates, depth + 1);
  const x = coordinates[depth]!;
  const i = segmentOf(places, x);
  const share = (x - places[i]!) / (places[i + 1]! - places[i]!);
  if (share === 0) return along(below[i]!, coordinates, depth + 1);
  if (share === 1) return along(below[i + 1]!, coordinates, depth + 1);
  const left = along(below[i]!, coordinates, depth + 1);
  return left + share * (along(below[i + 1]!, coordinates, depth + 1) - left);
}

/** Index of the segment that holds x, or of the one nearest to it. */
function segmentOf(places: readonly number[], x: number): number {
  let low = 0;
  let high = places.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (places[middle]! <= x) low = middle;
    else high = middle - 1;
  }
  return low;
}
