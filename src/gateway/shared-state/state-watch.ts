/**
 * Looks at the shared state twice a second: tells the others of breakers that have opened or closed here, learns of theirs,
 * and notices when the store is away and when it is back. No request waits for any of it.
 *
 * What others say about a target is taken for at most `OPEN_US_MAX`, and only for a target that is not open here anyway.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";
import type { Target } from "../../policy/index.ts";
import type { SharedState, SharedStateFacts } from "./shared-state.ts";

const LOOK_US = 500 * US_PER_MS;
/** Looks without an answer after which the store counts as away: a single late one is nothing to wake anybody for. */
const MISSES_MAX = 4;
/** A store that comes and goes is told of at most this often. */
const TELL_US = 60 * US_PER_S;
/** The longest that a breaker stays open by itself: eight times its time, which is minutes at most. */
const OPEN_US_MAX = 600 * US_PER_S;

export interface StateWatchOptions {
  readonly clock: Clock;
  readonly state: SharedState;
  /** Those of now, by a name that all gateways have for them. */
  readonly targets: () => ReadonlyMap<string, Target>;
  /** Told that the store is away; and nothing when it is back, which is good news for the next look at the metrics. */
  readonly onAway: (notice: ManxError) => void;
}

export interface StateWatchFacts {
  readonly isAway: boolean;
  /** Times that it went away. */
  readonly outages: number;
  /** Openings of breakers told to others, and heard from them. */
  readonly told: number;
  readonly heard: number;
}

/** All that there is to know about how it goes. */
export interface SharedFacts extends SharedStateFacts {
  readonly watch: StateWatchFacts;
}

export class StateWatch {
  readonly #options: StateWatchOptions;
  /** What was told of each target that is open here: until when. */
  readonly #told = new Map<string, number>();
  readonly #heard = new Map<string, number>();
  readonly #facts = { outages: 0, told: 0, heard: 0 };
  #misses = 0;
  #toldAwayUs = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;
  #isStopped = false;

  constructor(options: StateWatchOptions) {
    this.#options = options;
    this.#plan();
  }

  get facts(): StateWatchFacts {
    return { ...this.#facts, isAway: this.#misses >= MISSES_MAX };
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #plan(): void {
    const { clock } = this.#options;
    this.#cancel = clock.at(clock.nowUs() + LOOK_US, () => {
      void this.#look().finally(() => {
        if (!this.#isStopped) this.#plan();
      });
    });
  }

  async #look(): Promise<void> {
    const { state, targets } = this.#options;
    const known = targets();
    this.#publish(known);
    const open = await state.breakers.read([...known.keys()]);
    if (this.#isStopped) return;
    if (open === undefined) this.#miss();
    else {
      this.#misses = 0;
      this.#hear(open, known);
    }
  }

  #publish(targets: ReadonlyMap<string, Target>): void {
    const { clock, state } = this.#options;
    const nowUs = clock.nowUs();
    for (const [name, target] of targets) {
      const untilUs = target.openUntilUs;
      const told = this.#told.get(name);
      if (target.breakerAt(nowUs) === "open") {
        if (told === untilUs) continue;
        this.#told.set(name, untilUs);
        this.#facts.told += 1;
        state.breakers.opened(name, untilUs - nowUs);
      } else if (told !== undefined && target.breakerAt(nowUs) === "closed") {
        this.#told.delete(name);
        state.breakers.closed(name);
      }
    }
    // A reload may have taken a target away.
    for (const name of this.#told.keys()) if (!targets.has(name)) this.#told.delete(name);
  }

  #hear(open: ReadonlyMap<string, number>, targets: ReadonlyMap<string, Target>): void {
    const nowUs = this.#options.clock.nowUs();
    for (const [name, target] of targets) {
      const leftUs = open.get(name);
      // What it has told itself comes back too.
      if (leftUs === undefined || this.#told.has(name)) {
        if (this.#heard.delete(name)) target.openedElsewhere(0);
        continue;
      }
      const untilUs = nowUs + Math.min(leftUs, OPEN_US_MAX);
      const before = this.#heard.get(name) ?? 0;
      // Heard already; if a call of our own has found it well since, that stands.
      if (untilUs <= before + LOOK_US) continue;
      this.#facts.heard += 1;
      this.#heard.set(name, untilUs);
      target.openedElsewhere(untilUs);
    }
  }

  #miss(): void {
    this.#misses += 1;
    if (this.#misses !== MISSES_MAX) return;
    const { clock, state, onAway } = this.#options;
    this.#facts.outages += 1;
    const nowUs = clock.nowUs();
    if (nowUs - this.#toldAwayUs < TELL_US) return;
    this.#toldAwayUs = nowUs;
    const { place, store } = state.facts;
    onAway(new ManxError("MANX_STATE_AWAY", { where: place, got: store.lastError ?? "no answer" }));
  }
}
