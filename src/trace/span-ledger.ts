/** What all spans of a turn share while it is recorded: clock, limits, and a count of what the limits left out. */
import type { Clock, SecretBytes } from "../clock/index.ts";
import type { RecordedSpan } from "./recorded-span.ts";
import type { AttributeValue } from "./span.ts";
import { type SpanIds, spanIds } from "./span-ids.ts";
import type { TurnLimits } from "./turn-limits.ts";

export class SpanLedger {
  readonly clock: Clock;
  readonly limits: TurnLimits;
  readonly spans: RecordedSpan[] = [];
  /** Stand-ins for spans over the limit; at most one for each span that is kept. */
  readonly standIns: RecordedSpan[] = [];
  readonly dropped = { spans: 0, attributes: 0, events: 0, links: 0, cut: 0 };
  textChars = 0;
  isClosed = false;
  readonly #bytes: SecretBytes;
  #ids: SpanIds | undefined;

  constructor(clock: Clock, limits: TurnLimits, bytes: SecretBytes) {
    this.clock = clock;
    this.limits = limits;
    this.#bytes = bytes;
  }

  /** Drawn when they are first needed: while the turn runs only if another process is told of it. */
  get ids(): SpanIds {
    this.#ids ??= spanIds(this.#bytes);
    return this.#ids;
  }

  /** The text as far as it may be kept; undefined if the turn has no room for it. */
  admit(text: string): string | undefined {
    const kept = text.length > this.limits.valueCharsMax ? this.cut(text) : text;
    if (this.textChars + kept.length > this.limits.textCharsMax) return undefined;
    this.textChars += kept.length;
    return kept;
  }

  cut(text: string): string {
    this.dropped.cut += 1;
    return `${text.slice(0, this.limits.valueCharsMax - 1)}…`;
  }

  /**
   * The value as far as it may be kept; undefined if the turn has no room for it.
   * @param key counted too; empty if the span has it already.
   */
  keep(key: string, value: AttributeValue): AttributeValue | undefined {
    if (key === "__proto__" || key.length > this.limits.valueCharsMax) return undefined;
    if (this.admit(key) === undefined) return undefined;
    if (typeof value === "number" || typeof value === "boolean") return value;
    if (typeof value === "string") return this.admit(value);
    // An empty element takes room too.
    if (this.admit(" ".repeat(Math.min(value.length, this.limits.valueCharsMax))) === undefined) {
      return undefined;
    }
    const kept = value.slice(0, this.limits.valueCharsMax).map((one) => this.admit(one));
    return kept.every((one) => one !== undefined) ? kept : undefined;
  }
}
