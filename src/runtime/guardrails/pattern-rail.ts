/**
 * Regular expressions. They are tried in this process, where nothing can stop one that backtracks: so only those are
 * taken whose worst case is plainly small, unless their author vouches for them.
 */
import { ManxError } from "../../core/index.ts";
import { isSurelyCheap, type Verdict } from "../../policy/guard/index.ts";
import { type Rail, type RailOptions, rail } from "./rail.ts";

export interface PatternRailOptions extends RailOptions {
  /** Text (flag `u`) or expressions of one's own. */
  readonly patterns: readonly (string | RegExp)[];
  /** What a match means. Default `flag`. */
  readonly onMatch?: "flag" | "unsure";
  /** Patterns with `*`, `+` or `{n,}` are known never to take long on any text. Default false. */
  readonly trustPatterns?: boolean;
}

/** @throws MANX_RAIL_INVALID */
export function patternRail(options: PatternRailOptions): Rail {
  const { name, patterns, onMatch = "flag", trustPatterns = false } = options;
  const where = `rail ${JSON.stringify(name)}`;
  if (patterns.length === 0) {
    throw new ManxError("MANX_RAIL_INVALID", { what: "a rail without patterns", where });
  }
  const expressions = patterns.map((pattern) => compile(pattern, where));
  const dear = expressions.find(({ source }) => !isSurelyCheap(source));
  if (dear !== undefined && !trustPatterns) {
    throw new ManxError("MANX_RAIL_INVALID", {
      what: "a pattern that might take very long on some text",
      where,
      expected: "repetitions with a bound, such as {1,20} instead of +",
      got: dear.source,
      hint: "bound its repetitions, or set trustPatterns if you know that it cannot backtrack",
    });
  }
  const check = (text: string): Verdict =>
    expressions.some((one) => one.test(text)) ? onMatch : "clean";
  return rail({ ...options, check });
}

function compile(pattern: string | RegExp, where: string): RegExp {
  try {
    // With `g` or `y` an expression begins where it ended the time before.
    if (pattern instanceof RegExp) {
      return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
    }
    return new RegExp(pattern, "u");
  } catch (thrown) {
    throw new ManxError("MANX_RAIL_INVALID", {
      what: "a pattern that is none",
      where,
      got: String(pattern),
      cause: thrown,
    });
  }
}
