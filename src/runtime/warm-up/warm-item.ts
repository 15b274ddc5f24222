/**
 * What a process does before it can serve at warm latency, one thing at a time: how to do it, what has to be there
 * before, and how it is proved. A socket that was opened proves nothing; one that answered does.
 *
 * Invariants of a checked list: each need is there, none needs itself, nothing required hangs on something optional or
 * lazy, and what grows cold by itself is refreshed before it does.
 */
import { ManxError } from "../../core/index.ts";
import type { Phase } from "../../trace/index.ts";
import type { Deadline } from "../deadline.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import { inOrderOfNeeds } from "../topological.ts";

/** Values of what an item needs, by name: of any type, as each item has its own. */
// biome-ignore lint/suspicious/noExplicitAny: `unknown` could not be taken apart, and `never` not be used
export type ItemInputs = any;

export interface WarmItem {
  readonly run: (inputs: ItemInputs, deadline: Deadline) => unknown;
  /**
   * Uses the value for real: a request on the connection, an argument through the validator, a lookup that hits. It has
   * failed if it throws or answers false. `run`: the run itself has used it already.
   */
  readonly proof: "run" | ((value: never, deadline: Deadline) => unknown);
  readonly needs?: readonly string[];
  /** What a turn would wait in, if it had to wait for this. Default `orchestration`. */
  readonly serves?: Phase;
  /** Readiness does not wait for it. Default false. */
  readonly optional?: boolean;
  /** Begun by its first use, not by the start; never required. Default false. */
  readonly lazy?: boolean;
  /** For one run with its proof. Default 60 s. */
  readonly within?: TimeSpan;
  /** Run anew in the background this long after it was proved; the old value serves meanwhile. Default: never. */
  readonly refreshEvery?: TimeSpan;
  /** Cold this long after its proof or its last use, such as a prompt cache or an idle connection. Default: never. */
  readonly lives?: TimeSpan;
  /** A value whose refresh keeps failing is served this long; then nothing is ready any more. Default: for ever. */
  readonly staleMax?: TimeSpan;
  /** A value of before, such as from a cache: it serves until the first run is done, and while that fails. */
  readonly seed?: { readonly value: unknown } | undefined;
  /** What it shares with others; `limits` bound it. Default: its name. */
  readonly resource?: string;
}

/** The same item, with a proof that knows the type of what `run` makes. */
export function warmItem<Value>(
  item: Omit<WarmItem, "run" | "proof"> & {
    readonly run: (inputs: ItemInputs, deadline: Deadline) => Value | Promise<Value>;
    readonly proof: "run" | ((value: Value, deadline: Deadline) => unknown);
  },
): WarmItem {
  return item as WarmItem;
}

/** A declared item with its defaults, in whole µs. */
export interface CheckedItem {
  readonly name: string;
  readonly run: WarmItem["run"];
  readonly proof: WarmItem["proof"];
  readonly needs: readonly string[];
  readonly serves: Phase;
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  readonly withinUs: number;
  readonly refreshEveryUs: number;
  readonly livesUs: number;
  readonly staleMaxUs: number;
  readonly seed: { readonly value: unknown } | undefined;
  readonly resource: string;
}

const WITHIN_US = 60_000_000;
/** More is a registry within an item. */
const ITEMS_MAX = 256;
const NEVER = Number.POSITIVE_INFINITY;

/** @returns the items after what they need. @throws MANX_WARM_UP_INVALID, MANX_GRAPH_INVALID, MANX_DURATION */
export function checkItems(items: Readonly<Record<string, WarmItem>>): readonly CheckedItem[] {
  const names = Object.keys(items);
  if (names.length > ITEMS_MAX) {
    throw invalid("warm-up", `at most ${ITEMS_MAX} items`, String(names.length));
  }
  const order = inOrderOfNeeds(new Map(names.map((name) => [name, items[name]!.needs ?? []])));
  const checked = new Map<string, CheckedItem>();
  for (const name of order) {
    const item = checkItem(name, items[name]!);
    for (const need of item.needs) {
      if (!item.isRequired || checked.get(need)!.isRequired) continue;
      throw invalid(whereOf(name), "what is required to need only what is required", need);
    }
    checked.set(name, item);
  }
  return [...checked.values()];
}

function checkItem(name: string, item: WarmItem): CheckedItem {
  const where = whereOf(name);
  if (typeof item.run !== "function") throw invalid(where, "a function as run", typeof item.run);
  if (item.proof !== "run" && typeof item.proof !== "function") {
    throw invalid(where, 'a function or "run" as proof', String(item.proof));
  }
  const { optional = false, lazy = false } = item;
  const refreshEveryUs = span(item.refreshEvery, where, NEVER);
  const livesUs = span(item.lives, where, NEVER);
  if (refreshEveryUs < 1 || livesUs < 1) throw invalid(where, "times above 0", "0");
  if (Number.isFinite(refreshEveryUs) && refreshEveryUs >= livesUs) {
    throw invalid(where, "a refresh before the value is cold", "refreshEvery as long as lives");
  }
  return {
    name,
    run: item.run,
    proof: item.proof,
    needs: [...new Set(item.needs)],
    serves: item.serves ?? "orchestration",
    isRequired: !optional && !lazy,
    isLazy: lazy,
    withinUs: span(item.within, where, WITHIN_US),
    refreshEveryUs,
    livesUs,
    staleMaxUs: span(item.staleMax, where, NEVER),
    seed: item.seed,
    resource: item.resource ?? name,
  };
}

function span(given: TimeSpan | undefined, where: string, usual: number): number {
  return given === undefined ? usual : spanUs(given, where);
}

function whereOf(name: string): string {
  return `item ${JSON.stringify(name)}`;
}

function invalid(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_WARM_UP_INVALID", { where, expected, got });
}
