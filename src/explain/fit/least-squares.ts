/**
 * Weighted least squares with no coefficient below zero and each held to where it came from by a weak spring, so that what
 * the rows do not determine stays what it was. Solved on the normal equations by coordinate descent, which for a handful
 * of unknowns is exact to the last digits, deterministic, and keeps the bound by itself.
 */
import { assert } from "../../core/index.ts";

export interface Spring {
  /** Where each unknown rests. */
  readonly rest: readonly number[];
  /** How far from there costs `strength`; above 0. */
  readonly scale: readonly number[];
  /** In units of a row's squared error. */
  readonly strength: number;
}

const SWEEPS_MAX = 2_000;
const TOLERANCE = 1e-10;

export class LeastSquares {
  readonly unknowns: number;
  /** Σ w · x · xᵀ, row by row. */
  readonly #gram: Float64Array;
  /** Σ w · x · y. */
  readonly #target: Float64Array;
  /** Σ w · y². */
  #squares = 0;

  constructor(unknowns: number) {
    this.unknowns = unknowns;
    this.#gram = new Float64Array(unknowns * unknowns);
    this.#target = new Float64Array(unknowns);
  }

  /** One observation: Σ xᵢ · unknownᵢ should be `y`. */
  add(x: Float64Array, y: number, weight: number): void {
    const n = this.unknowns;
    this.#squares += weight * y * y;
    for (let i = 0; i < n; i += 1) {
      const wx = weight * x[i]!;
      if (wx === 0) continue;
      this.#target[i]! += wx * y;
      for (let j = 0; j < n; j += 1) this.#gram[i * n + j]! += wx * x[j]!;
    }
  }

  gram(i: number, j: number): number {
    return this.#gram[i * this.unknowns + j]!;
  }

  /**
   * By unknown, how much of what is known of it comes from the rows, 0 to 1, the others being free: near 0 where the rows
   * have nothing of it or cannot tell it from another, so that it is the spring that holds it.
   */
  shares({ scale, strength }: Spring): number[] {
    const n = this.unknowns;
    const stiff = scale.map((one) => strength / one ** 2);
    // In units of the scale, since the unknowns differ by eight powers of ten.
    const rows = Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => this.gram(i, j) * scale[i]! * scale[j]!),
    );
    for (let i = 0; i < n; i += 1) rows[i]![i]! += strength;
    const variance = inverseDiagonal(rows);
    return stiff.map((one, i) => 1 - one * variance[i]! * scale[i]! ** 2);
  }

  /** Σ w · error² of these values. */
  squares(values: readonly number[]): number {
    let sum = this.#squares;
    for (let i = 0; i < this.unknowns; i += 1) {
      sum -= 2 * values[i]! * this.#target[i]!;
      for (let j = 0; j < this.unknowns; j += 1) sum += values[i]! * this.gram(i, j) * values[j]!;
    }
    return Math.max(0, sum);
  }

  solve({ rest, scale, strength }: Spring): number[] {
    const n = this.unknowns;
    assert(rest.length === n && scale.length === n, "a spring for each unknown");
    const stiff = scale.map((one) => strength / one ** 2);
    const found = [...rest];
    for (let sweep = 0; sweep < SWEEPS_MAX; sweep += 1) {
      let moved = 0;
      for (let i = 0; i < n; i += 1) {
        let pull = this.#target[i]! + stiff[i]! * rest[i]!;
        for (let j = 0; j < n; j += 1) if (j !== i) pull -= this.gram(i, j) * found[j]!;
        const next = Math.max(0, pull / (this.gram(i, i) + stiff[i]!));
        moved = Math.max(moved, Math.abs(next - found[i]!) / scale[i]!);
        found[i] = next;
      }
      if (moved < TOLERANCE) break;
    }
    return found;
  }
}

/** Of a symmetric, positive matrix, by elimination; it is used up. */
function inverseDiagonal(matrix: number[][]): number[] {
  const n = matrix.length;
  const inverse = matrix.map((_, i) => matrix.map((_, j) => (i === j ? 1 : 0)));
  for (let pivot = 0; pivot < n; pivot += 1) {
    const by = 1 / matrix[pivot]![pivot]!;
    for (let j = 0; j < n; j += 1) {
      matrix[pivot]![j]! *= by;
      inverse[pivot]![j]! *= by;
    }
    for (let i = 0; i < n; i += 1) {
      const factor = matrix[i]![pivot]!;
      if (i === pivot || factor === 0) continue;
      for (let j = 0; j < n; j += 1) {
        matrix[i]![j]! -= factor * matrix[pivot]![j]!;
        inverse[i]![j]! -= factor * inverse[pivot]![j]!;
      }
    }
  }
  return inverse.map((row, i) => row[i]!);
}
