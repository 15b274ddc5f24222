/** The least that drives an `Admission` on a clock: calls back for each decision and keeps the timer for what is due. */
import type { Cancel, Clock } from "../../src/clock/index.ts";
import type {
  Admission,
  AdmissionRequest,
  Decision,
  Outcome,
  Refused,
} from "../../src/policy/index.ts";

export interface DriverSink {
  onAdmit(request: AdmissionRequest, nowUs: number): void;
  onRefuse?(request: AdmissionRequest, refusal: Refused, nowUs: number): void;
}

export class AdmissionDriver {
  readonly #clock: Clock;
  readonly #admission: Admission;
  readonly #sink: DriverSink;
  readonly #requests = new Map<number, AdmissionRequest>();
  #cancelTimer: Cancel | undefined;
  #timerUs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, admission: Admission, sink: DriverSink) {
    this.#clock = clock;
    this.#admission = admission;
    this.#sink = sink;
  }

  offer(request: AdmissionRequest): Decision {
    this.#requests.set(request.id, request);
    const decision = this.#admission.offer(request, this.#clock.nowUs());
    this.#apply([decision]);
    return decision;
  }

  firstContent(id: number, ttftUs: number): void {
    this.#apply(this.#admission.firstContent(id, ttftUs, this.#clock.nowUs()));
  }

  finish(id: number, outcome: Outcome): void {
    this.#requests.delete(id);
    this.#apply(this.#admission.finish(id, outcome, this.#clock.nowUs()));
  }

  cancel(id: number): void {
    this.#requests.delete(id);
    this.#apply(this.#admission.cancel(id, this.#clock.nowUs()));
  }

  #apply(decisions: readonly Decision[]): void {
    for (const decision of decisions) {
      const request = this.#requests.get(decision.id)!;
      if (decision.kind === "admit") this.#sink.onAdmit(request, this.#clock.nowUs());
      if (decision.kind !== "refuse") continue;
      this.#requests.delete(decision.id);
      this.#sink.onRefuse?.(request, decision, this.#clock.nowUs());
    }
    this.#watch();
  }

  #watch(): void {
    const dueUs = this.#admission.nextDueUs;
    if (dueUs === this.#timerUs) return;
    this.#cancelTimer?.();
    this.#timerUs = dueUs;
    if (dueUs === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = this.#clock.at(dueUs, () => {
      this.#timerUs = Number.POSITIVE_INFINITY;
      this.#apply(this.#admission.advance(this.#clock.nowUs()));
    });
  }
}
