/**
 * What a log says of each coefficient, in words: its value with the range over fits that each left a block of the log out,
 * or why the log cannot say, and that it was only kept loosely near the data sheet's.
 */
import { COEFFICIENT_NAMES } from "../../engine/index.ts";
import type { FitOutcome, FitState, Unknown } from "./fit-coefficients.ts";

export interface Finding {
  readonly name: Unknown;
  readonly value: number;
  /** The data sheet's, or 0. */
  readonly sheet: number;
  /** Over the fits that left a block out; null if there are not two of them. */
  readonly low: number | null;
  readonly high: number | null;
  readonly determined: boolean;
  /** In a phrase; empty if it is determined and agreed on. */
  readonly why: string;
}

export interface FindingParts {
  readonly all: FitOutcome;
  readonly byBlock: readonly FitOutcome[];
  readonly start: FitState;
}

/** Below this share told by the log a coefficient counts as not determined. */
const TOLD_MIN = 0.5;
/** Parts of the log whose values are further apart than this share of the whole's disagree. */
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

function finding(name: Unknown, { all, byBlock, start }: FindingParts): Finding {
  const value = unknownOf(all, name);
  const others = byBlock.map((fit) => unknownOf(fit, name));
  const low = others.length < 2 ? null : Math.min(...others);
  const high = others.length < 2 ? null : Math.max(...others);
  const determined = (all.told.get(name) ?? 0) >= TOLD_MIN;
  const agreed = low === null || high === null || high - low <= AGREE_WITHIN * value;
  const why = agreed ? "" : "parts of the log disagree on it";
  return {
    name,
    value,
    sheet: unknownOf(start, name),
    low,
    high,
    determined,
    why: determined ? why : whyNot(name, all),
  };
}

function unknownOf({ coefficients, requestUs }: FitState, name: Unknown): number {
  return name === "requestUs" ? requestUs : coefficients[name];
}

function whyNot(name: Unknown, { absent }: FitOutcome): string {
  if (name === "freeTokens") return "the log is met as well with other numbers of tokens";
  if (absent.has(name)) return NOTHING_OF[name] ?? "no step of the log has any of it";
  return "it moves this log's times too little, or not otherwise than another";
}
