/** Targets in virtual time, for casebook entries whose right answer is arithmetic. */
import type { Clock } from "../../src/clock/index.ts";
import type { Job, Outcome, Target } from "../../src/load/index.ts";

/** A plain answer without a stream; what differs is given. */
export function answer(sentUs: number, endUs: number, differs: Partial<Outcome> = {}): Outcome {
  return {
    failure: null,
    sentUs,
    headersUs: endUs,
    endUs,
    connection: "reused",
    stream: null,
    outputTokens: 1,
    ...differs,
  };
}

/** Answers `serviceUs` after it began, at most `slots` at a time; the others wait in the server. */
export class QueueServer implements Target {
  readonly #clock: Clock;
  readonly #serviceUs: number;
  readonly #freezeUntilUs: (nowUs: number) => number;
  readonly #freeAtUs: number[];
  inFlight = 0;
  inFlightMax = 0;

  constructor(
    clock: Clock,
    options: {
      readonly serviceUs: number;
      readonly slots: number;
      /** When work that would begin or go on at this instant may; default: at once. */
      readonly freezeUntilUs?: (nowUs: number) => number;
    },
  ) {
    this.#clock = clock;
    this.#serviceUs = options.serviceUs;
    this.#freezeUntilUs = options.freezeUntilUs ?? ((nowUs) => nowUs);
    this.#freeAtUs = new Array<number>(options.slots).fill(0);
  }

  send(_job: Job, done: (outcome: Outcome) => void): void {
    const sentUs = this.#clock.nowUs();
    this.inFlight += 1;
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
    const slot = this.#freeAtUs.indexOf(Math.min(...this.#freeAtUs));
    const beginUs = Math.max(sentUs, this.#freeAtUs[slot]!);
    const endUs = this.#freezeUntilUs(beginUs + this.#serviceUs);
    this.#freeAtUs[slot] = endUs;
    this.#clock.at(endUs, () => {
      this.inFlight -= 1;
      done(answer(sentUs, endUs));
    });
  }
}

/** Answers each request as the script says: after this long, with that. */
export class ScriptedTarget implements Target {
  readonly #clock: Clock;
  readonly #script: (index: number) => { afterUs: number; differs?: Partial<Outcome> };

  constructor(
    clock: Clock,
    script: (index: number) => { afterUs: number; differs?: Partial<Outcome> },
  ) {
    this.#clock = clock;
    this.#script = script;
  }

  send(job: Job, done: (outcome: Outcome) => void): void {
    const sentUs = this.#clock.nowUs();
    const { afterUs, differs } = this.#script(job.index);
    const endUs = sentUs + afterUs;
    this.#clock.at(endUs, () => done(answer(sentUs, endUs, differs)));
  }
}
