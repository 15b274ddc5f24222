/**
 * Drives `Admission` for the gateway: one timer, and each decision to the call that waits for it. A call gets a ticket and
 * gives it back once, whatever becomes of it.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../clock/index.ts";
import {
  Admission,
  type AdmissionOptions,
  type AdmissionRequest,
  type AdmissionSnapshot,
  type Decision,
  type Outcome,
  type Refused,
} from "../policy/index.ts";
import { DueTimer } from "./due-timer.ts";

export interface Waiting {
  /** Its turn has come. */
  admitted(waitedUs: number): void;
  refused(refusal: Refused): void;
}

export class AdmissionDesk {
  readonly #options: AdmissionOptions;
  readonly #admission: Admission;
  readonly #clock: Clock;
  readonly #timer: DueTimer;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;

  /** @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: AdmissionOptions, clock: Clock) {
    this.#options = options;
    this.#admission = new Admission(options);
    this.#clock = clock;
    this.#timer = new DueTimer(clock, () => this.#tell(this.#admission.advance(clock.nowUs())));
  }

  hasOptions(options: AdmissionOptions): boolean {
    return isDeepStrictEqual(options, this.#options);
  }

  ticket(): Ticket {
    this.#nextId += 1;
    return new Ticket(this.#nextId, this);
  }

  enter(request: AdmissionRequest, waiting: Waiting): void {
    this.#waiting.set(request.id, waiting);
    this.#tell([this.#admission.offer(request, this.#clock.nowUs())]);
  }

  firstContent(id: number, ttftUs: number): void {
    this.#tell(this.#admission.firstContent(id, ttftUs, this.#clock.nowUs()));
  }

  finish(id: number, outcome: Outcome): void {
    this.#tell(this.#admission.finish(id, outcome, this.#clock.nowUs()));
  }

  cancel(id: number): void {
    this.#waiting.delete(id);
    this.#tell(this.#admission.cancel(id, this.#clock.nowUs()));
  }

  snapshot(): AdmissionSnapshot {
    return this.#admission.snapshot(this.#clock.nowUs());
  }

  /** No more calls will enter; those that wait here still get their turn. */
  retire(): void {
    if (this.#waiting.size === 0) this.#timer.stop();
  }

  #tell(decisions: readonly Decision[]): void {
    for (const decision of decisions) {
      if (decision.kind === "queue") continue;
      const waiting = this.#waiting.get(decision.id);
      this.#waiting.delete(decision.id);
      if (decision.kind === "admit") waiting?.admitted(decision.waitedUs);
      else waiting?.refused(decision);
    }
    this.#timer.arm(this.#admission.nextDueUs);
  }
}

/** One call's place; everything but the first end is ignored. */
export class Ticket {
  readonly #id: number;
  readonly #desk: AdmissionDesk;
  #isOver = false;

  constructor(id: number, desk: AdmissionDesk) {
    this.#id = id;
    this.#desk = desk;
  }

  /** Tells `waiting` once, at once or later. */
  enter(request: Omit<AdmissionRequest, "id">, waiting: Waiting): void {
    this.#desk.enter({ ...request, id: this.#id }, waiting);
  }

  /** @param ttftUs from sending upstream. */
  firstContent(ttftUs: number): void {
    if (!this.#isOver) this.#desk.firstContent(this.#id, ttftUs);
  }

  finish(outcome: Outcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#desk.finish(this.#id, outcome);
  }

  /** The caller has left. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#desk.cancel(this.#id);
  }
}
