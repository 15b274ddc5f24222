/**
 * What is known of a turn when the model begins to think: the user's input and the calls of the steps before, in order.
 * Rules read it, patterns are learnt from it. It also knows where in all that a value stands.
 *
 * Bounded: the last calls, and of each the first few scalars.
 */
import { sortedJson } from "../prompt-layout/sorted-json.ts";
import { leavesOf, type Scalar, valueAt } from "./json-pointer.ts";

export interface PastCall {
  /** From 1. */
  readonly step: number;
  readonly tool: string;
  /** As the model wrote them. */
  readonly args: unknown;
  /** As the tool answered; undefined if it failed. */
  readonly result: unknown;
}

/** What a rule gets to see. */
export interface PrefetchContext {
  /** As given to the turn. */
  readonly input: unknown;
  /** Calls that have ended, oldest first. */
  readonly calls: readonly PastCall[];
  /** Of the last step with calls; empty at the start of a turn. */
  readonly lastStep: readonly PastCall[];
  /** The latest call of a tool that has a result. */
  readonly last: (tool: string) => PastCall | undefined;
}

/** Older ones are forgotten. */
const CALLS_MAX = 64;
const SOURCES_PER_VALUE_MAX = 8;
const VALUES_MAX = 4_096;
const TEXT_CHARS_MAX = 4_096;
const WORDS_MAX = 16;
/** What is asked for by its name tends to have a digit in it: an order, a flight, a ticket. */
const WORD = /[^\s,.;:!?"'()]+/g;

export class TurnPast implements PrefetchContext {
  readonly input: unknown;
  #calls: PastCall[] = [];
  #lastStep: readonly PastCall[] = [];
  #previousTools = "";
  #lastTools = "^";
  readonly #latest = new Map<string, PastCall>();
  readonly #sources = new Map<string, string[]>();

  constructor(input: unknown) {
    this.input = input;
    this.#index("input:", input);
    for (const [pointer, text] of textsOf(input)) {
      for (const word of (text.match(WORD) ?? []).slice(0, WORDS_MAX)) {
        if (/\d/.test(word)) this.#note(word, `input:${pointer}~${wordForm(word)}`);
      }
    }
  }

  get calls(): readonly PastCall[] {
    return this.#calls;
  }

  get lastStep(): readonly PastCall[] {
    return this.#lastStep;
  }

  /** A property, so that a rule may take it out of the context. */
  readonly last = (tool: string): PastCall | undefined =>
    this.#calls.findLast((call) => call.tool === tool && call.result !== undefined);

  /** Which tools came before, the longer memory first; `^` is the start. */
  get trail(): readonly string[] {
    return [`${this.#previousTools}>${this.#lastTools}`, this.#lastTools];
  }

  /** @param calls of one step, in order; a step without calls leaves no trace. */
  add(calls: readonly PastCall[]): void {
    if (calls.length === 0) return;
    for (const [name, call] of withOrdinals(calls)) {
      this.#latest.set(name, call);
      this.#index(`args:${name}:`, call.args);
      this.#index(`result:${name}:`, call.result);
    }
    this.#calls = [...this.#calls, ...calls].slice(-CALLS_MAX);
    this.#lastStep = calls;
    this.#previousTools = this.#lastTools;
    this.#lastTools = [...new Set(calls.map(({ tool }) => tool))].sort().join("+");
  }

  /** Where a value stands now, in the order in which it came there. Truth values stand everywhere, so nowhere. */
  whereIs(value: Scalar): readonly string[] {
    const found = this.#sources.get(JSON.stringify(value)) ?? [];
    return found.filter((source) => this.at(source) === value);
  }

  /** @param source as `whereIs` names them, or `=` and JSON. @returns undefined where nothing stands. */
  at(source: string): unknown {
    if (source.startsWith("=")) return JSON.parse(source.slice(1));
    const colon = source.indexOf(":");
    const root = source.slice(0, colon);
    const rest = source.slice(colon + 1);
    if (root === "input") {
      const [pointer, form] = rest.split("~A:") as [string, string | undefined];
      const value = valueAt(this.input, pointer);
      if (form === undefined) return value;
      if (typeof value !== "string") return undefined;
      const words = value.slice(0, TEXT_CHARS_MAX).match(WORD) ?? [];
      return words.find((word) => wordForm(word) === `A:${form}`);
    }
    const [name, pointer] = [rest.slice(0, rest.indexOf(":")), rest.slice(rest.indexOf(":") + 1)];
    const call = this.#latest.get(name);
    return valueAt(root === "args" ? call?.args : call?.result, pointer);
  }

  #index(prefix: string, value: unknown): void {
    for (const leaf of leavesOf(value)) this.#note(leaf.value, prefix + leaf.pointer);
  }

  #note(value: Scalar, source: string): void {
    if (typeof value !== "string" && typeof value !== "number") return;
    if (typeof value === "string" && value.length > TEXT_CHARS_MAX) return;
    const key = JSON.stringify(value);
    const known = this.#sources.get(key);
    if (known === undefined) {
      if (this.#sources.size < VALUES_MAX) this.#sources.set(key, [source]);
    } else if (known.length < SOURCES_PER_VALUE_MAX && !known.includes(source)) known.push(source);
  }
}

/** The calls of one step by name: `search#0`, `search#1`, `read#0`. */
export function withOrdinals<Call extends { readonly tool: string }>(
  calls: readonly Call[],
): readonly (readonly [name: string, call: Call])[] {
  const seen = new Map<string, number>();
  return calls.map((call) => {
    const ordinal = seen.get(call.tool) ?? 0;
    seen.set(call.tool, ordinal + 1);
    return [`${call.tool}#${ordinal}`, call] as const;
  });
}

/** One text per tool and arguments, whatever the order of the keys. */
export function callKey(tool: string, args: unknown): string {
  return `${tool} ${sortedJson(args)}`;
}

/** Runs of digits and of letters: `AB-1742` and `XY-93` have one form. */
function wordForm(word: string): string {
  return `A:${word
    .replace(/\d+/g, "9")
    .replace(/\p{Lu}+/gu, "A")
    .replace(/\p{Ll}+/gu, "a")}`;
}

function textsOf(value: unknown): readonly (readonly [pointer: string, text: string])[] {
  return leavesOf(value).flatMap((leaf) =>
    typeof leaf.value === "string"
      ? [[leaf.pointer, leaf.value.slice(0, TEXT_CHARS_MAX)] as const]
      : [],
  );
}
