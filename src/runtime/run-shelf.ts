/**
 * Runs of a stream that failed, kept for the stream that says the same again: a retried message does not run its tools a
 * second time. Pure tools only, each taken over once, by name and canonical arguments.
 */
import type { CallRun } from "./call-run.ts";
import { canonicalJson } from "./canonical-json.ts";

/** Further ones are cancelled, oldest first. */
const RUNS_MAX = 64;

export class RunShelf {
  readonly #runs: { readonly key: string; readonly run: CallRun }[] = [];

  put(args: unknown, run: CallRun): void {
    this.#runs.push({ key: callKey(run.tool.name, args), run });
    if (this.#runs.length > RUNS_MAX) this.#runs.shift()?.run.cancel("nobody asked for it again");
  }

  /** @param key as `callKey` makes it. */
  has(key: string): boolean {
    return this.#runs.some((one) => one.key === key);
  }

  take(name: string, args: unknown): CallRun | undefined {
    if (this.#runs.length === 0) return undefined;
    const key = callKey(name, args);
    const at = this.#runs.findIndex((one) => one.key === key);
    return at < 0 ? undefined : this.#runs.splice(at, 1)[0]?.run;
  }

  clear(): void {
    for (const { run } of this.#runs.splice(0)) run.cancel("nobody asked for it again");
  }
}

/** One text per tool and arguments, whatever the order of the keys. */
export function callKey(name: string, args: unknown): string {
  return `${name} ${canonicalJson(args)}`;
}
