/**
 * One request of a client, from its first byte to the last of its answer: who it is, what it may, when its turn comes, and
 * how it is told. What happens upstream is `CallRun`'s.
 *
 *     arrival ─► intent ─► admission ─► CallRun ─► Delivery ─► client
 *
 * Invariant: every exchange ends once, when its Delivery has closed, with exactly one outcome; by then its call is over or
 * abandoned, and its place is given back.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import {
  type CallFailure,
  type Divergence,
  finalError,
  type GuardRefusal,
  type GuardResult,
  type Refused,
  refusalHeaders,
} from "../policy/index.ts";
import type { CountedTokens, Ending } from "../stream/index.ts";
import type { AdmissionDesk, Ticket, Waiting } from "./admission-desk.ts";
import { CallIntent, type ClientRequest } from "./call-intent.ts";
import { CallRun } from "./call-run.ts";
import type { FailureFacts } from "./call-run-events.ts";
import { Delivery, type DeliveryEvents } from "./delivery.ts";
import { type EarlyEnd, ownEnd, upstreamEnd } from "./early-end.ts";
import {
  credentialsIn,
  GuardedAnswer,
  type GuardedSide,
  type GuardPlan,
  type GuardSet,
  guardError,
  readRequestText,
  withChecks,
} from "./guardrails/index.ts";
import { refusalHead } from "./headers.ts";
import type { GatewayLimits } from "./limits.ts";
import type { ModelRoutes } from "./model-routes.ts";
import type { Reception } from "./reception.ts";
import type { Route } from "./routes.ts";
import { addRequestId, type CallIdentity, CallNotes, type Seeing } from "./seeing/index.ts";
import { type Outcome, outcomeOf } from "./upstream-fault.ts";
import type { Visitor } from "./visitor.ts";

export interface ExchangeContext {
  readonly routes: ModelRoutes;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly seeing: Seeing;
  /** Name of this gateway in `Via`. */
  readonly via: string;
  /** null: whatever comes is let in. */
  readonly admission: AdmissionDesk | null;
  /** null: nothing is checked. */
  readonly guards: GuardSet | null;
}

export interface Arrival {
  readonly route: Route;
  /** The head of the request was read. */
  readonly receivedUs: number;
  readonly visitor: Visitor;
  readonly identity: CallIdentity;
  readonly client: string | undefined;
}

export class Exchange implements GuardedSide, DeliveryEvents, Waiting {
  readonly #context: ExchangeContext;
  readonly #arrival: Arrival;
  readonly #delivery: Delivery;
  readonly #onClosed: () => void;
  readonly #notes: CallNotes;
  #intent: CallIntent | undefined;
  #run: CallRun | undefined;
  #guard: GuardedAnswer | undefined;
  #ticket: Ticket | undefined;
  #isTerminalMissing = false;
  #cacheBreak: Divergence | undefined;

  constructor(
    context: ExchangeContext,
    arrival: Arrival,
    response: ServerResponse,
    onClosed: () => void,
  ) {
    this.#context = context;
    this.#arrival = arrival;
    this.#onClosed = onClosed;
    this.#notes = new CallNotes({
      identity: arrival.identity,
      receivedUs: arrival.receivedUs,
      route: arrival.route.name,
      tenant: arrival.visitor.tenant,
      client: arrival.client,
    });
    context.seeing.requestBegins();
    this.#delivery = new Delivery(response, {
      dialect: arrival.route.dialect,
      format: arrival.route.reads,
      writeLimitUs: context.limits.writeUs,
      clock: context.clock,
      events: this,
    });
  }

  /**
   * The request is there, whole.
   * @throws MANX_REQUEST_INVALID, MANX_MODEL_UNKNOWN, MANX_FORBIDDEN, MANX_BUDGET_SPENT
   */
  forward(request: ClientRequest): void {
    if (this.#delivery.isClosed) return;
    const { clock, routes, via, admission, seeing } = this.#context;
    const { route, receivedUs, visitor, identity } = this.#arrival;
    const notes = this.#notes;
    notes.requestBytes = request.body.length;
    notes.readyUs = clock.nowUs();
    const intent = new CallIntent(route, request, {
      routes,
      via,
      receivedUs,
      wallMs: clock.wallMs(),
      hidesKey: visitor.hasKey,
    });
    this.#intent = intent;
    seeing.modelKnown(intent.model.name);
    visitor.reserve(intent.modelName, intent.call.inputTokens, intent.outputTokensMax ?? 0);
    const attempts = identity.isWarmUp === true ? null : seeing.attempts;
    const { readyUs } = notes;
    const options = { intent, clock, readyUs, identity, attempts, waits: notes };
    const plan = this.#context.guards?.planFor(intent.model.name, route) ?? null;
    this.#guard = plan === null ? undefined : this.#guardedBy(plan, request);
    this.#run = new CallRun(options, this.#guard ?? this);
    this.#guard?.begin(this.#run.deadlineUs);
    if (notes.outcome !== undefined) return;
    if (admission === null || route.method === "GET") this.#run.start();
    else this.#queue(admission, intent);
    this.#watchCache(intent, request);
  }

  /** Once it is on its way: a long prompt takes some milliseconds to read. */
  #watchCache({ watchedBody: body, model }: CallIntent, { headers }: ClientRequest): void {
    if (body === undefined) return;
    const { tenant } = this.#arrival.visitor;
    const { caches } = this.#context.seeing;
    this.#cacheBreak = caches.request({ model: model.name, tenant, headers, body });
  }

  #guardedBy(plan: GuardPlan, { body, rawHeaders }: ClientRequest): GuardedAnswer {
    const { clock, guards } = this.#context;
    const { route, visitor } = this.#arrival;
    const caller = { credentials: credentialsIn(rawHeaders), hidesKey: visitor.hasKey };
    const options = {
      ...{ plan, route, caller, clock },
      requestText: () => readRequestText(body, plan.scope),
      onResult: (result: GuardResult) => guards!.checked(result),
    };
    guards!.enter();
    return new GuardedAnswer(options, this);
  }

  #queue(admission: AdmissionDesk, intent: CallIntent): void {
    const { visitor } = this.#arrival;
    this.#ticket = admission.ticket();
    const request = {
      id: this.#ticket.id,
      tenant: visitor.tenant,
      priority: visitor.priority,
      inputTokens: intent.call.inputTokens,
      outputTokensMax: intent.outputTokensMax,
      route: intent.model.name,
      deadlineUs: this.#run!.deadlineUs,
    };
    this.#ticket.enter(request, this);
  }

  admitted(lane: string): void {
    this.#notes.lane = lane;
    this.#notes.admittedUs = this.#context.clock.nowUs();
    if (!this.#delivery.isClosed && this.#notes.outcome === undefined) this.#run!.start();
  }

  refused({ code, reason, retryAfterUs, lane }: Refused): void {
    const what = `${reason.replaceAll("-", " ")} in the ${lane} lane`;
    const error = new ManxError(code, { got: what });
    const seconds = String(Math.max(1, Math.ceil(retryAfterUs / 1_000_000)));
    this.#notes.lane = lane;
    this.#notes.refusal = reason;
    this.#settle("refused", error);
    this.#endEarly(ownEnd(error, this.#arrival.route.dialect, ["retry-after", seconds]));
  }

  /** Ends it now: with an error in the client's dialect, as far as that is still possible. */
  cut(error: ManxError, outcome: Outcome): void {
    this.#settle(outcome, error);
    this.#giveUp();
    this.#endEarly(ownEnd(error, this.#arrival.route.dialect));
  }

  onRefused(refusal: GuardRefusal, last: Buffer | undefined): void {
    const error = guardError(refusal);
    this.#settle(refusal.why === "flag" ? "guard_refused" : "guard_failed", error);
    this.#giveUp();
    if (last !== undefined) this.#delivery.end(last);
    else {
      const headers = refusal.why === "flag" ? ["x-should-retry", "false"] : [];
      const end = ownEnd(error, this.#arrival.route.dialect, headers);
      this.#endEarly(withChecks(end, this.#guard!.results));
    }
  }

  #giveUp(): void {
    this.#run?.abandon();
    this.#guard?.stop();
  }

  #endEarly(end: EarlyEnd): void {
    if (!this.#delivery.hasHead) this.#notes.status = end.status;
    const { requestId } = this.#arrival.identity;
    this.#delivery.fail({ ...end, headers: { ...end.headers, "x-request-id": requestId } });
  }

  onSent(nowUs: number): void {
    this.#notes.sentUs = nowUs;
  }

  onFirstHead(upstream: string, nowUs: number): void {
    this.#notes.headUs = nowUs;
    const { route, receivedUs, identity } = this.#arrival;
    if (identity.isWarmUp === true) return;
    const labels = [route.name, this.#intent!.model.name, upstream] as const;
    this.#context.seeing.firstHead(labels, nowUs - receivedUs);
  }

  onContent(ttftUs: number, isStream: boolean): void {
    if (isStream) this.#ticket?.firstContent(ttftUs);
  }

  onFirstOutput(upstream: string, atUs: number): void {
    if (this.#notes.hasFirstOutput) return;
    this.#notes.hasFirstOutput = true;
    const { route, receivedUs, identity } = this.#arrival;
    if (identity.isWarmUp === true) return;
    const { requestId, trace } = identity;
    const link = { requestId, trace, wallMs: this.#context.clock.wallMs() };
    const labels = [route.name, this.#intent!.model.name, upstream] as const;
    this.#context.seeing.firstOutput(labels, atUs - receivedUs, link);
  }

  onHead(status: number, headers: string[], canAppend: boolean): void {
    this.#notes.status = status;
    addRequestId(headers, this.#arrival.identity.requestId);
    this.#delivery.head(status, headers, canAppend);
  }

  onBytes(chunk: Buffer): void {
    this.#delivery.data(chunk);
  }

  onEnd(ending: Ending, last: Buffer | undefined): void {
    this.#isTerminalMissing = ending === "terminal_missing";
    if (ending === "error") this.#settle("stream_error");
    else if (ending === "empty") this.#settle("stream_empty");
    else this.#settle("ok");
    this.#delivery.end(last);
  }

  onFailure(failure: CallFailure, { refused, inBand, fault }: FailureFacts): void {
    const { dialect } = this.#arrival.route;
    const headers = refusalHeaders(failure, this.#run!.records.length);
    if (failure.kind === "status" && refused !== undefined && !this.#delivery.hasHead) {
      this.#settle("upstream_status");
      this.#answerRefusal(refused, failure.attempt ?? 0, headers);
      return;
    }
    if (failure.kind === "stream_error" && inBand !== undefined) {
      this.#settle("stream_error");
      this.#endEarly(upstreamEnd(inBand, dialect, headers));
      return;
    }
    const error = finalError(failure, fault, this.#intent!.model.policy.timeouts);
    this.#settle(outcomeOf(failure, error), error);
    this.#endEarly(ownEnd(error, dialect, headers));
  }

  /** The upstream's own words, with what a caller's SDK must know to leave the retries to this gateway. */
  #answerRefusal(refused: Reception, attempt: number, own: readonly string[]): void {
    const { status, body } = refused.takeRefusal();
    const headers = refusalHead(refused.head!.headers, body.length);
    this.onHead(status, [...headers, ...own, ...this.#run!.marks(attempt)], false);
    this.#delivery.end(body);
  }

  onBlocked(): void {
    this.#notes.hold(this.#context.clock.nowUs());
    this.#run?.pause();
  }

  onDrained(): void {
    this.#notes.release(this.#context.clock.nowUs());
    this.#run?.resume();
  }

  onStalled(): void {
    this.#settle("client_stalled");
  }

  /** The first outcome counts. */
  #settle(outcome: Outcome, error?: ManxError): void {
    this.#notes.settle(outcome, this.#context.clock.nowUs(), error?.code);
  }

  onClosed(): void {
    this.#settle("client_cancelled");
    this.#giveUp();
    if (this.#guard !== undefined) {
      this.#context.guards!.leave(this.#intent!.model.name, this.#guard.tax);
    }
    this.#show();
    this.#giveBack();
    this.#onClosed();
  }

  /** Makes its record, for whoever listens. */
  #show(): void {
    const { clock, seeing } = this.#context;
    const notes = this.#notes;
    const intent = this.#intent;
    const delivered = this.#run?.delivered;
    if (intent !== undefined && intent.model.cacheMarks !== null) {
      seeing.caches.ended(intent.model.name, intent.hasCachePlan, delivered?.usage);
    }
    const observer = delivered?.stream;
    observer?.end(notes.endedUs - notes.heldUs);
    const stream = observer?.metrics;
    const record = notes.record({
      nowUs: clock.nowUs(),
      wallMs: clock.wallMs(),
      intent: intent && {
        model: intent.model.name,
        modelAsked: intent.modelName,
        isStream: intent.call.isStream,
      },
      attempts: this.#run?.seenAttempts() ?? [],
      usage: delivered?.usage,
      stream,
      responseBytes: this.#delivery.bytes,
      guard: this.#guard && { ...this.#guard.tax, refusedBy: this.#guard.refusedBy },
      cacheBreak: this.#cacheBreak,
    });
    const isEncoded = observer === undefined && delivered?.head?.isEventStream === true;
    const isFaulty = observer !== undefined && observer.faults > 0;
    seeing.requestEnds(record, {
      itlUs: stream?.itlUs ?? [],
      isTerminalMissing: this.#isTerminalMissing,
      unread: isEncoded ? "encoded" : isFaulty ? "faulty" : undefined,
      lateTtftUs: notes.hasFirstOutput ? null : (stream?.ttftUs ?? null),
      hasModel: intent !== undefined,
    });
  }

  /** Its place in the queue or the upstream, and what its budget has not used. */
  #giveBack(): void {
    const { visitor } = this.#arrival;
    const intent = this.#intent;
    const hasRun = (this.#run?.records.length ?? 0) > 0;
    if (intent === undefined || !hasRun) {
      this.#ticket?.leave();
      visitor.settle({ inputTokens: 0, outputTokens: 0, cachedTokens: 0 });
      return;
    }
    const used = this.#used(intent);
    visitor.settle(used);
    const { inputTokens, outputTokens } = used;
    const ok = !OVERLOADED.has(this.#notes.outcome!);
    this.#ticket?.finish({ inputTokens, outputTokens, ttftUs: undefined, ok });
  }

  /** As the upstream counted; where it did not say, about as many as there are bytes for. */
  #used(intent: CallIntent): CountedTokens {
    const counted = this.#run?.delivered?.usage;
    if (counted !== undefined) return counted;
    const outputTokens = Math.ceil(this.#delivery.bytes / ANSWER_BYTES_PER_TOKEN);
    return { inputTokens: intent.call.inputTokens, outputTokens, cachedTokens: 0 };
  }
}

/** A streamed token comes in a frame of some 200 bytes; a whole answer is shorter, so that this errs on the low side. */
const ANSWER_BYTES_PER_TOKEN = 100;
/** What says that an upstream has more to do than it can. */
const OVERLOADED: ReadonlySet<Outcome> = new Set([
  "upstream_status",
  "stream_incomplete",
  "timeout_headers",
  "timeout_first_content",
  "timeout_gap",
  "timeout_progress",
]);
