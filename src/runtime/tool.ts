/** A tool as its author declares it: what it takes, what it does to the world, what it needs, how long it may take. */
import { ManxError } from "../core/index.ts";
import type { OpenSpan } from "../trace/index.ts";
import { EFFECT_RULES, type Effect } from "./effect.ts";
import { type InputCheck, type JsonSchema, readyCheck, type ToolInput } from "./input-check.ts";
import { spanUs, type TimeSpan } from "./time-span.ts";

/** What a run gets beside its arguments. */
export interface ToolContext<Args = unknown> {
  /** Aborts at the deadline, or when nobody wants the result any more. */
  readonly signal: AbortSignal;
  /** On the turn's clock; infinite if there is none. For sub-agents: `deadline` of the turn's own tree. */
  readonly deadlineUs: number;
  /** µs, at the start of this run. */
  readonly leftUs: number;
  /** The same for each run of one call, so that it can serve as an idempotency key. */
  readonly callId: string;
  /** From 1. */
  readonly attempt: number;
  /** Of this run, to hang spans of its own on; records nothing where the turn has no `trace`. */
  readonly span: OpenSpan;
  /** The whole arguments, checked. With `startWhen` they may come after the start; it rejects if they turn out bad. */
  readonly whole: Promise<Args>;
}

/** How a run that is being undone had ended. */
export type UndoneRun =
  | { readonly ended: "ok"; readonly result: unknown }
  | { readonly ended: "failed"; readonly error: unknown };

export interface ToolDefinition<Args, Result> {
  readonly name: string;
  /** What the model reads of it. Default: nothing but its name. */
  readonly description?: string;
  /** zod 4 or any other Standard Schema, a JSON Schema, or a function that answers the arguments or throws. */
  readonly input: ToolInput<Args>;
  /** What the model is told of the input. Default: made from it; a function tells nothing, so its tool has to. */
  readonly schema?: JsonSchema;
  readonly effect: Effect;
  /** Tools whose calls in the same message have to be done first. */
  readonly needs?: readonly string[];
  /** What it shares with others, such as a data base; `limits` of the turn bound it. Default: the tool's name. */
  readonly resource?: string;
  /** For a call with all its runs. Default: the turn's. */
  readonly deadline?: TimeSpan;
  /** With less time than this a run is not begun. Default: none. */
  readonly least?: TimeSpan;
  /**
   * Starts as soon as these top-level fields are whole, where the effect lets it start early. `run` gets the fields that
   * have come, unchecked; the others come with `whole`. Has no effect where it `needs` others or the turn has an `admit`.
   */
  readonly startWhen?: string | readonly string[];
  /** Runs of a call in all, as long as they throw. Default 1; more only if the effect repeats. */
  readonly attempts?: number;
  /** A second run beside one that has taken this long. Default: none; only if the effect hedges. */
  readonly hedgeAfter?: TimeSpan;
  /**
   * May be started on a guess by a `Prefetcher`, where it is `pure` and a run more than was asked for does no harm. `cost`: of
   * one run, against that of other tools, default 1. `cacheable`: two calls with the same arguments in one message may have one
   * result. Default: not.
   */
  readonly prefetch?: boolean | { readonly cost?: number; readonly cacheable?: boolean };
  /** Largest result, in UTF-16 units. Default 256 Ki. */
  readonly resultCharsMax?: number;
  /** What becomes of a larger one. Default `truncate`, which tells the model that it did. */
  readonly whenTooLarge?: "truncate" | "error";
  readonly run: (args: Args, context: ToolContext<Args>) => Result | Promise<Result>;
  /** Takes back what a run has done. It has 5 s of its own, since the turn's time may be over by then. */
  readonly undo?: (
    args: Args,
    run: UndoneRun,
    context: { readonly signal: AbortSignal; readonly callId: string },
  ) => unknown;
}

/** What a tool that may be started on a guess has said of itself. */
export interface PrefetchTerms {
  readonly cost: number;
  readonly isCacheable: boolean;
}

/** A declared tool, with its defaults and in whole microseconds. */
export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: JsonSchema | undefined;
  readonly effect: Effect;
  readonly startsEarly: boolean;
  readonly needs: readonly string[];
  readonly resource: string;
  readonly deadlineUs: number;
  readonly leastUs: number;
  readonly startWhen: readonly string[];
  readonly attemptsMax: number;
  readonly hedgeAfterUs: number;
  /** Undefined if it may not be started on a guess. */
  readonly prefetch: PrefetchTerms | undefined;
  readonly resultCharsMax: number;
  readonly whenTooLarge: "truncate" | "error";
  readonly input: ToolInput<never>;
  /** Undefined as long as a JSON Schema has not been compiled. */
  readonly check: InputCheck | undefined;
  readonly run: (args: never, context: ToolContext<never>) => unknown;
  readonly undo:
    | ((
        args: never,
        run: UndoneRun,
        context: { readonly signal: AbortSignal; readonly callId: string },
      ) => unknown)
    | undefined;
}

const ATTEMPTS_MAX = 10;
const RESULT_CHARS_MAX = 256 * 1024;
/** What OpenAI and Anthropic take as a name. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** @throws MANX_TOOL_INVALID, MANX_DURATION */
export function tool<Args, Result>(definition: ToolDefinition<Args, Result>): Tool {
  const { name, effect, attempts = 1, hedgeAfter, deadline, least, startWhen = [] } = definition;
  const { input, undo } = definition;
  const where = `tool ${JSON.stringify(name)}`;
  const rule = Object.hasOwn(EFFECT_RULES, effect) ? EFFECT_RULES[effect] : undefined;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw invalid(where, "1 to 64 letters, digits, _ or - as a name", JSON.stringify(name));
  }
  if (rule === undefined) {
    throw invalid(where, `an effect: ${Object.keys(EFFECT_RULES).join(", ")}`, String(effect));
  }
  if (typeof definition.run !== "function") throw invalid(where, "a function as run", "none");
  if (typeof input !== "function" && (typeof input !== "object" || input === null)) {
    throw invalid(where, "a schema or a function as input", String(input));
  }
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > ATTEMPTS_MAX) {
    throw invalid(where, `1 to ${ATTEMPTS_MAX} attempts`, String(attempts));
  }
  if ((attempts > 1 && !rule.repeats) || (hedgeAfter !== undefined && !rule.hedges)) {
    throw invalid(where, "one run of a tool that may not be run twice", `effect ${effect}`);
  }
  const resultCharsMax = definition.resultCharsMax ?? RESULT_CHARS_MAX;
  if (!Number.isInteger(resultCharsMax) || resultCharsMax < 1) {
    throw invalid(where, "a largest result above 0", String(resultCharsMax));
  }
  return {
    name,
    description: definition.description,
    schema: definition.schema,
    effect,
    startsEarly: rule.startsEarly && (rule.isDisposable || undo !== undefined),
    needs: definition.needs ?? [],
    resource: definition.resource ?? name,
    deadlineUs: deadline === undefined ? Number.POSITIVE_INFINITY : spanUs(deadline, where),
    leastUs: least === undefined ? 0 : spanUs(least, where),
    startWhen: typeof startWhen === "string" ? [startWhen] : startWhen,
    attemptsMax: attempts,
    prefetch: prefetchTerms(definition.prefetch, effect, where),
    hedgeAfterUs: hedgeAfter === undefined ? Number.POSITIVE_INFINITY : spanUs(hedgeAfter, where),
    resultCharsMax,
    whenTooLarge: definition.whenTooLarge ?? "truncate",
    input: input as ToolInput<never>,
    check: readyCheck(input as ToolInput<never>),
    run: definition.run as Tool["run"],
    undo: undo as Tool["undo"],
  };
}

function prefetchTerms(
  prefetch: ToolDefinition<unknown, unknown>["prefetch"],
  effect: Effect,
  where: string,
): PrefetchTerms | undefined {
  if (prefetch === undefined || prefetch === false) return undefined;
  if (effect !== "pure") {
    throw invalid(where, "no prefetch of a tool that changes anything", `effect ${effect}`);
  }
  const { cost = 1, cacheable = false } = prefetch === true ? {} : prefetch;
  if (Number.isFinite(cost) && cost > 0) return { cost, isCacheable: cacheable };
  throw invalid(where, "a cost above 0 for prefetching", String(cost));
}

function invalid(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_TOOL_INVALID", { where, expected, got });
}
