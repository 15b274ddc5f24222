/**
 * What is known of one call that follows a context: the shapes of its arguments, and for each value in them where it was
 * found in the turn before. Trained call by call; every guess is scored against what came before it is trained with it
 * (test, then train), so that its hit rate is honest without a second log.
 */
import { filled, type ShapedArguments } from "./argument-shape.ts";
import type { Scalar } from "./json-pointer.ts";
import type { TurnPast } from "./turn-past.ts";

/** For one value: how often it stood at each source. */
export type SourceCounts = Map<string, number>;

export interface PatternShape {
  count: number;
  readonly values: readonly SourceCounts[];
}

const SHAPES_MAX = 4;
const SOURCES_MAX = 12;
const CONSTANT_CHARS_MAX = 256;
/** What explains fewer of the values is chance. */
const SHARE_MIN = 0.25;
/** What moves with the turn explains more than what happens to be the same. */
const ROOTS = ["result:", "args:", "input:", "="] as const;

export class FollowPattern {
  readonly shapes: Map<string, PatternShape>;
  /** Times it came, guesses made, guesses that came true. */
  came: number;
  tries: number;
  hits: number;

  constructor(counts = { came: 0, tries: 0, hits: 0 }, shapes = new Map<string, PatternShape>()) {
    this.came = counts.came;
    this.tries = counts.tries;
    this.hits = counts.hits;
    this.shapes = shapes;
  }

  /** @returns the arguments of the next call as `{ args }`, or undefined if some value is nowhere to be found. */
  guess(past: TurnPast): { readonly args: unknown } | undefined {
    const [best] = [...this.shapes].sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1));
    if (best === undefined) return undefined;
    const [shape, { values, count: times }] = best;
    const found: Scalar[] = [];
    for (const sources of values) {
      const value = bestValue(sources, past, times * SHARE_MIN);
      if (value === undefined) return undefined;
      found.push(value);
    }
    return { args: filled(shape, found) };
  }

  score(isHit: boolean): void {
    this.tries += 1;
    if (isHit) this.hits += 1;
  }

  train({ shape, values }: ShapedArguments, past: TurnPast): void {
    this.came += 1;
    let known = this.shapes.get(shape);
    if (known === undefined) {
      if (this.shapes.size >= SHAPES_MAX) this.#dropRarest();
      known = { count: 0, values: values.map(() => new Map()) };
      this.shapes.set(shape, known);
    }
    known.count += 1;
    for (const [i, value] of values.entries()) {
      for (const source of sourcesOf(value, past)) count(known.values[i]!, source);
    }
  }

  /** Old habits fade. */
  halve(): void {
    this.came /= 2;
    this.tries /= 2;
    this.hits /= 2;
    for (const shape of this.shapes.values()) {
      shape.count /= 2;
      for (const sources of shape.values) {
        for (const [source, n] of sources) sources.set(source, n / 2);
      }
    }
  }

  #dropRarest(): void {
    const [rarest] = [...this.shapes].sort(([, x], [, y]) => x.count - y.count);
    if (rarest !== undefined) this.shapes.delete(rarest[0]);
  }
}

function sourcesOf(value: Scalar, past: TurnPast): readonly string[] {
  const constant = `=${JSON.stringify(value)}`;
  const found = past.whereIs(value);
  return constant.length <= CONSTANT_CHARS_MAX ? [...found, constant] : found;
}

function bestValue(sources: SourceCounts, past: TurnPast, countMin: number): Scalar | undefined {
  const ranked = [...sources].sort(
    ([a, x], [b, y]) => y - x || rootOf(a) - rootOf(b) || (a < b ? -1 : 1),
  );
  for (const [source, n] of ranked) {
    if (n < countMin) break;
    const value = past.at(source);
    if (value !== undefined && (typeof value !== "object" || value === null)) {
      return value as Scalar;
    }
  }
  return undefined;
}

function rootOf(source: string): number {
  return ROOTS.findIndex((root) => source.startsWith(root));
}

/** The rarest makes room, unless all have proved themselves. */
function count(sources: SourceCounts, source: string): void {
  const known = sources.get(source);
  if (known === undefined && sources.size >= SOURCES_MAX) {
    const [rarest] = [...sources].sort(([, x], [, y]) => x - y);
    if (rarest === undefined || rarest[1] > 1) return;
    sources.delete(rarest[0]);
  }
  sources.set(source, (known ?? 0) + 1);
}
