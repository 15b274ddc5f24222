/**
 * Sends an answer the way a fault wants it. It remembers how many chunks exist and how many are out, never the chunks:
 * a stalled answer of any length costs no memory, and what piled up leaves as fast as the client reads.
 *
 *     open ─▶ (slow head) ─▶ head ─▶ [script.at(sent) ─▶ wait · spoil · fail · cut]* ─▶ chunk ─▶ … ─▶ end
 *
 * Invariant: chunks leave in order, each once, none after the answer is over; no timer outlives the response.
 */
import type { ServerResponse } from "node:http";
import type { Cancel, Clock } from "../clock/index.ts";
import type { CutForm, FaultStatus } from "./fault.ts";
import type { FaultScript } from "./fault-script.ts";

/** The form that the answer has: a stream's tokens or a whole answer's pieces. */
export interface Outlet {
  head(): void;
  chunk(index: number): void;
  end(): void;
  /** Something that does not belong there. */
  spoil(): void;
  ping(): void;
  fail(status: FaultStatus): void;
}

export interface FaultedOutletOptions {
  readonly response: ServerResponse;
  readonly clock: Clock;
  readonly script: FaultScript;
  readonly outlet: Outlet;
  /** The fault happens, for the first time. */
  readonly onStrike: () => void;
}

export class FaultedOutlet {
  readonly #options: FaultedOutletOptions;
  #made = 0;
  #sent = 0;
  #isWhole = false;
  #isOver = false;
  /** The head has not gone, or a wait is on: nothing may be sent. */
  #isHeld = true;
  #hasStruck = false;
  #cancelWait: Cancel | undefined;
  #cancelPing: Cancel | undefined;

  constructor(options: FaultedOutletOptions) {
    this.#options = options;
    options.response.once("close", () => this.stop());
  }

  open(): void {
    const { script, outlet } = this.#options;
    const start = (): void => {
      outlet.head();
      this.#release();
    };
    if (script.headUs === 0) {
      start();
      return;
    }
    this.#strike();
    this.#after(script.headUs, start);
  }

  /** Chunks 0 … made − 1 exist. */
  grow(made: number): void {
    this.#made = made;
    this.#send();
  }

  /** There will be no more chunks. */
  complete(): void {
    this.#isWhole = true;
    this.#send();
  }

  /** Nothing more is sent. */
  stop(): void {
    this.#isOver = true;
    this.#cancelWait?.();
    this.#cancelPing?.();
  }

  #send(): void {
    const { script, outlet, response } = this.#options;
    while (!this.#isHeld && !this.#isOver) {
      const act = script.at(this.#sent);
      if (act !== undefined) {
        this.#strike();
        switch (act.do) {
          case "wait":
            this.#wait(act.us);
            break;
          case "spoil":
            outlet.spoil();
            break;
          case "fail":
            this.stop();
            outlet.fail(act.status);
            break;
          case "cut":
            this.#cut(act.how);
            break;
        }
      } else if (this.#sent < this.#made) {
        outlet.chunk(this.#sent);
        this.#sent += 1;
        if (response.writableNeedDrain) this.#holdUntilDrained();
      } else {
        if (this.#isWhole) {
          this.stop();
          outlet.end();
        }
        return;
      }
    }
  }

  #strike(): void {
    if (this.#hasStruck) return;
    this.#hasStruck = true;
    this.#options.onStrike();
  }

  #wait(us: number): void {
    this.#isHeld = true;
    if (us !== Number.POSITIVE_INFINITY) this.#after(us, () => this.#release());
    const { pingUs } = this.#options.script;
    if (pingUs !== undefined) this.#pingEvery(pingUs);
  }

  #pingEvery(pingUs: number): void {
    const { clock, outlet, response } = this.#options;
    this.#cancelPing = clock.at(clock.nowUs() + pingUs, () => {
      // Whoever does not read gets no more pings on top.
      if (!response.writableNeedDrain) outlet.ping();
      this.#pingEvery(pingUs);
    });
  }

  #holdUntilDrained(): void {
    this.#isHeld = true;
    this.#options.response.once("drain", () => this.#release());
  }

  #release(): void {
    this.#cancelPing?.();
    this.#isHeld = false;
    this.#send();
  }

  /** In the next turn of the event loop, so that what was written before is on its way. */
  #cut(how: CutForm): void {
    this.stop();
    const { clock, response } = this.#options;
    clock.at(clock.nowUs(), () => cutResponse(response, how));
  }

  #after(us: number, run: () => void): void {
    const { clock } = this.#options;
    this.#cancelWait = clock.at(clock.nowUs() + us, run);
  }
}

export function cutResponse(response: ServerResponse, how: CutForm): void {
  if (how === "end") response.end();
  else if (how === "fin") response.socket?.destroySoon();
  else response.socket?.resetAndDestroy();
}
