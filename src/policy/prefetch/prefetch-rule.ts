/** A guess by hand: when a tool is likely to be called next, and with which arguments. */
import type { PrefetchContext } from "./turn-past.ts";

export interface PrefetchRule {
  /** For the report. Default: the tool's name and the rule's number. */
  readonly name?: string;
  readonly tool: string;
  /** Default: at every step. May throw: that is counted, and no guess. */
  readonly when?: (context: PrefetchContext) => boolean;
  /** Arguments as the model would write them, or how to find them; undefined for no guess. */
  readonly args: Readonly<Record<string, unknown>> | ((context: PrefetchContext) => unknown);
  /** 0 to 1: how likely a guess is to come true, until enough of them have been seen. Default 0.5. */
  readonly probability?: number;
}

/** One call that the model may be about to make. */
export interface PrefetchGuess {
  /** Whose guess it is: a rule, or a learnt pattern. */
  readonly key: string;
  readonly tool: string;
  readonly args: unknown;
  /** What is known of its guesses from before. */
  readonly prior: { readonly tries: number; readonly hits: number };
}
