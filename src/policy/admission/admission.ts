/**
 * Who may start, who waits and who is sent away: the gateway's queue in front of an upstream, as a synchronous machine.
 *
 *     offer ─▶ admit ─────────────────────▶ (firstContent) ─▶ finish | cancel | defer
 *           ─▶ queue ─▶ admit, later ─────▶
 *                    ─▶ refuse, later
 *           ─▶ refuse
 *
 * A request belongs to the lane of its predicted size. Shorter lanes go first, each has places that are its own, and a
 * cap on the tokens of the longer ones keeps them from filling the upstream. In a lane the better class goes first, and
 * waiting improves the class; in a class the tenant that has been served least (`tenant.ts`); in a tenant first come.
 *
 * Invariants: each id that was offered ends exactly once. After every call nobody waits who may go: the head of each lane
 * waits for a place, for tokens of its lane, or its tenant for a limit of its own. A call costs O(lanes + log waiting)
 * for each request that it decides about.
 */
import { assert, type ErrorCode, IdMap } from "../../core/index.ts";
import {
  type AdmissionOptions,
  type AdmissionSettings,
  admissionSettings,
  type TenantLimits,
} from "./admission-options.ts";
import {
  type AdmissionRequest,
  type Admitted,
  type Decision,
  type Outcome,
  REFUSAL_REASONS,
  type RefusalReason,
  type Refused,
} from "./decision.ts";
import { CLASSES, type Entry, Lane } from "./lane.ts";
import { Places } from "./places.ts";
import { SizePredictor } from "./size-predictor.ts";
import { type AdmissionSnapshot, takeSnapshot } from "./snapshot.ts";
import { TenantLedger } from "./tenant-ledger.ts";
import { concurrencyWaitUs, laneAhead, laneWaitUs, rateWaitUs } from "./wait-estimate.ts";
import { WaitingRoom } from "./waiting-room.ts";

const CODES: Readonly<Record<RefusalReason, ErrorCode>> = {
  "queue-full": "MANX_OVERLOADED",
  "tenant-queue-full": "MANX_OVERLOADED",
  age: "MANX_OVERLOADED",
  deadline: "MANX_OVERLOADED",
  "deadline-passed": "MANX_DEADLINE",
  rate: "MANX_RATE_LIMITED",
  concurrency: "MANX_RATE_LIMITED",
};

/** When nothing of a lane has ended yet, so that nothing is known of how it drains. */
const RETRY_UNKNOWN_US = 1_000_000;

interface Refusal {
  readonly reason: RefusalReason;
  readonly retryAfterUs: number;
}

export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #lanes: readonly Lane[];
  readonly #places: Places;
  readonly #ledger: TenantLedger;
  readonly #room: WaitingRoom;
  readonly #predictor: SizePredictor;
  readonly #entries = new IdMap<Entry>();
  readonly #refused = Object.fromEntries(REFUSAL_REASONS.map((reason) => [reason, 0])) as Record<
    RefusalReason,
    number
  >;
  #admitted = 0;

  /** @throws MANX_CONFIG_IMPOSSIBLE naming the limit */
  constructor(options: AdmissionOptions = {}) {
    this.#settings = admissionSettings(options);
    this.#lanes = this.#settings.lanes.map((lane, index) => new Lane(lane, index));
    this.#places = new Places(this.#lanes, this.#settings.concurrency);
    this.#ledger = new TenantLedger(this.#lanes, this.#settings);
    this.#room = new WaitingRoom(this.#ledger, this.#settings);
    this.#predictor = new SizePredictor(this.#settings.predictor);
  }

  /** When `advance` has something to do, in µs; Infinity if never. */
  get nextDueUs(): number {
    return this.#room.nextDueUs;
  }

  /** A new request. A decision of kind "queue" is followed by one more about the same id, from another call. */
  offer(request: AdmissionRequest, nowUs: number): Decision {
    assert(!this.#entries.has(request.id), "an id is offered once");
    const entry = this.#entry(request, nowUs);
    const { tenant, lane } = entry;
    if (request.deadlineUs <= nowUs) {
      return this.#refuse(entry, { reason: "deadline-passed", retryAfterUs: 0 });
    }
    this.#entries.set(request.id, entry);
    const isAlone = lane.next() === undefined && tenant.heldUntilUs === 0;
    if (isAlone && tenant.blockedUntilUs(nowUs) === 0 && this.#hasRoom(entry)) {
      if (tenant.queued === 0) this.#ledger.lift(tenant);
      return this.#start(entry, nowUs);
    }
    this.#room.join(entry, nowUs);
    // With a better class, a smaller counter or a smaller size it may go before those that wait. Nobody else may: what
    // they wait for has not come.
    if (lane.next()?.head === entry && this.#hasRoom(entry)) {
      this.#room.leave(entry);
      return this.#start(entry, nowUs);
    }
    const refusal = this.#refusal(entry, nowUs);
    if (refusal !== undefined) {
      this.#room.leave(entry);
      this.#entries.delete(request.id);
      return this.#refuse(entry, refusal);
    }
    const estimateUs = this.#waitUs(entry, nowUs);
    return {
      kind: "queue",
      id: request.id,
      lane: lane.name,
      position: laneAhead(entry),
      estimateUs,
    };
  }

  /**
   * The first content has come: tells the adaptive limit at once, since the end of an answer may be a minute away.
   *
   * @param ttftUs as in `Outcome`, where it is then ignored.
   */
  firstContent(id: number, ttftUs: number, nowUs: number): readonly Decision[] {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isWaiting) return [];
    const before = this.#places.total;
    this.#sample(entry, ttftUs, nowUs);
    return this.#places.total > before ? this.#dispatch(nowUs) : [];
  }

  /** It has ended upstream. Answers who starts now. An id that is not running is ignored: an answer and a hang-up may cross. */
  finish(id: number, outcome: Outcome, nowUs: number): readonly Decision[] {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isWaiting) return [];
    const { tenant, request, tokens, outputTokens } = entry;
    if (outcome.ttftUs !== undefined) this.#sample(entry, outcome.ttftUs, nowUs);
    if (outcome.ok) this.#predictor.record(request.route, outcome.outputTokens);
    else this.#places.failed(nowUs);
    this.#end(entry, nowUs);
    const output = outcome.outputTokens - outputTokens;
    const input = outcome.inputTokens - (tokens - outputTokens);
    tenant.bucket?.settle(input + output, nowUs);
    tenant.charge(input + output * this.#settings.outputWeight);
    this.#room.review(tenant, nowUs);
    return this.#dispatch(nowUs);
  }

  /**
   * The client has left, in the queue or while it ran. What it ran up stays charged as predicted; call `finish` instead
   * where the tokens so far are known.
   */
  cancel(id: number, nowUs: number): readonly Decision[] {
    const entry = this.#entries.get(id);
    if (entry === undefined) return [];
    if (entry.isWaiting) {
      this.#room.leave(entry);
      this.#entries.delete(id);
    } else {
      this.#end(entry, nowUs);
      this.#room.review(entry.tenant, nowUs);
    }
    return this.#dispatch(nowUs);
  }

  /**
   * Takes back an admission that has sent nothing yet, because a limit kept elsewhere says no: it waits again at the head
   * of its line, and its tenant with it, until `untilUs`. It is refused at once if it may not wait for that long.
   */
  defer(id: number, untilUs: number, nowUs: number): readonly Decision[] {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isWaiting) return [];
    const { tenant, tokens, outputTokens, expiresUs } = entry;
    this.#places.free(entry.lane, tokens);
    this.#admitted -= 1;
    tenant.inFlight -= 1;
    tenant.bucket?.settle(-tokens, nowUs);
    tenant.charge(-tokens - outputTokens * (this.#settings.outputWeight - 1));
    tenant.deferredUs = Math.max(tenant.deferredUs, untilUs);
    const decisions: Decision[] = [];
    if (untilUs >= expiresUs) {
      this.#entries.delete(id);
      this.#room.review(tenant, nowUs);
      decisions.push(this.#refuse(entry, { reason: "rate", retryAfterUs: untilUs - nowUs }));
    } else {
      this.#room.join(entry, nowUs, true);
      this.#room.review(tenant, nowUs);
    }
    decisions.push(...this.#dispatch(nowUs));
    return decisions;
  }

  /** A limit kept elsewhere may have room again: those of the tenant that `defer` holds back need not wait for its time. */
  undefer(name: string, nowUs: number): readonly Decision[] {
    const tenant = this.#ledger.find(name);
    if (tenant === undefined || tenant.deferredUs <= nowUs) return [];
    tenant.deferredUs = 0;
    this.#room.review(tenant, nowUs);
    return this.#dispatch(nowUs);
  }

  /** Limits of a tenant's own, whether it has been seen or not. */
  limitsOf(name: string): TenantLimits {
    return this.#settings.tenants.get(name) ?? this.#settings.tenant;
  }

  /** Time has passed: refuses who has waited too long, ages the others, lets in whom a limit of their own had held. */
  advance(nowUs: number): readonly Decision[] {
    const decisions: Decision[] = [];
    for (;;) {
      const entry = this.#room.settle(nowUs);
      if (entry === undefined) break;
      decisions.push(this.#expire(entry, nowUs));
    }
    decisions.push(...this.#dispatch(nowUs));
    return decisions;
  }

  /** @param tenantsMax tenants listed: those with the most waiting, then the most in flight. */
  snapshot(nowUs: number, tenantsMax = 20): AdmissionSnapshot {
    return takeSnapshot({
      nowUs,
      lanes: this.#lanes,
      places: this.#places,
      tenants: this.#ledger,
      tenantsMax,
      entries: this.#entries.values(),
      admitted: this.#admitted,
      refused: { ...this.#refused },
    });
  }

  #entry(request: AdmissionRequest, nowUs: number): Entry {
    const outputTokens = this.#predictor.predict(request.route, request.outputTokensMax);
    const tokens = request.inputTokens + outputTokens;
    assert(request.inputTokens >= 0 && Number.isFinite(tokens), "a prompt has a number of tokens");
    const lane = this.#lanes.find((one) => tokens <= one.options.tokensMax)!;
    const tenant = this.#ledger.tenantOf(request.tenant, this.#entries.size, nowUs);
    const priority = Math.min(CLASSES - 1, Math.max(0, Math.floor(request.priority)));
    return {
      request,
      tenant,
      lane,
      tokens,
      outputTokens,
      line: tenant.line(lane, priority),
      before: undefined,
      after: undefined,
      isWaiting: false,
      place: -1,
      priority,
      offeredUs: nowUs,
      expiresUs: Math.min(request.deadlineUs, nowUs + this.#settings.ageMaxUs),
      dueUs: Number.POSITIVE_INFINITY,
      startedUs: Number.NaN,
      inFlightAtStart: 0,
    };
  }

  #hasRoom(entry: Entry): boolean {
    return entry.lane.takes(entry.tokens) && this.#places.has(entry.lane);
  }

  /** Lets in all that may go, shorter lanes first. */
  #dispatch(nowUs: number): Decision[] {
    const decisions: Decision[] = [];
    for (const lane of this.#lanes) {
      for (let line = lane.next(); line !== undefined; line = lane.next()) {
        const entry = line.head!;
        if (entry.expiresUs <= nowUs) decisions.push(this.#expire(entry, nowUs));
        else if (this.#hasRoom(entry)) {
          this.#room.leave(entry);
          decisions.push(this.#start(entry, nowUs));
        } else break;
      }
    }
    return decisions;
  }

  #start(entry: Entry, nowUs: number): Admitted {
    const { tenant, lane, tokens, outputTokens, request, offeredUs } = entry;
    this.#places.take(lane, tokens);
    tenant.inFlight += 1;
    tenant.bucket?.take(tokens, nowUs);
    tenant.charge(tokens + outputTokens * (this.#settings.outputWeight - 1));
    entry.startedUs = nowUs;
    entry.inFlightAtStart = this.#places.inFlight;
    this.#admitted += 1;
    if (tenant.queued === 0) this.#ledger.left(tenant);
    else this.#room.review(tenant, nowUs);
    const waitedUs = nowUs - offeredUs;
    return { kind: "admit", id: request.id, lane: lane.name, waitedUs, tokens };
  }

  #end(entry: Entry, nowUs: number): void {
    this.#entries.delete(entry.request.id);
    this.#places.free(entry.lane, entry.tokens);
    entry.tenant.inFlight -= 1;
    entry.lane.served(nowUs - entry.startedUs);
  }

  #sample(entry: Entry, ttftUs: number, nowUs: number): void {
    if (entry.inFlightAtStart === 0) return;
    const { inFlightAtStart: inFlight, request } = entry;
    entry.inFlightAtStart = 0;
    const isPressed = this.#room.size > 0 || this.#places.inFlight >= this.#places.total;
    const { inputTokens } = request;
    this.#places.sample({ inputTokens, ttftUs, inFlight, isPressed }, nowUs);
  }

  #expire(entry: Entry, nowUs: number): Refused {
    const { tenant, request, expiresUs } = entry;
    const { heldUntilUs } = tenant;
    const retryAfterUs = this.#waitUs(entry, nowUs) ?? RETRY_UNKNOWN_US;
    this.#room.leave(entry);
    this.#entries.delete(request.id);
    let reason: RefusalReason = request.deadlineUs <= expiresUs ? "deadline-passed" : "age";
    if (heldUntilUs !== 0)
      reason = heldUntilUs === Number.POSITIVE_INFINITY ? "concurrency" : "rate";
    return this.#refuse(entry, { reason, retryAfterUs });
  }

  #refuse(entry: Entry, { reason, retryAfterUs }: Refusal): Refused {
    this.#refused[reason] += 1;
    return {
      kind: "refuse",
      id: entry.request.id,
      lane: entry.lane.name,
      code: CODES[reason],
      reason,
      retryAfterUs: Math.max(0, Math.ceil(retryAfterUs)),
    };
  }

  /** Why one that has just joined may not wait; undefined if it may. */
  #refusal(entry: Entry, nowUs: number): Refusal | undefined {
    const { lane, tenant, request, expiresUs, offeredUs } = entry;
    const { queueMax, tenantQueueFactor, ageMaxUs } = this.#settings;
    const retryAfterUs = this.#waitUs(entry, nowUs) ?? RETRY_UNKNOWN_US;
    if (lane.queued > queueMax) return { reason: "queue-full", retryAfterUs };
    const free = queueMax - (lane.queued - 1);
    if (tenant.queuedIn[lane.index]! - 1 >= tenantQueueFactor * free) {
      return { reason: "tenant-queue-full", retryAfterUs };
    }
    const patienceUs = expiresUs - nowUs;
    const rateUs = rateWaitUs(entry, nowUs);
    if (rateUs > patienceUs) return { reason: "rate", retryAfterUs: rateUs };
    const ownUs = concurrencyWaitUs(entry);
    if (ownUs > patienceUs) return { reason: "concurrency", retryAfterUs: ownUs };
    if ((laneWaitUs(entry) ?? 0) <= patienceUs) return undefined;
    const isDeadline = request.deadlineUs < offeredUs + ageMaxUs;
    return { reason: isDeadline ? "deadline" : "age", retryAfterUs };
  }

  #waitUs(entry: Entry, nowUs: number): number | undefined {
    const laneUs = laneWaitUs(entry);
    if (laneUs === undefined) return undefined;
    const ownUs = Math.max(concurrencyWaitUs(entry), rateWaitUs(entry, nowUs));
    return Math.round(Math.max(laneUs, ownUs));
  }
}
