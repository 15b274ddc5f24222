/**
 * What a log says of each coefficient, in words: its value with the range over fits that each left a block of the log out,
 * or why the log cannot say, and that it is the data sheet's instead.
 */
import { COEFFICIENT_NAMES } from "../../engine/index.ts";
import type { FitOutcome, FitState, Unknown } from "./fit-coefficients.ts";

export interface Finding {
  readonly name: Unknown;
  readonly value: number;
  /** The data sheet's, or 0. */
  readonly sheet: number;
  /** Over the fits that left a block out; null without blocks. */
  readonly low: number | null;
  readonly high: number | null;
  readonly determined: boolean;
  /** In a phrase; empty if it is determined and agreed on. */
  readonly why: string;
}

export interface FindingParts {
  readonly all: FitOutcome;
  readonly byBlock: readonly FitOutcome[];
  readonly held: ReadonlySet<Unknown>;
  readonly start: FitState;
  /** Unknowns that no step of the log's schedule had anything of. */
  readonly absent: ReadonlySet<Unknown>;
}

/** Parts of the log that are further apart than this disagree. */
const AGREE_WITHIN = 0.5;

const NOTHING_OF: Readonly<Partial<Record<Unknown, string>>> = {
  tokenUs: "no step has more tokens than ride along for nothing",
  prefillContextTokenUs: "no prompt is cut into pieces, so none is read again",
  decodeSequenceUs: "no answer has a second token",
  decodeContextTokenUs: "no answer has a second token",
};

export function findingsOf(parts: FindingParts): readonly Finding[] {
  return [...COEFFICIENT_NAMES, "requestUs" as const].map((name) => finding(name, parts));
}

function finding(name: Unknown, parts: FindingParts): Finding {
  const { all, byBlock, held, start } = parts;
  const value = unknownOf(all, name);
  const others = byBlock.map((fit) => unknownOf(fit, name));
  const low = others.length === 0 ? null : Math.min(...others);
  const high = others.length === 0 ? null : Math.max(...others);
  const determined = !held.has(name);
  return {
    name,
    value,
    sheet: unknownOf(start, name),
    low,
    high,
    determined,
    why: determined ? disagreement(value, low, high) : whyNot(name, parts),
  };
}

export function unknownOf({ coefficients, requestUs }: FitState, name: Unknown): number {
  return name === "requestUs" ? requestUs : coefficients[name];
}

function disagreement(value: number, low: number | null, high: number | null): string {
  if (low === null || high === null || high - low <= AGREE_WITHIN * value) return "";
  return "parts of the log disagree on it";
}

function whyNot(name: Unknown, { absent }: FindingParts): string {
  if (name === "freeTokens") return "the log is met as well with half and with twice as many";
  if (absent.has(name)) return NOTHING_OF[name] ?? "no step of the log has any of it";
  return "it moves this log's times too little to be told from the others";
}
