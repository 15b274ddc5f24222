/**
 * How long a connection to one origin may lie unused before it is given up: below what the upstream itself allows, since a
 * request that meets the upstream's close on its way is lost. What the upstream allows is told (`Keep-Alive: timeout=`) or
 * learnt from when it closes. A restart of the upstream also closes connections, at any age: so a close counts only if
 * another one, at another moment, agrees with it; a request that was lost counts at once, but not for long.
 *
 *     limit = least of: configured, hint − HINT_MARGIN_US, learnt − margin
 *
 * Bounded: the last SEEN_MAX closes, none older than REMEMBERED_US: then a longer limit is tried again.
 */
import { US_PER_S } from "../../core/index.ts";

export type IdleSource = "configured" | "hint" | "learnt" | "unlimited";

export interface IdleState {
  /** Infinity if there is no limit. */
  readonly limitUs: number;
  readonly source: IdleSource;
}

/** For the time that a request needs to get there. */
const HINT_MARGIN_US = US_PER_S;
/** Never learnt to be shorter: what closes sooner than this is no idle limit. */
const IDLE_US_MIN = US_PER_S;
const SEEN_MAX = 16;
const REMEMBERED_US = 3_600 * US_PER_S;
/** One lost request alone. */
const RACE_REMEMBERED_US = 600 * US_PER_S;
/** Two closes within this are one event. */
const APART_US = US_PER_S;

interface Close {
  /** Without a request for so long. */
  readonly ageUs: number;
  readonly atUs: number;
  readonly wasRace: boolean;
}

export class IdleLimit {
  #hintUs: number | undefined;
  #closes: Close[] = [];
  /** Valid until a close is seen, or `#staleUs`. */
  #learntUs = Number.POSITIVE_INFINITY;
  #staleUs = Number.POSITIVE_INFINITY;

  /** @param header value of `Keep-Alive`, such as `timeout=5, max=100`; one without a time-out says nothing. */
  hint(header: string): void {
    const match = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(header);
    if (match !== null) this.#hintUs = Number(match[1]) * US_PER_S;
  }

  /** The upstream closed a connection that had been unused for `ageUs`. */
  closedIdle(ageUs: number, nowUs: number): void {
    this.#see({ ageUs, atUs: nowUs, wasRace: false });
  }

  /** A request went out on a connection that had been unused for `ageUs`, and found it dead. */
  raced(ageUs: number, nowUs: number): void {
    this.#see({ ageUs, atUs: nowUs, wasRace: true });
  }

  /** @param configuredUs 0 = none. */
  state(configuredUs: number, nowUs: number): IdleState {
    if (nowUs >= this.#staleUs) this.#learn(nowUs);
    let limitUs = configuredUs === 0 ? Number.POSITIVE_INFINITY : configuredUs;
    let source: IdleSource = configuredUs === 0 ? "unlimited" : "configured";
    const lower = (toUs: number, from: IdleSource): void => {
      if (toUs >= limitUs) return;
      limitUs = toUs;
      source = from;
    };
    if (this.#hintUs !== undefined) lower(Math.max(0, this.#hintUs - HINT_MARGIN_US), "hint");
    lower(Math.max(IDLE_US_MIN, this.#learntUs - marginOf(this.#learntUs)), "learnt");
    return { limitUs, source };
  }

  #see(close: Close): void {
    if (close.ageUs < IDLE_US_MIN) return;
    this.#closes.push(close);
    if (this.#closes.length > SEEN_MAX) this.#closes.shift();
    this.#learn(close.atUs);
  }

  #learn(nowUs: number): void {
    this.#closes = this.#closes.filter(({ atUs }) => nowUs - atUs < REMEMBERED_US);
    this.#learntUs = Number.POSITIVE_INFINITY;
    this.#staleUs = Number.POSITIVE_INFINITY;
    for (const close of this.#closes) {
      const isConfirmed = this.#closes.some((other) => agree(close, other));
      const untilUs = close.atUs + (isConfirmed ? REMEMBERED_US : RACE_REMEMBERED_US);
      if (nowUs >= untilUs || (!isConfirmed && !close.wasRace)) continue;
      this.#learntUs = Math.min(this.#learntUs, close.ageUs);
      this.#staleUs = Math.min(this.#staleUs, untilUs);
    }
  }
}

function agree(one: Close, other: Close): boolean {
  if (Math.abs(one.atUs - other.atUs) < APART_US) return false;
  const apartUs = Math.abs(one.ageUs - other.ageUs);
  return apartUs <= Math.max(US_PER_S, Math.min(one.ageUs, other.ageUs) / 10);
}

/** A tenth, between half a second and five: clocks and links differ more over long times. */
function marginOf(ageUs: number): number {
  return Math.min(5 * US_PER_S, Math.max(US_PER_S / 2, ageUs / 10));
}
