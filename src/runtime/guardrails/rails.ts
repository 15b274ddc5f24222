/**
 * The rails of an agent, from cheap to dear, made once and shared by all its turns. It asks them, reads what they answer
 * and keeps count of those that were given up and go on all the same.
 *
 * Invariant: an answer counts once, and not after it was given up; at most `checksMax` functions run at a time, those that
 * ignore their signal included.
 */
import type { Cancel } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import {
  GUARD_WINDOW,
  type GuardPolicy,
  type GuardStage,
  type Verdict,
} from "../../policy/guard/index.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import type { Rail, RailAnswer, RailParts } from "./rail.ts";

export interface RailsOptions {
  /** New characters that are worth a check. Default 256; 0 for whatever a read has brought. */
  readonly windowChars?: number;
  /** Held back behind what was checked, so that bad text up to this length is seen whole. Default 64. */
  readonly overlapChars?: number;
  /** Text that has waited this long is checked though its window is not full. Default 200 ms. */
  readonly wait?: TimeSpan;
  /** Most characters of one answer that are held. Default 4 Mi; beyond it `onFailure` decides. */
  readonly heldCharsMax?: number;
  /** Checks at a time, over all turns; one more has failed. Default 1,000. */
  readonly checksMax?: number;
}

export interface RailCounts {
  checks: number;
  /** Threw, or answered nonsense. */
  broken: number;
  /** Not begun, since too many were running. */
  crowdedOut: number;
  /** Answered after they were given up. */
  late: number;
}

export type RailDone = (verdict: Verdict, parts: RailParts) => void;

const CHECKS_MAX = 1_000;
const VERDICTS: ReadonlySet<unknown> = new Set(["clean", "flag", "unsure", "failed"]);
const NO_PARTS: RailParts = {};
const FAILED: RailAnswer = { verdict: "failed" };

export class Rails {
  readonly policy: GuardPolicy;
  readonly counts: RailCounts = { checks: 0, broken: 0, crowdedOut: 0, late: 0 };
  readonly #rails: readonly Rail[];
  readonly #checksMax: number;
  #running = 0;

  /** @throws MANX_RAIL_INVALID, MANX_DURATION */
  constructor(rails: readonly Rail[], options: RailsOptions = {}) {
    checkList(rails);
    this.#rails = [...rails];
    this.#checksMax = wholeOf(options.checksMax ?? CHECKS_MAX, "checksMax", 1);
    const { windowChars, overlapChars, waitUs, heldBytesMax } = GUARD_WINDOW;
    this.policy = {
      rules: rails.map(({ name, stage, budgetUs, onFailure, when }) => {
        return { name, stage, budgetUs, onFailure, when };
      }),
      windowChars: wholeOf(options.windowChars ?? windowChars, "windowChars", 0),
      overlapChars: wholeOf(options.overlapChars ?? overlapChars, "overlapChars", 0),
      waitUs: options.wait === undefined ? waitUs : spanUs(options.wait, "wait"),
      heldBytesMax: wholeOf(options.heldCharsMax ?? heldBytesMax, "heldCharsMax", 1),
    };
  }

  /** Functions that run now, also those whose verdict nobody waits for. */
  get running(): number {
    return this.#running;
  }

  has(stage: GuardStage): boolean {
    return this.policy.rules.some((one) => one.stage === stage);
  }

  /**
   * @param done told once unless it is given up; may be told before this returns.
   * @returns gives it up.
   */
  ask(index: number, text: string, done: RailDone): Cancel {
    this.counts.checks += 1;
    if (this.#running >= this.#checksMax) {
      this.counts.crowdedOut += 1;
      done("failed", NO_PARTS);
      return ignore;
    }
    const { stage, check } = this.#rails[index]!;
    const controller = new AbortController();
    let isAwaited = true;
    const settle = (answer: unknown, isBroken: boolean): void => {
      this.#running -= 1;
      const read = isBroken ? FAILED : readAnswer(answer);
      if (read === FAILED) this.counts.broken += 1;
      if (isAwaited) {
        isAwaited = false;
        done(read.verdict, read.parts ?? NO_PARTS);
      } else this.counts.late += 1;
    };
    this.#running += 1;
    try {
      const answer = check(text, { signal: controller.signal, stage });
      if (!isThenable(answer)) settle(answer, false);
      else {
        // A thenable of somebody else's may call back twice, or throw: a promise does neither.
        Promise.resolve(answer).then(
          (value) => settle(value, false),
          () => settle(undefined, true),
        );
      }
    } catch {
      settle(undefined, true);
    }
    return () => {
      if (!isAwaited) return;
      isAwaited = false;
      controller.abort(new DOMException("nobody waits for this check any more", "AbortError"));
    };
  }
}

function readAnswer(answer: unknown): RailAnswer {
  if (VERDICTS.has(answer)) return { verdict: answer as Verdict };
  if (typeof answer !== "object" || answer === null) return FAILED;
  const { verdict, parts } = answer as Partial<RailAnswer>;
  if (!VERDICTS.has(verdict)) return FAILED;
  return { verdict: verdict as Verdict, parts: readParts(parts) };
}

/** What is no time is left out. */
function readParts(parts: unknown): RailParts {
  if (typeof parts !== "object" || parts === null) return NO_PARTS;
  const read: Record<string, number> = {};
  for (const key of ["networkUs", "queueUs", "loadUs", "decodeUs"] as const) {
    const value: unknown = (parts as RailParts)[key];
    if (Number.isSafeInteger(value) && (value as number) >= 0) read[key] = value as number;
  }
  return read;
}

function checkList(rails: readonly Rail[]): void {
  if (rails.length === 0) {
    throw new ManxError("MANX_RAIL_INVALID", {
      what: "a list without rails, which would guard nothing",
      hint: "leave the guard out where there is nothing to check",
    });
  }
  const names = new Set<string>();
  for (const { name } of rails) {
    if (names.has(name)) {
      throw new ManxError("MANX_RAIL_INVALID", {
        what: "two rails of one name",
        where: `rail ${JSON.stringify(name)}`,
      });
    }
    names.add(name);
  }
  for (const stage of ["request", "output"] as const) {
    const own = rails.filter((one) => one.stage === stage);
    if (own.length === 0 || own.some(({ when }) => when === "always")) continue;
    throw new ManxError("MANX_RAIL_INVALID", {
      what: `rails that would never be asked: none of the ${stage} begins`,
      where: `rail ${JSON.stringify(own[0]!.name)}`,
      hint: 'set when: "always" on the cheapest one',
    });
  }
}

function wholeOf(value: number, where: string, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new ManxError("MANX_RAIL_INVALID", {
    where,
    expected: `a whole number from ${least}`,
    got: String(value),
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

function ignore(): void {}
