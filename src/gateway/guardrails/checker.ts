/** Who says whether a text is clean. Each is told one text at a time and never throws; how long it may take is the guard's business. */
import type { Cancel } from "../../clock/index.ts";
import type { Verdict } from "../../policy/index.ts";

/** On whose behalf: a check that calls a model does so with the caller's own credentials where upstreams want those. */
export interface CheckCaller {
  /** Headers, names and values in turn. */
  readonly credentials: readonly string[];
  /** The credentials are this gateway's own and go no further. */
  readonly hidesKey: boolean;
}

export interface Checker {
  /**
   * @param done told once unless it is given up; may be told before this returns.
   * @returns gives it up at once, with its connection.
   */
  check(text: string, caller: CheckCaller, done: (verdict: Verdict) => void): Cancel;
}

const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "x-api-key", "api-key"]);

/** @param rawHeaders names and values in turn. */
export function credentialsIn(rawHeaders: readonly string[]): string[] {
  const found: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (CREDENTIALS.has(rawHeaders[i]!.toLowerCase()))
      found.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  return found;
}
