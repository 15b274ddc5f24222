/** What is checked in one piece, once it is whole: the arguments of a tool call, of which half may do harm. */
import { Cascade, type CascadeEnd, type CheckDesk } from "./cascade.ts";
import type { Verdict } from "./guard-policy.ts";

export class WholeChannel {
  readonly #desk: CheckDesk;
  #cascade: Cascade | undefined;
  #hasEnded = false;
  #isClear = false;

  constructor(desk: CheckDesk) {
    this.#desk = desk;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isClear(): boolean {
    return this.#isClear;
  }

  /** @param text all of it. */
  complete(text: string, nowUs: number): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cascade = new Cascade("output", text, this.#desk, nowUs);
  }

  owns(check: number): boolean {
    return this.#cascade?.owns(check) ?? false;
  }

  get dueUs(): number {
    return this.#cascade?.dueUs ?? Number.POSITIVE_INFINITY;
  }

  advance(nowUs: number): CascadeEnd | undefined {
    this.#cascade?.advance(nowUs);
    const end = this.#cascade?.end;
    if (end === undefined) return undefined;
    this.#cascade = undefined;
    if (end.outcome !== "clean") return end;
    this.#isClear = true;
    return undefined;
  }

  verdict(check: number, verdict: Verdict, nowUs: number): void {
    this.#cascade?.verdict(check, verdict, nowUs);
  }

  stop(): void {
    this.#cascade?.stop();
  }
}
