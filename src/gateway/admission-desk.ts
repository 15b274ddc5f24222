/**
 * Drives `Admission` for the gateway: one timer, and each decision to the call that waits for it. A call gets a ticket and
 * gives it back once, whatever becomes of it.
 *
 * Where gateways share limits, an admission of a tenant that has some is only half of it: the shared ones are asked too,
 * and a no from there puts the call back at the head of its line.
 *
 *     enter ─► Admission ─ admit ─► has its tenant limits? ─ no ──────────────► admitted
 *                 ▲                   └ yes ─► SharedGate ─┬─ granted ────────► admitted
 *                 └──────────────── defer ◄──── denied ────┘
 */
import { isDeepStrictEqual } from "node:util";
import { type Clock, DueTimer } from "../clock/index.ts";
import { IdMap } from "../core/index.ts";
import {
  Admission,
  type AdmissionOptions,
  type AdmissionRequest,
  type AdmissionSnapshot,
  type Admitted,
  type Decision,
  type Outcome,
  type Refused,
  type TenantLimits,
} from "../policy/index.ts";
import { type Denied, SharedGate, type SharedLimits } from "./shared-state/index.ts";

export interface Waiting {
  /** Its turn has come. */
  admitted(lane: string): void;
  refused(refusal: Refused): void;
}

interface Entered {
  readonly tenant: string;
  readonly waiting: Waiting;
}

export class AdmissionDesk {
  readonly #options: AdmissionOptions;
  readonly #admission: Admission;
  readonly #clock: Clock;
  readonly #timer: DueTimer;
  readonly #gate: SharedGate | null;
  readonly #entered = new IdMap<Entered>();
  /** Tenants of calls that were let in, as long as the gate holds something for them. */
  readonly #tenants = new IdMap<string>();
  /** Tenants that had to wait for a place that another gateway, or one of their own calls, has. */
  readonly #outOfPlaces = new Set<string>();
  #nextId = 0;

  /** @param shared null: this gateway's own limits are all there is. @throws MANX_CONFIG_IMPOSSIBLE */
  constructor(options: AdmissionOptions, clock: Clock, shared: SharedLimits | null = null) {
    this.#options = options;
    this.#admission = new Admission(options);
    this.#clock = clock;
    this.#gate = shared === null ? null : new SharedGate(shared);
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
    this.#entered.set(request.id, { tenant: request.tenant, waiting });
    this.#tell([this.#admission.offer(request, this.#clock.nowUs())]);
  }

  firstContent(id: number, ttftUs: number): void {
    this.#tell(this.#admission.firstContent(id, ttftUs, this.#clock.nowUs()));
  }

  finish(id: number, outcome: Outcome): void {
    const more = this.#giveBack(id, outcome.inputTokens + outcome.outputTokens);
    this.#tell(this.#admission.finish(id, outcome, this.#clock.nowUs()), more);
  }

  cancel(id: number): void {
    this.#entered.delete(id);
    const more = this.#giveBack(id);
    this.#tell(this.#admission.cancel(id, this.#clock.nowUs()), more);
  }

  snapshot(): AdmissionSnapshot {
    return this.#admission.snapshot(this.#clock.nowUs());
  }

  /** No more calls will enter; those that wait here still get their turn. */
  retire(): void {
    if (this.#entered.size === 0) this.#timer.stop();
  }

  #tell(decisions: readonly Decision[], more: readonly Decision[] = NONE): void {
    for (const decision of decisions) this.#tellOne(decision);
    for (const decision of more) this.#tellOne(decision);
    this.#timer.arm(this.#admission.nextDueUs);
  }

  #tellOne(decision: Decision): void {
    if (decision.kind === "queue") return;
    if (decision.kind === "admit") this.#admit(decision);
    else this.#take(decision.id)?.waiting.refused(decision);
  }

  #admit({ id, lane, tokens }: Admitted): void {
    const tenant = this.#entered.get(id)?.tenant;
    if (tenant === undefined) return;
    const limit = this.#admission.limitsOf(tenant);
    if (this.#gate === null || !isLimited(limit)) {
      this.#take(id)?.waiting.admitted(lane);
      return;
    }
    this.#tenants.set(id, tenant);
    this.#gate.ask(id, { tenant, limit, tokens }, (denied) => {
      if (denied !== undefined) this.#defer(id, tenant, denied);
      else this.#take(id)?.waiting.admitted(lane);
    });
  }

  #defer(id: number, tenant: string, { reason, retryAfterUs }: Denied): void {
    this.#tenants.delete(id);
    if (reason === "concurrency") this.#outOfPlaces.add(tenant);
    const nowUs = this.#clock.nowUs();
    this.#tell(this.#admission.defer(id, nowUs + retryAfterUs, nowUs));
  }

  /** @returns who goes because of it: one of the tenant's own calls may have had the place that its others wait for. */
  #giveBack(id: number, tokens?: number): readonly Decision[] {
    const tenant = this.#tenants.get(id);
    this.#tenants.delete(id);
    if (tenant === undefined || this.#gate?.end(id, tokens) !== true) return NONE;
    if (!this.#outOfPlaces.delete(tenant)) return NONE;
    return this.#admission.undefer(tenant, this.#clock.nowUs());
  }

  #take(id: number): Entered | undefined {
    const entered = this.#entered.get(id);
    this.#entered.delete(id);
    return entered;
  }
}

const NONE: readonly Decision[] = [];

function isLimited({ concurrencyMax, tokensPerMinute }: TenantLimits): boolean {
  return Number.isFinite(concurrencyMax) || Number.isFinite(tokensPerMinute);
}

/** One call's place; everything but the first end is ignored. */
export class Ticket {
  readonly id: number;
  readonly #desk: AdmissionDesk;
  #isOver = false;

  constructor(id: number, desk: AdmissionDesk) {
    this.id = id;
    this.#desk = desk;
  }

  /** @param request with this ticket's id. @param waiting told once, at once or later. */
  enter(request: AdmissionRequest, waiting: Waiting): void {
    this.#desk.enter(request, waiting);
  }

  /** @param ttftUs from sending upstream. */
  firstContent(ttftUs: number): void {
    if (!this.#isOver) this.#desk.firstContent(this.id, ttftUs);
  }

  finish(outcome: Outcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#desk.finish(this.id, outcome);
  }

  /** The caller has left. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#desk.cancel(this.id);
  }
}
