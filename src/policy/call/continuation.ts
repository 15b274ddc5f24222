/** Whether, and where, a broken answer is gone on with instead of ended. */
import type { Random } from "../../clock/index.ts";
import type { Failure } from "./failure.ts";
import type { Target } from "./target.ts";
import { chooseTarget } from "./target-choice.ts";

/** What the driver knows of the answer that its caller has. */
export interface AnswerSoFar {
  /** It is plain text so far, neither empty nor at an end, and whoever is given it can go on with it. */
  canContinue(): boolean;
}

export const NOTHING_YET: AnswerSoFar = { canContinue: () => false };

/** The transport broke or fell silent. What an upstream itself calls an error is its last word. */
export function breaksText({ kind }: Failure): boolean {
  return (
    kind === "stall_bytes" || kind === "stall_progress" || kind === "cut" || kind === "garbage"
  );
}

/** @returns another target than the one that broke, else that one again if it may be used; −1 if none can go on with a text. */
export function chooseContinuer(
  targets: readonly Target[],
  { broken, nowUs }: { readonly broken: number; readonly nowUs: number },
  random: Random,
): number {
  const unable = targets.flatMap(({ canPrefill }, at) => (canPrefill ? [] : [at]));
  const other = chooseTarget(targets, { excluded: new Set([...unable, broken]), nowUs }, random);
  if (other >= 0) return other;
  return chooseTarget(targets, { excluded: new Set(unable), nowUs }, random);
}
