/**
 * Text that is checked in windows while it grows. Positions are in characters (UTF-16 units) from its beginning:
 *
 *     released │◄ overlap ►│          unchecked
 *     ─────────┴───────────┴──────────────────────
 *              cleared     windowEnd              end
 *              └── the next window begins here
 *
 * A window that is full, or the last one, does not wait for the verdict on the one before it: a slow check then costs its own
 * time once, at the end, and not what is left of the one before besides.
 *
 * Invariant: what lies before `cleared` was in a clean window together with the `overlapChars` that follow it, so that bad
 * text of that length is whole in a window before its first character is cleared (its end is no less safe: nothing follows).
 */
import { Cascade, type CascadeEnd, type CheckDesk } from "./cascade.ts";
import type { GuardPolicy, Verdict } from "./guard-policy.ts";

interface Window {
  readonly cascade: Cascade;
  readonly end: number;
}

/** Windows of one text at once; a check that is slower than the text holds it back. */
const WINDOWS_MAX = 4;

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
  /** Under way, in their order; the verdict on one counts when those before it are clean. */
  #windows: Window[] = [];

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
    return this.#windows.some(({ cascade }) => cascade.owns(check));
  }

  /** When `advance` has something to do at the latest, if nothing happens. */
  get dueUs(): number {
    let dueUs = Number.POSITIVE_INFINITY;
    for (const { cascade } of this.#windows) dueUs = Math.min(dueUs, cascade.dueUs);
    const isWaiting = this.#windows.length === 0 && this.#end > this.#windowEnd && this.#hasNews;
    return isWaiting ? this.#waitsSinceUs + this.#policy.waitUs : dueUs;
  }

  /** Takes what has been decided and opens the next window if there is one. @returns a refusal, if that is what it came to. */
  advance(nowUs: number): CascadeEnd | undefined {
    for (;;) {
      for (const { cascade } of this.#windows) {
        cascade.advance(nowUs);
        // However the windows before it turn out, this is not going out whole.
        if (cascade.end !== undefined && cascade.end.outcome !== "clean") return cascade.end;
      }
      while (this.#windows[0]?.cascade.end !== undefined) {
        const { end } = this.#windows.shift()!;
        this.#cleared = Math.max(this.#cleared, end - this.#policy.overlapChars);
      }
      // Nothing follows what was checked to its end.
      const isChecked = this.#windows.length === 0 && this.#windowEnd === this.#end;
      if (this.#isOver && isChecked) this.#cleared = this.#end;
      if (!this.#isWindow(nowUs)) return undefined;
      this.#open(nowUs);
    }
  }

  verdict(check: number, verdict: Verdict, nowUs: number): void {
    for (const { cascade } of this.#windows) cascade.verdict(check, verdict, nowUs);
  }

  stop(): void {
    for (const { cascade } of this.#windows) cascade.stop();
  }

  /** A window that lets nothing out would be work for nothing. */
  get #hasNews(): boolean {
    return this.#end - this.#policy.overlapChars > this.#cleared;
  }

  #isWindow(nowUs: number): boolean {
    const fresh = this.#end - this.#windowEnd;
    if (fresh === 0 || this.#windows.length >= WINDOWS_MAX) return false;
    if (this.#isOver) return true;
    if (!this.#hasNews) return false;
    const { windowChars, waitUs } = this.#policy;
    if (this.#windows.length > 0) return windowChars > 0 && fresh >= windowChars;
    return fresh >= windowChars || nowUs >= this.#waitsSinceUs + waitUs;
  }

  #open(nowUs: number): void {
    const cascade = new Cascade("output", this.#text, this.#desk, nowUs);
    this.#windowEnd = this.#end;
    this.#windows.push({ cascade, end: this.#end });
    const next = this.#end - this.#policy.overlapChars;
    if (next <= this.#from) return;
    this.#text = this.#text.slice(next - this.#from);
    this.#from = next;
  }
}
