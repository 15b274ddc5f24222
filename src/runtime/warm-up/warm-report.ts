/**
 * Where a start went: each item's time, the longest chain against the sum of all, what each item would save off that
 * chain, and what of the process's start no item accounts for.
 *
 * Invariant: `attributedUs + unattributedUs = processUs`.
 */
import type { Phase } from "../../trace/index.ts";
import type { ItemLife, ItemStatus } from "./item-life.ts";

export interface WarmItemReport {
  readonly name: string;
  readonly status: ItemStatus;
  readonly serves: Phase;
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  readonly needs: readonly string[];
  /** µs from the warm-up's beginning; null if it has not run to an end. */
  readonly startUs: number | null;
  /** Run and proof; 0 if it has not run to an end. */
  readonly tookUs: number;
  readonly proofUs: number;
  /** How much sooner the longest chain would end without it: what moving it off the path is worth. */
  readonly savingUs: number;
  readonly attempts: number;
  /** In a row, since it was last proved. */
  readonly failures: number;
  readonly refreshes: number;
  /** Calls that had to wait for it, as far as they were marked, and for how long in all. */
  readonly delayedCalls: number;
  readonly delayedUs: number;
  /** How long it has been served although its refresh fails; 0 if it does not. */
  readonly staleUs: number;
  /** Of the last failure; null if the last run went well. */
  readonly error: string | null;
}

export interface WarmReport {
  readonly isReady: boolean;
  readonly items: readonly WarmItemReport[];
  /** µs from the warm-up's beginning until it was ready for the first time; null before. */
  readonly readyUs: number | null;
  /** Items of the start, one after the other. */
  readonly sumUs: number;
  /** The longest chain of items that needed each other: no start can be faster. */
  readonly criticalPathUs: number;
  readonly criticalPath: readonly string[];
  /** What doing it side by side saves: sum − critical path. */
  readonly savingUs: number;
  /** Calls of `observe` that threw; nothing else has come of that. */
  readonly observerErrors: number;
  /** From the process's start until ready, or until now. */
  readonly processUs: number;
  readonly attributedUs: number;
  /** No item ran: image, runtime, imports, whatever nobody has declared. */
  readonly unattributedUs: number;
}

export interface ReportTimes {
  readonly nowUs: number;
  readonly beganUs: number;
  readonly processStartUs: number;
  readonly readyUs: number | undefined;
  readonly isReady: boolean;
  readonly observerErrors: number;
}

/** @param lives after what they need. */
export function warmReport(lives: readonly ItemLife[], times: ReportTimes): WarmReport {
  const { beganUs, processStartUs, readyUs } = times;
  const started = lives.filter(({ item }) => !item.isLazy);
  const path = longestChain(started);
  const endUs = readyUs ?? times.nowUs;
  const processUs = endUs - processStartUs;
  const attributedUs = unionUs(started, processStartUs, endUs);
  const sumUs = started.reduce((sum, life) => sum + tookUs(life), 0);
  return {
    isReady: times.isReady,
    items: lives.map((life) => {
      const without = life.item.isLazy ? path.us : longestChain(started, life).us;
      return itemReport(life, beganUs, path.us - without);
    }),
    readyUs: readyUs === undefined ? null : readyUs - beganUs,
    sumUs,
    criticalPathUs: path.us,
    criticalPath: path.names,
    savingUs: sumUs - path.us,
    observerErrors: times.observerErrors,
    processUs,
    attributedUs,
    unattributedUs: processUs - attributedUs,
  };
}

function itemReport(life: ItemLife, beganUs: number, savingUs: number): WarmItemReport {
  const { item, times, error } = life;
  return {
    name: item.name,
    status: life.status,
    serves: item.serves,
    isRequired: item.isRequired,
    isLazy: item.isLazy,
    needs: item.needs,
    startUs: times === undefined ? null : times.startUs - beganUs,
    tookUs: tookUs(life),
    proofUs: times === undefined || times.ranUs === null ? 0 : times.endUs - times.ranUs,
    savingUs,
    attempts: life.attempts,
    failures: life.failures,
    refreshes: life.refreshes,
    delayedCalls: life.delays.calls,
    delayedUs: life.delays.us,
    staleUs: life.staleUs,
    error: error === undefined ? null : errorText(error),
  };
}

function tookUs({ times }: ItemLife): number {
  return times === undefined ? 0 : times.endUs - times.startUs;
}

/** @param without is taken to cost nothing. */
function longestChain(
  lives: readonly ItemLife[],
  without?: ItemLife,
): { readonly us: number; readonly names: readonly string[] } {
  const ends = new Map<string, { us: number; from: string | undefined }>();
  let last: string | undefined;
  for (const life of lives) {
    const { name, needs } = life.item;
    let from: string | undefined;
    for (const need of needs) {
      if ((ends.get(need)?.us ?? -1) > (from === undefined ? -1 : ends.get(from)!.us)) from = need;
    }
    const beforeUs = from === undefined ? 0 : ends.get(from)!.us;
    ends.set(name, { us: beforeUs + (life === without ? 0 : tookUs(life)), from });
    if (last === undefined || ends.get(name)!.us > ends.get(last)!.us) last = name;
  }
  const names: string[] = [];
  for (let at = last; at !== undefined; at = ends.get(at)!.from) names.unshift(at);
  return { us: last === undefined ? 0 : ends.get(last)!.us, names };
}

/** How long at least one of them ran, within the window. */
function unionUs(lives: readonly ItemLife[], startUs: number, endUs: number): number {
  const runs = lives.flatMap(({ runs }) => runs).toSorted((a, b) => a.startUs - b.startUs);
  let coveredUs = 0;
  let reachUs = startUs;
  for (const run of runs) {
    const fromUs = Math.max(run.startUs, reachUs);
    const toUs = Math.min(run.endUs, endUs);
    if (toUs <= fromUs) continue;
    coveredUs += toUs - fromUs;
    reachUs = toUs;
  }
  return coveredUs;
}

const ERROR_CHARS_MAX = 200;

function errorText(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARS_MAX);
}
