/**
 * Tool arguments that come as paths and values (Gemini on Vertex): `$.a.b[0]` with a string, number, boolean or null.
 * Pieces of one string come under one path, one after the other.
 */
import { isObject, type JsonObject } from "./json-object.ts";

type Holder = Record<string | number, unknown>;

const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['([^']*)'\]|\["([^"]*)"\]/y;
const STEPS_MAX = 64;
/** No list of arguments is longer; it keeps a path like `$.a[999999]` from making one. */
const INDEX_MAX = 10_000;

export class PathedArguments {
  readonly #root: Holder = {};
  /** The path whose string goes on. */
  #openPath = "";

  /** The arguments so far as JSON text. */
  get json(): string {
    return JSON.stringify(this.#root);
  }

  /** @returns false if path or value cannot be read; nothing is changed then. */
  add(part: JsonObject): boolean {
    const path = typeof part.jsonPath === "string" ? part.jsonPath : "";
    const steps = readPath(path);
    const value = scalarOf(part);
    if (steps === undefined || value === undefined) return false;
    const holder = this.#holderOf(steps);
    const last = steps.at(-1)!;
    if (holder === undefined || Array.isArray(holder) !== (typeof last === "number")) return false;
    const goesOn = this.#openPath === path && typeof value === "string";
    const before = goesOn && Object.hasOwn(holder, last) ? holder[last] : "";
    holder[last] = typeof value === "string" ? `${before}${value}` : value;
    this.#openPath = part.willContinue === true ? path : "";
    return true;
  }

  #holderOf(steps: readonly (string | number)[]): Holder | undefined {
    let holder = this.#root;
    for (const [i, step] of steps.slice(0, -1).entries()) {
      if (Array.isArray(holder) !== (typeof step === "number")) return undefined;
      if (!Object.hasOwn(holder, step)) holder[step] = typeof steps[i + 1] === "number" ? [] : {};
      const next = holder[step];
      if (!isObject(next) && !Array.isArray(next)) return undefined;
      holder = next as Holder;
    }
    return holder;
  }
}

function readPath(path: string): readonly (string | number)[] | undefined {
  if (!path.startsWith("$")) return undefined;
  const steps: (string | number)[] = [];
  for (let at = 1; at < path.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const match = STEP.exec(path);
    if (match === null || steps.length >= STEPS_MAX) return undefined;
    const [, name, index, single, double] = match;
    const step = index === undefined ? (name ?? single ?? double!) : Number(index);
    if (step === "__proto__" || (typeof step === "number" && step > INDEX_MAX)) return undefined;
    steps.push(step);
  }
  return steps.length === 0 ? undefined : steps;
}

function scalarOf(part: JsonObject): string | number | boolean | null | undefined {
  const { stringValue, numberValue, boolValue } = part;
  if (typeof stringValue === "string") return stringValue;
  if (typeof numberValue === "number") return numberValue;
  if (typeof boolValue === "boolean") return boolValue;
  return Object.hasOwn(part, "nullValue") ? null : undefined;
}
