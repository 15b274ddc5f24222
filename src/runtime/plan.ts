/**
 * A plan as a model writes it: numbered tool calls whose arguments refer to the results of others.
 *
 *     1  user     { "id": 7 }
 *     2  orders   { "of": "$1.name" }              a whole text `$n`, with a path: the value itself
 *     3  mail     { "text": "Dear ${1.name}, …" }   inside a text: the value as text
 *                                                  `$$…` is a text that begins with `$`
 */
import { ManxError } from "../core/index.ts";
import { canonicalJson } from "./canonical-json.ts";

export interface PlanStep {
  readonly tool: string;
  readonly args: unknown;
  /** Further steps to wait for, from 1, whose results it does not use. */
  readonly after?: readonly number[];
}

const PATH = String.raw`(\d{1,4})((?:\.[^.[\]{}$]+|\[\d{1,6}\])*)`;
const WHOLE = new RegExp(`^\\$${PATH}$`);
const INSIDE = new RegExp(`\\$\\{${PATH}\\}`, "g");
const PATH_STEP = /\.([^.[\]]+)|\[(\d+)\]/g;
const DEPTH_MAX = 64;

/** @returns numbers of the steps that the arguments refer to, each once. @throws MANX_GRAPH_INVALID */
export function referencesIn(args: unknown): readonly number[] {
  const found = new Set<number>();
  walk(args, (number) => {
    found.add(number);
    return undefined;
  });
  return [...found];
}

/**
 * @param resultOf result of a step.
 * @throws MANX_GRAPH_INVALID for a path that the result does not have.
 */
export function withResults(args: unknown, resultOf: (number: number) => unknown): unknown {
  return walk(args, (number, path) => follow(resultOf(number), number, path));
}

function walk(
  value: unknown,
  resolve: (number: number, path: string) => unknown,
  depth = 0,
): unknown {
  if (depth > DEPTH_MAX) {
    throw new ManxError("MANX_GRAPH_INVALID", {
      what: "arguments of a plan are nested too deeply",
    });
  }
  if (typeof value === "string") return walkText(value, resolve);
  if (Array.isArray(value)) return value.map((one) => walk(one, resolve, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, walk(one, resolve, depth + 1)]),
  );
}

function walkText(text: string, resolve: (number: number, path: string) => unknown): unknown {
  if (text.startsWith("$$")) return text.slice(1);
  const whole = WHOLE.exec(text);
  if (whole !== null) return resolve(Number(whole[1]), whole[2]!);
  return text.replace(INSIDE, (_, number: string, path: string) => {
    const value = resolve(Number(number), path);
    return typeof value === "string" ? value : (canonicalJson(value) ?? "");
  });
}

function follow(result: unknown, number: number, path: string): unknown {
  let value = result;
  for (const [, name, index] of path.matchAll(PATH_STEP)) {
    const key = name ?? Number(index);
    const holds = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    if (!holds) {
      throw new ManxError("MANX_GRAPH_INVALID", {
        what: `a result has no $${number}${path}`,
        hint: "look at what the step answers",
      });
    }
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}
