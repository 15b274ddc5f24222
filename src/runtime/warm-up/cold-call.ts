/**
 * One call, told cold from warm by what it had to wait for. A call is
 *
 *     cold     it began before the process was ready, and waited for a part of its start
 *     partly   the process was ready, and it waited for something: a lazy item, one that was not used for too long
 *     warm     it waited for nothing
 *
 * The mark says why, and for how long for each item; in a turn's trace the wait is a `startup` span with the cause.
 */
import type { Clock } from "../../clock/index.ts";
import { NO_SPAN, type OpenSpan } from "../../trace/index.ts";
import { INSTANCE_KEY, type ItemLife } from "./item-life.ts";

export const TEMPERATURES = ["cold", "partly", "warm"] as const;

export type Temperature = (typeof TEMPERATURES)[number];

/** Why a process is new. */
export type StartCause = "deploy" | "scale-out" | "idle-recycle";

export interface ColdMark {
  readonly temperature: Temperature;
  /** Null for a warm call. `first-call`: nobody had needed it before; `idle-recycle`: nobody had for too long. */
  readonly cause: StartCause | "first-call" | null;
  /** In the order of the waits. */
  readonly waits: ReadonlyArray<{ readonly item: string; readonly waitedUs: number }>;
  /** As long as anything was waited for; waits beside each other count once. */
  readonly waitedUs: number;
}

export interface ColdCallOptions {
  /** Of the call, in its turn's trace. */
  readonly span?: OpenSpan;
}

export interface ColdCallHost {
  readonly clock: Clock;
  readonly cause: StartCause;
  /** When the call began. */
  readonly isReady: boolean;
  readonly lifeOf: (name: string) => ItemLife;
  /** Of the process, as in the trace of its start: what links the two. */
  readonly instance: string | undefined;
}

export class ColdCall {
  readonly #host: ColdCallHost;
  readonly #span: OpenSpan;
  readonly #waits: { item: string; waitedUs: number }[] = [];
  #cause: ColdMark["cause"] = null;
  #waiting = 0;
  #waitingSinceUs = 0;
  #waitedUs = 0;

  constructor({ span = NO_SPAN }: ColdCallOptions, host: ColdCallHost) {
    this.#host = host;
    this.#span = span;
  }

  /** As `get` of the warm-up, and remembers the wait. @throws MANX_NOT_WARM, MANX_NAME_UNKNOWN */
  async get<Value = unknown>(name: string): Promise<Value> {
    const life = this.#host.lifeOf(name);
    if (life.isWarm) return life.get() as Promise<Value>;
    const { clock, cause, isReady, instance } = this.#host;
    const why = life.wasIdle ? "idle-recycle" : isReady ? "first-call" : cause;
    const startUs = clock.nowUs();
    this.#cause ??= why;
    if (this.#waiting === 0) this.#waitingSinceUs = startUs;
    this.#waiting += 1;
    const wait = this.#span.begin("startup", name, { cold: why });
    if (instance !== undefined) wait.set(INSTANCE_KEY, instance);
    try {
      const value = (await life.get()) as Value;
      wait.end();
      return value;
    } catch (error) {
      wait.fail(error);
      throw error;
    } finally {
      const endUs = clock.nowUs();
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#waitedUs += endUs - this.#waitingSinceUs;
      this.#waits.push({ item: name, waitedUs: endUs - startUs });
      life.delays.calls += 1;
      life.delays.us += endUs - startUs;
    }
  }

  /** As far as it has come. */
  get mark(): ColdMark {
    const isWarm = this.#cause === null;
    const openUs = this.#waiting === 0 ? 0 : this.#host.clock.nowUs() - this.#waitingSinceUs;
    return {
      temperature: isWarm ? "warm" : this.#host.isReady ? "partly" : "cold",
      cause: this.#cause,
      waits: [...this.#waits],
      waitedUs: this.#waitedUs + openUs,
    };
  }
}
