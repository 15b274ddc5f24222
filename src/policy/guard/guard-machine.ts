/**
 * The guard of one call as a pure state machine: which text is checked when, what of the answer may go out, when it is
 * refused. No I/O, no timer: a driver tells it what has come and does what it says.
 *
 *     begin ─► check of the request ────────────────┐
 *     push ──► units held ─► windows, whole calls ──┴─► release … ─► finish | refuse
 *
 * Invariants: nothing is released before the request is clear; units go out in their order and only when all their text is
 * clear; nothing follows `refuse` or `finish`, and by then no check runs. A unit is what the driver cannot part, such as a
 * frame of an event stream.
 */
import { Fifo } from "../../core/index.ts";
import { Cascade, type CascadeEnd, type CheckDesk } from "./cascade.ts";
import type { GuardDecision, GuardRefusal, GuardResult } from "./guard-decision.ts";
import type { GuardPolicy, GuardRule, GuardStage, Verdict } from "./guard-policy.ts";
import { ProseChannel } from "./prose-channel.ts";
import { WholeChannel } from "./whole-channel.ts";

/** Text within a unit. */
export type GuardPiece =
  | {
      readonly kind: "prose";
      readonly choice: number;
      readonly name: string;
      readonly text: string;
    }
  /** @property text all of it with the piece that ends it, else undefined. */
  | {
      readonly kind: "whole";
      readonly choice: number;
      readonly name: string;
      readonly text: string | undefined;
    };

/** How a call went through its guard: clean, with a doubt that was settled, refused, or refused for want of a verdict. */
export type GuardPath = "clean" | "flagged" | "refused" | "failed";

/** What the guard has cost the caller. */
export interface GuardTax {
  readonly path: GuardPath;
  /** From the first unit to the first release; null if nothing was released. */
  readonly firstHeldUs: number | null;
  /** From the end of the answer to the last release; null if it did not get there. */
  readonly lastHeldUs: number | null;
}

type Channel = ProseChannel | WholeChannel;

/** The unit may go when `channel` is clear up to `position`. */
interface Need {
  readonly channel: Channel;
  readonly position: number;
}

interface Unit {
  readonly needs: readonly Need[];
  readonly bytes: number;
}

const NOTHING: readonly GuardDecision[] = [];
const NO_NEEDS: readonly Need[] = [];
/** Remembered of one call; the verdicts themselves are all told. */
const RESULTS_MAX = 64;

export class GuardMachine {
  readonly #policy: GuardPolicy;
  readonly #onResult: (result: GuardResult) => void;
  readonly #desk: CheckDesk;
  #checksOutput: boolean;
  readonly #results: GuardResult[] = [];
  #out: GuardDecision[] = [];
  #checks = 0;
  #request: Cascade | undefined;
  #channels = new Map<string, { readonly choice: number; readonly channel: Channel }>();
  #units = new Fifo<Unit>();
  #heldBytes = 0;
  #hasEnded = false;
  #isOver = false;
  /** Something was in doubt and went through all the same. */
  #isDoubtful = false;
  #refusal: GuardRefusal | undefined;
  #firstUnitUs: number | undefined;
  #firstReleaseUs: number | undefined;
  #endedUs: number | undefined;
  #finishedUs: number | undefined;

  /** @param onResult told of each check that has answered, or whose budget is spent. */
  constructor(policy: GuardPolicy, onResult: (result: GuardResult) => void = ignore) {
    this.#policy = policy;
    this.#onResult = onResult;
    this.#checksOutput = policy.rules.some(({ stage }) => stage === "output");
    this.#desk = {
      rules: policy.rules,
      begin: (rule, text) => this.#beginCheck(rule, text),
      cancel: (check) => this.#out.push({ do: "cancel", check }),
      note: (result) => this.#note(result),
    };
  }

  /** Oldest first, up to a bound. */
  get results(): readonly GuardResult[] {
    return this.#results;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get tax(): GuardTax {
    const since = (from: number | undefined, to: number | undefined): number | null => {
      return from === undefined || to === undefined ? null : to - from;
    };
    const path = this.#refusal === undefined ? (this.#isDoubtful ? "flagged" : "clean") : undefined;
    return {
      path: path ?? (this.#refusal!.why === "flag" ? "refused" : "failed"),
      firstHeldUs: since(this.#firstUnitUs, this.#firstReleaseUs),
      lastHeldUs: since(this.#endedUs, this.#finishedUs),
    };
  }

  /** When `advance` has to be called at the latest; infinite if never. */
  get dueUs(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    let dueUs = this.#request?.dueUs ?? Number.POSITIVE_INFINITY;
    for (const { channel } of this.#channels.values()) dueUs = Math.min(dueUs, channel.dueUs);
    return dueUs;
  }

  /** @param requestText what the caller says; it is checked if there are rules for requests. */
  begin(requestText: string, nowUs: number): readonly GuardDecision[] {
    if (this.#policy.rules.some(({ stage }) => stage === "request")) {
      this.#request = new Cascade("request", requestText, this.#desk, nowUs);
    }
    return this.#goOn(nowUs);
  }

  /** @param bytes how large it is. */
  push(pieces: readonly GuardPiece[], bytes: number, nowUs: number): readonly GuardDecision[] {
    if (this.#isOver) return NOTHING;
    this.#firstUnitUs ??= nowUs;
    const needs = this.#checksOutput ? pieces.map((piece) => this.#add(piece, nowUs)) : NO_NEEDS;
    this.#units.push({ needs, bytes });
    this.#heldBytes += bytes;
    const out = this.#goOn(nowUs);
    const isTooMuch = !this.#isOver && this.#heldBytes > this.#policy.heldBytesMax;
    return isTooMuch ? [...out, ...this.unreadable(nowUs)] : out;
  }

  /**
   * The answer has ended.
   * @param isWhole false if it was cut: then a call that never ended is dropped, with all behind it.
   */
  end(isWhole: boolean, nowUs: number): readonly GuardDecision[] {
    if (this.#isOver) return NOTHING;
    this.#hasEnded = true;
    this.#endedUs = nowUs;
    const open = [...this.#channels.values()].filter(({ channel }) => isUnfinished(channel));
    if (open.length > 0 && isWhole) return this.unreadable(nowUs);
    for (const { channel } of this.#channels.values()) {
      if (channel instanceof ProseChannel) channel.close();
    }
    if (open.length > 0) this.#dropUnfinished();
    return this.#goOn(nowUs);
  }

  /** What was to be checked cannot be: too large, not whole, in no form that can be read. */
  unreadable(nowUs: number): readonly GuardDecision[] {
    if (this.#isOver) return NOTHING;
    // What is still open is given up; where one of its rules is strict, that is a refusal.
    const stages = [this.#request && "request", this.#checksOutput && "output"];
    const strict = this.#policy.rules.find(({ stage, onFailure }) => {
      return onFailure === "closed" && stages.includes(stage);
    });
    if (strict !== undefined) {
      this.#refuse({ stage: strict.stage, rule: null, why: "failed" });
      return this.#take();
    }
    this.#isDoubtful = true;
    this.#letAllPass();
    return this.#goOn(nowUs);
  }

  verdict(check: number, verdict: Verdict, nowUs: number): readonly GuardDecision[] {
    if (this.#isOver) return NOTHING;
    if (this.#request?.owns(check) === true) this.#request.verdict(check, verdict, nowUs);
    for (const { channel } of this.#channels.values()) {
      if (channel.owns(check)) channel.verdict(check, verdict, nowUs);
    }
    return this.#goOn(nowUs);
  }

  advance(nowUs: number): readonly GuardDecision[] {
    return this.#isOver ? NOTHING : this.#goOn(nowUs);
  }

  /** The caller has left, or the call has failed: no verdict is needed any more. */
  stop(): readonly GuardDecision[] {
    if (this.#isOver) return NOTHING;
    this.#stopChecks();
    this.#isOver = true;
    return this.#take();
  }

  #take(): readonly GuardDecision[] {
    if (this.#out.length === 0) return NOTHING;
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #beginCheck(rule: number, text: string): number {
    this.#checks += 1;
    this.#out.push({ do: "check", check: this.#checks, rule, text });
    return this.#checks;
  }

  #note(result: GuardResult): void {
    if (result.verdict === "unsure" || result.verdict === "failed") this.#isDoubtful = true;
    if (this.#results.length < RESULTS_MAX) this.#results.push(result);
    this.#onResult(result);
  }

  #add(piece: GuardPiece, nowUs: number): Need {
    const key = `${piece.choice} ${piece.name}`;
    let channel = this.#channels.get(key)?.channel;
    if (channel === undefined) {
      channel =
        piece.kind === "prose"
          ? new ProseChannel(this.#policy, this.#desk)
          : new WholeChannel(this.#desk);
      this.#channels.set(key, { choice: piece.choice, channel });
    }
    this.#closeOthers(piece.choice, channel);
    if (channel instanceof WholeChannel) {
      if (piece.text !== undefined) channel.complete(piece.text, nowUs);
      return { channel, position: 0 };
    }
    channel.add(piece.text ?? "", nowUs);
    return { channel, position: channel.end };
  }

  /** One choice says one thing after the other: what it said before is complete. */
  #closeOthers(choice: number, current: Channel): void {
    for (const one of this.#channels.values()) {
      if (one.choice !== choice || one.channel === current) continue;
      if (one.channel instanceof ProseChannel) one.channel.close();
    }
  }

  #goOn(nowUs: number): readonly GuardDecision[] {
    this.#request?.advance(nowUs);
    const request = this.#request?.end;
    if (request !== undefined) {
      this.#request = undefined;
      if (this.#hasRefused(request, "request")) return this.#take();
    }
    for (const { channel } of this.#channels.values()) {
      const end = channel.advance(nowUs);
      if (end !== undefined && this.#hasRefused(end, "output")) return this.#take();
    }
    if (this.#request === undefined) this.#release(nowUs);
    return this.#take();
  }

  #release(nowUs: number): void {
    let units = 0;
    for (let unit = this.#units.peek(); unit !== undefined; unit = this.#units.peek()) {
      if (!unit.needs.every(isMet)) break;
      this.#units.shift();
      this.#heldBytes -= unit.bytes;
      units += 1;
    }
    if (units > 0) {
      this.#firstReleaseUs ??= nowUs;
      this.#out.push({ do: "release", units });
    }
    if (!this.#hasEnded || this.#units.size > 0) return;
    this.#finishedUs = nowUs;
    this.#stopChecks();
    this.#isOver = true;
    this.#out.push({ do: "finish" });
  }

  #hasRefused({ outcome, rule }: CascadeEnd, stage: GuardStage): boolean {
    if (outcome === "clean") return false;
    this.#refuse({ stage, rule: nameOf(rule), why: outcome });
    return true;
  }

  #refuse(refusal: GuardRefusal): void {
    this.#refusal = refusal;
    this.#stopChecks();
    this.#isOver = true;
    this.#out.push({ do: "refuse", refusal });
  }

  #stopChecks(): void {
    this.#request?.stop();
    for (const { channel } of this.#channels.values()) channel.stop();
  }

  /** Nothing is checked any more. */
  #letAllPass(): void {
    this.#stopChecks();
    this.#request = undefined;
    this.#checksOutput = false;
    this.#channels = new Map();
    const units = new Fifo<Unit>();
    for (let unit = this.#units.shift(); unit !== undefined; unit = this.#units.shift()) {
      units.push({ ...unit, needs: NO_NEEDS });
    }
    this.#units = units;
  }

  #dropUnfinished(): void {
    const kept = new Fifo<Unit>();
    let isKept = true;
    for (let unit = this.#units.shift(); unit !== undefined; unit = this.#units.shift()) {
      isKept &&= !unit.needs.some(({ channel }) => isUnfinished(channel));
      if (isKept) kept.push(unit);
      else this.#heldBytes -= unit.bytes;
    }
    this.#units = kept;
  }
}

function isUnfinished(channel: Channel): boolean {
  return channel instanceof WholeChannel && !channel.hasEnded;
}

function isMet({ channel, position }: Need): boolean {
  return channel instanceof WholeChannel ? channel.isClear : channel.cleared >= position;
}

function nameOf(rule: GuardRule | null): string | null {
  return rule?.name ?? null;
}

function ignore(): void {}
