/**
 * Stands between a call and its caller and lets through what the guard has cleared. The call runs as without it: the checks
 * of the request go beside the generation, and what comes meanwhile is held.
 *
 *     CallRun ─ onHead, onBytes, onEnd ─► held units ─► GuardMachine ─┬─ release ─► onHead, onBytes … onEnd
 *                                             checkers ◄─ check ──────┤
 *                                                                     └─ refuse ──► onRefused
 *
 * Invariant: of `onEnd`, `onFailure` and `onRefused` exactly one reaches the caller's side, unless it has left before; by
 * then no check runs. A unit is a frame of an event stream, the whole of another answer.
 */
import { type Cancel, type Clock, DueTimer } from "../../clock/index.ts";
import { Fifo, type ManxError, toManxError } from "../../core/index.ts";
import {
  type CallFailure,
  type GuardDecision,
  GuardMachine,
  type GuardPiece,
  type GuardRefusal,
  type GuardResult,
  type GuardTax,
  type Verdict,
} from "../../policy/index.ts";
import { createDecoder, type Ending, type StreamDecoder } from "../../stream/index.ts";
import type { CallRunEvents, FailureFacts } from "../call-run-events.ts";
import { FrameSplitter, framesOf } from "../frame-splitter.ts";
import { findHeader } from "../headers.ts";
import type { Route } from "../routes.ts";
import { piecesOf, wholeText } from "./answer-pieces.ts";
import type { CheckCaller } from "./checker.ts";
import type { GuardPlan } from "./guard-set.ts";
import { RefusedStream, refusedWhole } from "./refused-answer.ts";

export interface GuardedSide extends CallRunEvents {
  /**
   * The last call. The head is out if anything is.
   * @param last ends what is out, or is a whole answer; undefined: there is no such end, and an error has to tell.
   */
  onRefused(refusal: GuardRefusal, last: Buffer | undefined): void;
  /** Something went wrong here: the call ends with that error. */
  cut(error: ManxError, outcome: "internal"): void;
}

export interface GuardedOptions {
  readonly plan: GuardPlan;
  readonly route: Route;
  readonly caller: CheckCaller;
  readonly clock: Clock;
  /** Asked only if it is checked. */
  readonly requestText: () => string;
  readonly onResult: (result: GuardResult) => void;
}

interface Head {
  readonly status: number;
  readonly headers: string[];
  readonly canAppend: boolean;
}

/** How the units are made of what comes. */
type Form = "frames" | "whole" | "opaque";

type Tail =
  | { readonly ending: Ending }
  | { readonly failure: CallFailure; readonly facts: FailureFacts };

export class GuardedAnswer implements CallRunEvents {
  readonly #options: GuardedOptions;
  readonly #next: GuardedSide;
  readonly #machine: GuardMachine;
  readonly #timer: DueTimer;
  readonly #held = new Fifo<Buffer>();
  readonly #checks = new Map<number, Cancel>();
  readonly #queue: GuardDecision[] = [];
  readonly #splitter: FrameSplitter;
  #isObeying = false;
  #deadlineUs = Number.POSITIVE_INFINITY;
  #form: Form = "opaque";
  #head: Head | undefined;
  #hasSentHead = false;
  #decoder: StreamDecoder | undefined;
  #refused: RefusedStream | undefined;
  #whole: Buffer[] = [];
  #wholeBytes = 0;
  #tail: Tail | undefined;
  #refusedBy: string | undefined;

  constructor(options: GuardedOptions, next: GuardedSide) {
    this.#options = options;
    this.#next = next;
    this.#machine = new GuardMachine(options.plan.policy, options.onResult);
    this.#splitter = new FrameSplitter(options.plan.policy.heldBytesMax);
    this.#timer = new DueTimer(options.clock, () => this.#onDue());
  }

  get tax(): GuardTax {
    return this.#machine.tax;
  }

  get results(): readonly GuardResult[] {
    return this.#machine.results;
  }

  /** Name of the rule that has refused; undefined if none has. */
  get refusedBy(): string | undefined {
    return this.#refusedBy;
  }

  /** The request is there: its checks begin. @param deadlineUs of the call; no verdict is waited for beyond it. */
  begin(deadlineUs: number): void {
    this.#deadlineUs = deadlineUs;
    const text = this.#isChecked("request") ? this.#options.requestText() : "";
    this.#obey(this.#machine.begin(text, this.#nowUs()));
  }

  /** The caller has left, or the call was cut. */
  stop(): void {
    this.#obey(this.#machine.stop());
    this.#timer.stop();
  }

  onSent(nowUs: number): void {
    this.#next.onSent(nowUs);
  }

  onFirstHead(upstream: string, nowUs: number): void {
    this.#next.onFirstHead(upstream, nowUs);
  }

  onContent(ttftUs: number, isStream: boolean): void {
    this.#next.onContent(ttftUs, isStream);
  }

  onFirstOutput(upstream: string, atUs: number): void {
    this.#next.onFirstOutput(upstream, atUs);
  }

  onHead(status: number, headers: string[], canAppend: boolean): void {
    this.#head = { status, headers, canAppend };
    if (!this.#isChecked("output")) return;
    const { reads: format } = this.#options.route;
    if (canAppend && format !== null) {
      this.#form = "frames";
      this.#decoder = createDecoder(format);
      this.#refused = new RefusedStream(format);
      return;
    }
    const isJson = findHeader(headers, "content-type").toLowerCase().startsWith("application/json");
    const encoding = findHeader(headers, "content-encoding").toLowerCase();
    if (isJson && (encoding === "" || encoding === "identity")) this.#form = "whole";
    else this.#obey(this.#machine.unreadable(this.#nowUs()));
  }

  onBytes(chunk: Buffer): void {
    if (this.#machine.isOver) return;
    if (this.#form === "opaque") this.#push(chunk, []);
    else if (this.#form === "whole") this.#gather(chunk);
    else this.#split(chunk);
  }

  onEnd(ending: Ending, last: Buffer | undefined): void {
    if (this.#machine.isOver) return;
    this.#tail = { ending };
    if (last !== undefined) this.onBytes(last);
    if (this.#form === "frames") {
      this.#pushFrames(this.#splitter.take());
      this.#endDecoder();
    } else if (this.#form === "whole") this.#endWhole();
    this.#obey(this.#machine.end(true, this.#nowUs()));
  }

  onFailure(failure: CallFailure, facts: FailureFacts): void {
    if (this.#machine.isOver) return;
    this.#tail = { failure, facts };
    // Beyond the deadline nobody is waiting; and an error without an answer has nothing to check.
    if (failure.kind === "deadline" || this.#head === undefined || this.#form === "whole") {
      this.stop();
      this.#next.onFailure(failure, facts);
      return;
    }
    this.#splitter.drop();
    this.#obey(this.#machine.end(false, this.#nowUs()));
  }

  #nowUs(): number {
    return this.#options.clock.nowUs();
  }

  #isChecked(stage: "request" | "output"): boolean {
    return this.#options.plan.policy.rules.some((rule) => rule.stage === stage);
  }

  #push(unit: Buffer, pieces: readonly GuardPiece[]): void {
    if (this.#machine.isOver) return;
    this.#held.push(unit);
    this.#obey(this.#machine.push(pieces, unit.length, this.#nowUs()));
  }

  #split(chunk: Buffer): void {
    const frames = this.#splitter.push(chunk);
    // Half a frame that is larger than all that may be held.
    if (this.#splitter.isSpilled) this.#obey(this.#machine.unreadable(this.#nowUs()));
    this.#pushFrames(frames);
  }

  #pushFrames(frames: Buffer): void {
    if (frames.length === 0) return;
    for (const frame of framesOf(frames)) {
      this.#push(frame, piecesOf(this.#decoder!.push(frame, this.#nowUs()), frame));
    }
  }

  /** Calls that the wire never ended are ended by the decoder. */
  #endDecoder(): void {
    const pieces = piecesOf(this.#decoder!.end(this.#nowUs()), EMPTY);
    if (pieces.length > 0) this.#push(EMPTY, pieces);
  }

  #gather(chunk: Buffer): void {
    this.#whole.push(chunk);
    this.#wholeBytes += chunk.length;
    if (this.#wholeBytes <= this.#options.plan.policy.heldBytesMax) return;
    // No more than may be held: whether it goes on unchecked is the rules' to say.
    this.#form = "opaque";
    this.#obey(this.#machine.unreadable(this.#nowUs()));
    this.#push(this.#takeWhole(), []);
  }

  #endWhole(): void {
    const body = this.#takeWhole();
    const text = wholeText(body, this.#options.route.name);
    if (text === undefined) this.#obey(this.#machine.unreadable(this.#nowUs()));
    this.#push(body, [{ kind: "prose", choice: 0, name: "answer", text: text ?? "" }]);
  }

  #takeWhole(): Buffer {
    const body = Buffer.concat(this.#whole);
    this.#whole = [];
    return body;
  }

  #obey(decisions: readonly GuardDecision[]): void {
    for (const decision of decisions) this.#queue.push(decision);
    if (this.#isObeying) return;
    this.#isObeying = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        this.#obeyOne(next);
      }
    } catch (thrown) {
      this.#break(toManxError(thrown));
    } finally {
      this.#isObeying = false;
    }
    this.#arm();
  }

  /** A verdict comes from a timer or a socket of its own: what is thrown here must end this call, and never the process. */
  #break(error: ManxError): void {
    this.#queue.length = 0;
    for (const decision of this.#machine.stop()) {
      if (decision.do === "cancel") this.#checks.get(decision.check)?.();
    }
    this.#checks.clear();
    this.#next.cut(error, "internal");
  }

  #obeyOne(decision: GuardDecision): void {
    switch (decision.do) {
      case "check":
        this.#check(decision);
        break;
      case "cancel":
        this.#checks.get(decision.check)?.();
        this.#checks.delete(decision.check);
        break;
      case "release":
        this.#release(decision.units);
        break;
      case "refuse":
        this.#refuse(decision.refusal);
        break;
      default:
        this.#finish();
    }
  }

  #arm(): void {
    if (this.#machine.isOver) {
      this.#timer.stop();
      return;
    }
    // While the call runs it keeps its deadline itself.
    const deadlineUs = this.#tail === undefined ? Number.POSITIVE_INFINITY : this.#deadlineUs;
    this.#timer.arm(Math.min(this.#machine.dueUs, deadlineUs));
  }

  #onDue(): void {
    const nowUs = this.#nowUs();
    if (this.#tail !== undefined && nowUs >= this.#deadlineUs) {
      this.stop();
      this.#next.onFailure(deadlineFailure(this.#hasSentHead), NO_FACTS);
      return;
    }
    this.#obey(this.#machine.advance(nowUs));
  }

  #check({ check, rule, text }: GuardDecision & { do: "check" }): void {
    const tell = (verdict: Verdict): void => {
      if (!this.#checks.delete(check)) return;
      this.#obey(this.#machine.verdict(check, verdict, this.#nowUs()));
    };
    this.#checks.set(check, ignore);
    const cancel = this.#options.plan.checkers[rule]!.check(text, this.#options.caller, tell);
    if (this.#checks.has(check)) this.#checks.set(check, cancel);
  }

  #release(units: number): void {
    const parts: Buffer[] = [];
    for (let i = 0; i < units; i += 1) {
      const unit = this.#held.shift()!;
      this.#refused?.note(unit);
      if (unit.length > 0) parts.push(unit);
    }
    this.#sendHead();
    if (parts.length > 0) this.#next.onBytes(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  #sendHead(): void {
    if (this.#hasSentHead || this.#head === undefined) return;
    this.#hasSentHead = true;
    const { status, headers, canAppend } = this.#head;
    this.#next.onHead(status, headers, canAppend);
  }

  #finish(): void {
    const tail = this.#tail!;
    if ("ending" in tail) {
      this.#sendHead();
      this.#next.onEnd(tail.ending, undefined);
    } else this.#next.onFailure(tail.failure, tail.facts);
  }

  /** In the caller's own words where it has begun to read or can be given an answer; else it is an error. */
  #refuse(refusal: GuardRefusal): void {
    this.#refusedBy = refusal.rule ?? undefined;
    const isJudged = refusal.why === "flag" && refusal.stage === "output";
    let last: Buffer | undefined;
    if (isJudged && this.#form === "whole") {
      const body = this.#held.peek();
      last = body === undefined ? undefined : refusedWhole(body, this.#options.route.name);
      if (last !== undefined) this.#resize(last.length);
    } else if (isJudged) last = this.#refused?.end(this.#held.peek());
    if (last !== undefined) this.#sendHead();
    this.#next.onRefused(refusal, last);
  }

  /** The body is another one than its head was made for. */
  #resize(bytes: number): void {
    const head = this.#head!;
    const headers: string[] = [];
    for (let i = 0; i < head.headers.length; i += 2) {
      if (head.headers[i]!.toLowerCase() === "content-length") continue;
      headers.push(head.headers[i]!, head.headers[i + 1]!);
    }
    headers.push("content-length", String(bytes));
    this.#head = { ...head, headers };
  }
}

const EMPTY = Buffer.alloc(0);
const NO_FACTS: FailureFacts = { fault: undefined, inBand: undefined, refused: undefined };

function deadlineFailure(isAfterContent: boolean): CallFailure {
  return {
    kind: "deadline",
    status: 0,
    retryAfterUs: undefined,
    shouldRetry: undefined,
    attempt: undefined,
    isAfterContent,
  };
}

function ignore(): void {}
