/** What is told of a call while it goes its way, and what is asked before it runs. */
import type { Effect } from "./effect.ts";
import type { ResultStatus } from "./result-text.ts";

/** A call that is about to run. */
export interface AdmissibleCall {
  readonly id: string;
  readonly name: string;
  readonly effect: Effect;
  readonly args: unknown;
  /** The model has not asked for it: a prefetch. What is blocked here is not begun early, and asked again if it comes. */
  readonly isGuess?: true;
}

/** Nothing lets it run. A promise holds it: a guardrail answers when its verdict is there. */
export type Admission = undefined | { readonly blocked: string };

export type CallEvent =
  | {
      readonly type: "call-sealed" | "call-start";
      readonly number: number;
      readonly id: string;
      readonly name: string;
      readonly atUs: number;
    }
  | {
      readonly type: "call-end";
      readonly number: number;
      readonly id: string;
      readonly name: string;
      readonly atUs: number;
      readonly status: ResultStatus;
    };
