/**
 * Regular expressions, tried at once in this process. What might backtrack for long runs with a limit (`node:vm` can stop a
 * regular expression, at some 50 µs a text); a text on which it does not end in time is a check that has failed.
 */
import { type Context, createContext, Script } from "node:vm";
import type { Cancel } from "../../clock/index.ts";
import { isSurelyCheap, type Verdict } from "../../policy/index.ts";
import type { CheckCaller, Checker } from "./checker.ts";

export interface PatternOptions {
  readonly patterns: readonly string[];
  /** What a match means. */
  readonly onMatch: "flag" | "unsure";
  readonly budgetUs: number;
}

/** What the script sees. */
interface Dear {
  text: string;
  readonly expressions: readonly RegExp[];
}

/** The event loop stands still meanwhile, so that the budget of a check is too much for it. */
const LIMIT_MS_MAX = 25;
/** Time that the process must have run for the limit to count: most of it. */
const RAN_US_PER_MS = 600;
const TRIES_MAX = 10;
const TRY = new Script("expressions.some((one) => one.test(text))");

export class PatternChecker implements Checker {
  readonly #cheap: readonly RegExp[];
  readonly #dear: Dear;
  readonly #onMatch: Verdict;
  readonly #limitMs: number;

  /** @param options.patterns each of which is one: the configuration has been checked. */
  constructor({ patterns, onMatch, budgetUs }: PatternOptions) {
    const compile = (one: string): RegExp => new RegExp(one, "u");
    this.#cheap = patterns.filter(isSurelyCheap).map(compile);
    const dear = patterns.filter((one) => !isSurelyCheap(one)).map(compile);
    this.#dear = createContext({ text: "", expressions: dear }) as unknown as Dear;
    this.#onMatch = onMatch;
    this.#limitMs = Math.max(1, Math.min(LIMIT_MS_MAX, Math.floor(budgetUs / 1_000)));
  }

  check(text: string, _caller: CheckCaller, done: (verdict: Verdict) => void): Cancel {
    done(this.#verdict(text));
    return ignore;
  }

  #verdict(text: string): Verdict {
    if (this.#cheap.some((one) => one.test(text))) return this.#onMatch;
    if (this.#dear.expressions.length === 0) return "clean";
    const before = process.cpuUsage();
    for (let tries = 1; ; tries += 1) {
      const verdict = this.#tryDear(text);
      if (verdict !== "failed") return verdict;
      // The limit is of wall time: a process that was not let run meanwhile has not failed at the text.
      const { user, system } = process.cpuUsage(before);
      if (user + system > this.#limitMs * RAN_US_PER_MS || tries === TRIES_MAX) return "failed";
    }
  }

  #tryDear(text: string): Verdict {
    this.#dear.text = text;
    try {
      const found: unknown = TRY.runInContext(this.#dear as unknown as Context, {
        timeout: this.#limitMs,
      });
      return found === true ? this.#onMatch : "clean";
    } catch {
      return "failed";
    } finally {
      this.#dear.text = "";
    }
  }
}

function ignore(): void {}
