/** One call that was begun on a guess, from there to the call of the model that takes it over, or to nothing. */
import type { CallRun } from "../call-run.ts";
import type { Tool } from "../tool.ts";
import type { PrefetchDesk, ThrowAway } from "./prefetch-desk.ts";

const WORDS: Readonly<Record<ThrowAway, string>> = {
  missed: "begun on a guess, and not asked for",
  stale: "begun on a guess, and too old now",
  evicted: "its place is needed",
  failed: "begun on a guess, and failed",
  changed: "something has changed since it began",
  ended: "the message asks for nothing",
};

export class BegunCall {
  readonly tool: Tool;
  /** From 1: for the message of which step it was begun. */
  step: number;
  run: CallRun | undefined;
  readonly #desk: PrefetchDesk;
  readonly #cost: number;
  #state: "open" | "adopted" | "thrown-away" = "open";
  #isRunning = true;

  constructor(tool: Tool, step: number, desk: PrefetchDesk) {
    this.tool = tool;
    this.step = step;
    this.#desk = desk;
    this.#cost = tool.prefetch?.cost ?? 1;
    desk.running += 1;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** It has come to an end by itself; its result may be waiting. */
  settled(): void {
    if (this.#isRunning) this.#desk.running -= 1;
    this.#isRunning = false;
  }

  isStale(nowUs: number): boolean {
    const endedUs = this.run?.outcome?.endedUs;
    return endedUs !== undefined && nowUs - endedUs > this.#desk.freshUs;
  }

  /** @returns the run, for a call of the model that begins now. */
  adopt(callId: string, nowUs: number): CallRun {
    const run = this.run!;
    this.#state = "adopted";
    this.settled();
    this.#desk.hits += 1;
    this.#desk.governor.purse.close(this.#cost, false);
    run.adopt(callId);
    const { startedUs } = run;
    run.whenSettled(({ endedUs }) => {
      if (startedUs === null) return;
      // Begun now it would have taken as long.
      this.#desk.savedUs += Math.min(nowUs - startedUs, endedUs - startedUs);
    });
    return run;
  }

  throwAway(why: ThrowAway, nowUs: number): void {
    if (this.#state !== "open") return;
    this.#state = "thrown-away";
    this.settled();
    const startedUs = this.run?.startedUs ?? null;
    this.#desk.governor.purse.close(this.#cost, startedUs !== null);
    if (startedUs === null) return;
    this.#desk.threwAway(why);
    this.#desk.wastedUs += (this.run?.outcome?.endedUs ?? nowUs) - startedUs;
    this.run?.revoke(WORDS[why]);
  }

  /** It was never begun: blocked, or with arguments that do not fit. */
  notBegun(): void {
    if (this.#state !== "open") return;
    this.#state = "thrown-away";
    this.settled();
    this.#desk.governor.purse.close(this.#cost, false);
  }
}
