/** Token counts of several model calls together: a count that no call has told stays unknown. */
import { type TokenUsage, USAGE_UNKNOWN } from "../../stream/index.ts";

type Counts = { -readonly [Key in keyof TokenUsage]: TokenUsage[Key] };

export class UsageSum {
  readonly #counts: Counts = { ...USAGE_UNKNOWN };

  get usage(): TokenUsage {
    return { ...this.#counts };
  }

  add(usage: TokenUsage): void {
    for (const key of Object.keys(this.#counts) as (keyof TokenUsage)[]) {
      const more = usage[key];
      if (more !== null) this.#counts[key] = (this.#counts[key] ?? 0) + more;
    }
  }
}
