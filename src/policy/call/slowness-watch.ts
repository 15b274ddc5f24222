/**
 * Which targets look slow as a whole, told from all attempts that run and not only from those that have ended: when
 * everything slows down, the open ones show it before a single one of them has answered.
 *
 * An attempt passes up to five checkpoints, the times at which a half, a quarter, an eighth and a sixteenth of such
 * prompts are still silent, and its hedge delay. Whether it is silent at the next one, having been so at the last, is a coin of known bias q.
 * The evidence for "hazard fallen to θ of its own" (all times several-fold) is summed up, never below zero: the CUSUM of
 * survival data (Biswas and Kalbfleisch 2008, after Page 1954).
 *
 *     silent at the checkpoint    level + (θ − 1) ln q
 *     answered before it          level + ln((1 − q^θ) / (1 − q))
 *
 * Each coin is read when its checkpoint is due and not when the answer comes: of attempts that began together the fast
 * ones answer first, and reading those first would always say that all is well.
 *
 * Invariant: an attempt has one entry in the heap, and none once its last checkpoint is past. They are settled with every
 * begin, so that as many are kept as begin in the time of a usual answer.
 */
import { EventHeap } from "../../core/index.ts";
import type { Target } from "./target.ts";

/** θ: how much rarer answers have become, where everything is slow. */
const SLOW_HAZARD = 0.15;
/** Halvings of the share that is still silent; further out is the tail that hedges are for. */
const CHECKPOINTS_MAX = 4;
/** Where nobody has been so slow yet. */
const SHARE_MIN = 1 / 64;
/** Nine attempts in a row that pass their median, or two their 95th percentile: odds of e^5 to one for slowness. */
const ALARM = 5;
/**
 * For a hedge to the very target that is late: its call's own silence counts for half of it (2.5), and about two more calls
 * that pass their median at that time are enough. Below it, calls that are late by chance would lose their hedges.
 */
const ALARM_OF_ITSELF = 4;
/** Bounded, so that an alarm ends about ten good calls after the slowness. */
const LEVEL_MAX = 2 * ALARM;

interface Checkpoint {
  readonly afterUs: number;
  /** Of those silent at the checkpoint before, 0 to 1. */
  readonly silentShare: number;
}

/** An attempt that is watched; whoever runs it says how it goes on. */
export class WatchedAttempt {
  readonly target: Target;
  readonly sequence: number;
  readonly #beganUs: number;
  readonly #checkpoints: readonly Checkpoint[];
  #next = 0;
  /** Of its first content. */
  contentUs: number | undefined;
  /** Of its end; after that, one without content says nothing more. */
  endedUs: number | undefined;

  constructor(target: Target, began: { sequence: number; nowUs: number }, to: Checkpoint[]) {
    this.target = target;
    this.sequence = began.sequence;
    this.#beganUs = began.nowUs;
    this.#checkpoints = to;
  }

  get atUs(): number {
    return this.#beganUs + this.#checkpoints[this.#next]!.afterUs;
  }

  /** Goes on to its next checkpoint. @returns evidence that its target is slow. */
  pass(): { evidence: number; isDone: boolean } {
    const { atUs } = this;
    const { silentShare } = this.#checkpoints[this.#next]!;
    if (this.contentUs !== undefined && this.contentUs <= atUs) {
      const slowShare = silentShare ** SLOW_HAZARD;
      return { evidence: Math.log((1 - slowShare) / (1 - silentShare)), isDone: true };
    }
    const isCut = this.contentUs === undefined && this.endedUs !== undefined;
    if (isCut && this.endedUs! < atUs) return { evidence: 0, isDone: true };
    this.#next += 1;
    const evidence = (SLOW_HAZARD - 1) * Math.log(silentShare);
    return { evidence, isDone: this.#next === this.#checkpoints.length };
  }
}

interface SlownessState {
  level: number;
  isSlow: boolean;
}

export class SlownessWatch {
  readonly #lateShare: number;
  readonly #due = new EventHeap<WatchedAttempt>();
  /** As many as the route has targets. */
  readonly #states = new Map<Target, SlownessState>();
  #sequence = 0;

  /** @param percentile at which hedges begin. */
  constructor(percentile: number) {
    this.#lateShare = 1 - percentile / 100;
  }

  /**
   * @param delayUs after which the attempt is hedged: the last checkpoint, since what comes later is cut short.
   * @returns undefined while too little is known of such prompts there.
   */
  begin(
    target: Target,
    { tokens, delayUs }: { readonly tokens: number; readonly delayUs: number },
    nowUs: number,
  ): WatchedAttempt | undefined {
    this.#settle(nowUs);
    const checkpoints = this.#checkpoints(target, tokens, delayUs);
    if (checkpoints.length === 0) return undefined;
    this.#sequence += 1;
    const began = { sequence: this.#sequence, nowUs };
    const attempt = new WatchedAttempt(target, began, checkpoints);
    this.#due.push(attempt);
    return attempt;
  }

  /**
   * From the alarm until all evidence for it is gone: in between, slow may be turning into usual.
   *
   * @param isItself the question is asked for a call that is late at this same target.
   */
  isSlow(target: Target, nowUs: number, isItself = false): boolean {
    this.#settle(nowUs);
    const state = this.#states.get(target);
    if (state === undefined) return false;
    return state.isSlow || (isItself && state.level >= ALARM_OF_ITSELF);
  }

  #settle(nowUs: number): void {
    for (;;) {
      const attempt = this.#due.peek();
      if (attempt === undefined || attempt.atUs > nowUs) return;
      this.#due.pop();
      const { evidence, isDone } = attempt.pass();
      this.#weigh(attempt.target, evidence);
      if (!isDone) this.#due.push(attempt);
    }
  }

  #weigh(target: Target, evidence: number): void {
    let state = this.#states.get(target);
    if (state === undefined) {
      state = { level: 0, isSlow: false };
      this.#states.set(target, state);
    }
    state.level = Math.min(LEVEL_MAX, Math.max(0, state.level + evidence));
    if (state.level === 0) state.isSlow = false;
    else if (evidence > 0) for (const each of this.#states.values()) this.#sound(each);
  }

  /**
   * The evidence of the others (their median) counts as far as this one's own goes: targets that all look rather slow are
   * slow together, and one that has gone mute says nothing against one that is well.
   */
  #sound(state: SlownessState): void {
    const others: number[] = [];
    for (const each of this.#states.values()) if (each !== state) others.push(each.level);
    others.sort((a, b) => a - b);
    const middle = others[(others.length - 1) >> 1] ?? 0;
    state.isSlow ||= state.level + Math.min(state.level, middle) >= ALARM;
  }

  #checkpoints(target: Target, tokens: number, delayUs: number): Checkpoint[] {
    const times = target.ttft.timesOf(tokens);
    const checkpoints: Checkpoint[] = [];
    if (times === undefined) return checkpoints;
    let before = 1;
    const add = (afterUs: number, share: number): void => {
      const silent = Math.max(SHARE_MIN, share);
      // Where many times are alike, several halvings fall on one instant.
      if (silent > before / 2) return;
      checkpoints.push({ afterUs, silentShare: silent / before });
      before = silent;
    };
    for (let i = 1; i <= CHECKPOINTS_MAX; i += 1) {
      const { atUs, share } = times.tail(2 ** -i);
      if (atUs < delayUs) add(atUs, share);
    }
    // By its definition, whatever the times are: if all are above it, because of its floor, all is slow for it.
    add(delayUs, this.#lateShare);
    return checkpoints;
  }
}
