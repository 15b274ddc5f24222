/**
 * Text that is checked in windows while it grows. Positions are in characters (UTF-16 units) from its beginning:
 *
 *     released │◄ overlap ►│          unchecked
 *     ─────────┴───────────┴──────────────────────
 *              cleared     windowEnd              end
 *              └── the next window begins here
 *
 * Invariant: what lies before `cleared` was in a clean window together with the `overlapChars` that follow it, so that bad
 * text of that length is whole in a window before its first character is cleared (its end is no less safe: nothing follows).
 */
import { Cascade, type CascadeEnd, type CheckDesk } from "./cascade.ts";
import type { GuardPolicy } from "./guard-policy.ts";

export class ProseChannel {
  readonly #policy: GuardPolicy;
  readonly #desk: CheckDesk;
  /** From `from` on. */
  #text = "";
  /** Where the next window begins: `overlapChars` before the end of the last one. */
  #from = 0;
  #end = 0;
  #cleared = 0;
  #windowEnd = 0;
  /** When the first character came that is in no window yet. */
  #waitsSinceUs = 0;
  #isOver = false;
  #cascade: Cascade | undefined;

  constructor(policy: GuardPolicy, desk: CheckDesk) {
    this.#policy = policy;
    this.#desk = desk;
  }

  /** How much of it there is. */
  get end(): number {
    return this.#end;
  }

  /** How much of it may go out. */
  get cleared(): number {
    return this.#cleared;
  }

  add(text: string, nowUs: number): void {
    if (text === "") return;
    if (this.#end === this.#windowEnd) this.#waitsSinceUs = nowUs;
    this.#text += text;
    this.#end += text.length;
    this.#isOver = false;
  }

  /** Something else follows it: all that there is may be checked and released. */
  close(): void {
    this.#isOver = true;
  }

  owns(check: number): boolean {
    return this.#cascade?.owns(check) ?? false;
  }

  /** When `advance` has something to do at the latest, if nothing happens. */
  get dueUs(): number {
    if (this.#cascade !== undefined) return this.#cascade.dueUs;
    const { overlapChars, waitUs } = this.#policy;
    const isWaiting = this.#end > this.#windowEnd && this.#end - overlapChars > this.#cleared;
    return isWaiting ? this.#waitsSinceUs + waitUs : Number.POSITIVE_INFINITY;
  }

  /** Takes what has been decided and opens the next window if there is one. @returns a refusal, if that is what it came to. */
  advance(nowUs: number): CascadeEnd | undefined {
    for (;;) {
      this.#cascade?.advance(nowUs);
      const end = this.#cascade?.end;
      if (end !== undefined) {
        this.#cascade = undefined;
        if (end.outcome !== "clean") return end;
        this.#moveOn(this.#windowEnd - this.#policy.overlapChars);
      }
      if (this.#cascade !== undefined) return undefined;
      // Nothing follows what was checked to its end.
      if (this.#isOver && this.#windowEnd === this.#end) this.#cleared = this.#end;
      if (!this.#isWindow(nowUs)) return undefined;
      this.#windowEnd = this.#end;
      this.#cascade = new Cascade("output", this.#text, this.#desk, nowUs);
    }
  }

  verdict(check: number, verdict: Parameters<Cascade["verdict"]>[1], nowUs: number): void {
    this.#cascade?.verdict(check, verdict, nowUs);
  }

  stop(): void {
    this.#cascade?.stop();
  }

  #isWindow(nowUs: number): boolean {
    const fresh = this.#end - this.#windowEnd;
    if (fresh === 0) return false;
    if (this.#isOver) return true;
    const { windowChars, overlapChars, waitUs } = this.#policy;
    // A window that lets nothing out would be work for nothing.
    if (this.#end - overlapChars <= this.#cleared) return false;
    return fresh >= windowChars || nowUs >= this.#waitsSinceUs + waitUs;
  }

  #moveOn(position: number): void {
    if (position > this.#from) {
      this.#text = this.#text.slice(position - this.#from);
      this.#from = position;
    }
    this.#cleared = Math.max(this.#cleared, position);
  }
}
