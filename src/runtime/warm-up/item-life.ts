/**
 * One item of a warm-up from cold to warm and on: one run at a time however many ask for it, tried again with growing
 * pauses, refreshed behind the value that serves, cold again when its time is over.
 *
 *     idle ─► waiting ─► running ─┬─► ready ◄─► refreshed behind; stale while that fails; expired when unused too long
 *                ▲                └─► failed ─► tried again, after a pause or when what it needs has come
 *                └──────────────────────┘
 *
 * Invariants: there is one flight at most; a failed refresh never takes a value away; it holds one timer at most.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import { NO_SPAN, type OpenSpan } from "../../trace/index.ts";
import type { Deadline } from "../deadline.ts";
import { type Ending, Execution, GRACE_US } from "../execution.ts";
import type { Slots } from "../slots.ts";
import type { CheckedItem } from "./warm-item.ts";

/** What the items of a warm-up share. */
export interface ItemHost {
  readonly clock: Clock;
  /** Of the warm-up's whole life; refreshes and later tries run under it. */
  readonly life: Deadline;
  readonly slots: Slots;
  readonly attemptsMax: number;
  readonly span: OpenSpan;
  readonly instance: string | undefined;
  /** Values of these items; rejects with a `NeedFailed`. */
  readonly inputsOf: (item: CheckedItem) => Promise<Readonly<Record<string, unknown>>>;
  readonly settled: (life: ItemLife, what: "proved" | "changed" | "failed") => void;
}

export type ItemStatus =
  /** Nobody has asked for it. */
  | "idle"
  | "waiting"
  | "running"
  | "ready"
  /** Ready, with a value whose refresh has failed. */
  | "stale"
  /** Was ready, and was not used for too long. */
  | "expired"
  | "failed"
  /** What it needs has failed. */
  | "skipped";

/** When its first good run was, or its last bad one; µs on the clock. */
export interface ItemTimes {
  readonly startUs: number;
  /** The run had answered; then came the proof. Null if it did not. */
  readonly ranUs: number | null;
  readonly endUs: number;
}

/** OpenTelemetry's name for the process. */
export const INSTANCE_KEY = "service.instance.id";
const BACK_OFF_FIRST_US = 250_000;
const BACK_OFF_MOST_US = 30_000_000;
const RUNS_MAX = 100;

export class ItemLife {
  readonly item: CheckedItem;
  readonly #host: ItemHost;
  #value: { readonly held: unknown } | undefined;
  #flight: Promise<unknown> | undefined;
  #isRunning = false;
  #provedUs = 0;
  #usedUs = 0;
  #error: unknown;
  #retryUs = 0;
  #staleSinceUs: number | undefined;
  #cancelTimer: Cancel | undefined;
  #span: OpenSpan = NO_SPAN;
  /** A run has gone well; a value alone may be a seed. */
  #hasProved = false;
  attempts = 0;
  /** Since the last proof. */
  failures = 0;
  refreshes = 0;
  /** Calls that had to wait for it, and for how long in all. */
  readonly delays = { calls: 0, us: 0 };
  /** Runs up to the first good one, the last of which counts; the latest of many. */
  readonly runs: ItemTimes[] = [];

  constructor(item: CheckedItem, host: ItemHost) {
    this.item = item;
    this.#host = host;
    if (item.seed === undefined) return;
    this.#value = { held: item.seed.value };
    this.#provedUs = host.clock.nowUs();
    this.#staleSinceUs = this.#provedUs;
  }

  get status(): ItemStatus {
    if (this.isWarm) return this.#staleSinceUs === undefined ? "ready" : "stale";
    if (this.#flight !== undefined) return this.#isRunning ? "running" : "waiting";
    if (this.failures > 0) return this.#error instanceof NeedFailed ? "skipped" : "failed";
    return this.#value === undefined ? "idle" : "expired";
  }

  /** Serves at once. */
  get isWarm(): boolean {
    return this.#value !== undefined && !this.#isExpired && this.staleUs <= this.item.staleMaxUs;
  }

  /** It was warm and would be, had it been used: whoever waits now waits for that reason. */
  get wasIdle(): boolean {
    return this.#value !== undefined && this.#isExpired;
  }

  /** µs since the first refresh of a row that failed; 0 if the last one went well. */
  get staleUs(): number {
    return this.#staleSinceUs === undefined ? 0 : this.#host.clock.nowUs() - this.#staleSinceUs;
  }

  get times(): ItemTimes | undefined {
    return this.runs.at(-1);
  }

  get error(): unknown {
    return this.failures > 0 ? this.#error : undefined;
  }

  /** At once if it is warm. @throws MANX_NOT_WARM if its run fails, or has failed and it is too early for another. */
  get(): Promise<unknown> {
    const nowUs = this.#host.clock.nowUs();
    if (this.isWarm) {
      this.#usedUs = nowUs;
      // A seed serves while its first run is done, which its first use begins if nobody else has.
      if (!this.#hasProved && this.failures === 0) this.begin(this.#host.life);
      return Promise.resolve(this.#value?.held);
    }
    if (this.#flight !== undefined) return this.#flight;
    const isTooEarly = this.failures > 0 && nowUs < this.#retryUs;
    if (isTooEarly) return Promise.reject(this.#notWarm());
    return this.begin(this.#host.life);
  }

  /** Runs it now, unless that is being done. The promise may be left alone. */
  begin(parent: Deadline): Promise<unknown> {
    if (this.#flight !== undefined) return this.#flight;
    this.#cancelTimer?.();
    const flight = this.#fly(parent);
    flight.catch(() => {});
    this.#flight = flight;
    return flight;
  }

  /** What it was made from has changed: a run that is going on may not have seen that. */
  renew(): Promise<unknown> {
    const { life } = this.#host;
    return (
      this.#flight?.then(
        () => this.begin(life),
        () => this.begin(life),
      ) ?? this.begin(life)
    );
  }

  /** Something that it needs has a new value, or has come after this has given up for it. */
  needCame(name: string, isNew: boolean): void {
    const gaveUp = this.#error instanceof NeedFailed && this.#error.need === name;
    if (gaveUp || (isNew && this.#value !== undefined)) this.begin(this.#host.life);
  }

  close(): void {
    this.#cancelTimer?.();
  }

  get #isExpired(): boolean {
    const { livesUs } = this.item;
    if (!Number.isFinite(livesUs)) return false;
    return this.#host.clock.nowUs() >= Math.max(this.#provedUs, this.#usedUs) + livesUs;
  }

  async #fly(parent: Deadline): Promise<unknown> {
    const { clock } = this.#host;
    try {
      const inputs = await this.#host.inputsOf(this.item);
      await this.#place(parent);
      const value = await this.#run(inputs, parent);
      this.#proved(value);
      return value;
    } catch (error) {
      this.#failed(error);
      throw this.#notWarm();
    } finally {
      this.#isRunning = false;
      this.#arm(clock.nowUs());
    }
  }

  #place(parent: Deadline): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = parent;
      if (parent.isOver) {
        reject(signal.reason);
        return;
      }
      let leave: Cancel | undefined;
      const onAbort = (): void => {
        leave?.();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      leave = this.#host.slots.take(this.item.resource, () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
    });
  }

  #run(inputs: Readonly<Record<string, unknown>>, parent: Deadline): Promise<unknown> {
    const { item } = this;
    const { clock, slots } = this.#host;
    const startUs = clock.nowUs();
    let ranUs: number | null = null;
    this.#isRunning = true;
    this.attempts += 1;
    this.#span = this.#host.span.begin("startup", item.name, { phase: item.serves });
    this.#span.set("manx.purpose", "warm-up");
    if (this.#host.instance !== undefined) this.#span.set(INSTANCE_KEY, this.#host.instance);
    return new Promise((resolve, reject) => {
      const limits = { within: item.withinUs, graceUs: GRACE_US };
      const execution = new Execution(parent, limits, {
        run: async (deadline) => {
          const value = await item.run(inputs, deadline);
          ranUs = clock.nowUs();
          await prove(item, value, deadline);
          return value;
        },
        settled: (ending) => {
          if (!this.#hasProved) this.#note({ startUs, ranUs, endUs: clock.nowUs() });
          const error = errorOf(ending, item);
          if (ending.kind === "value") {
            this.#span.end();
            resolve(ending.value);
          } else {
            this.#span.fail(error);
            reject(error);
          }
        },
        released: () => slots.give(item.resource),
      });
      execution.begin();
    });
  }

  #note(times: ItemTimes): void {
    if (this.runs.length === RUNS_MAX) this.runs.shift();
    this.runs.push(times);
  }

  #proved(value: unknown): void {
    const before = this.#value;
    this.#value = { held: value };
    this.#provedUs = this.#host.clock.nowUs();
    this.#staleSinceUs = undefined;
    this.failures = 0;
    this.#error = undefined;
    this.#flight = undefined;
    if (this.#hasProved) this.refreshes += 1;
    this.#hasProved = true;
    const isChanged = before !== undefined && !Object.is(before.held, value);
    this.#host.settled(this, isChanged ? "changed" : "proved");
  }

  #failed(error: unknown): void {
    const nowUs = this.#host.clock.nowUs();
    this.failures += 1;
    this.#error = error;
    this.#flight = undefined;
    if (this.#value !== undefined) this.#staleSinceUs ??= nowUs;
    const pauseUs = Math.min(BACK_OFF_MOST_US, BACK_OFF_FIRST_US * 2 ** (this.failures - 1));
    this.#retryUs = error instanceof NeedFailed ? nowUs : nowUs + pauseUs;
    this.#host.settled(this, "failed");
  }

  /** The one timer: the next refresh, or the next try. */
  #arm(nowUs: number): void {
    this.#cancelTimer?.();
    const { life, clock, attemptsMax } = this.#host;
    if (life.isOver || this.#flight !== undefined) return;
    const dueUs = this.#dueUs(nowUs, attemptsMax);
    if (Number.isFinite(dueUs)) {
      this.#cancelTimer = clock.at(dueUs, () => this.begin(life));
    }
  }

  #dueUs(nowUs: number, attemptsMax: number): number {
    const { refreshEveryUs } = this.item;
    const hasValue = this.#value !== undefined;
    if (hasValue && this.failures === 0) return this.#provedUs + refreshEveryUs;
    const usualUs = hasValue ? nowUs + refreshEveryUs : Number.POSITIVE_INFINITY;
    // What it needs will call it when it has come.
    if (this.#error instanceof NeedFailed) return usualUs;
    if (this.failures >= attemptsMax && usualUs === Number.POSITIVE_INFINITY) return usualUs;
    // Sooner than a refresh would be, so that a hiccup is soon over, and never later.
    return Math.min(usualUs, this.#retryUs);
  }

  #notWarm(): ManxError {
    const error = this.#error;
    return new ManxError("MANX_NOT_WARM", {
      where: `item ${JSON.stringify(this.item.name)}`,
      got: error instanceof Error ? error.message : String(error),
      details: { failures: this.failures },
      cause: error,
    });
  }
}

/** Something that an item needs is not there. */
export class NeedFailed extends Error {
  readonly need: string;

  constructor(need: string, cause: unknown) {
    super(`it needs ${JSON.stringify(need)}, which has failed`, { cause });
    this.need = need;
  }
}

async function prove(item: CheckedItem, value: unknown, deadline: Deadline): Promise<void> {
  if (item.proof === "run") return;
  const answer = await item.proof(value as never, deadline);
  if (answer === false) throw new Error("its proof has failed: what was made does not work");
}

function errorOf(ending: Ending, item: CheckedItem): unknown {
  switch (ending.kind) {
    case "value":
      return undefined;
    case "threw":
      return ending.error;
    case "timeout":
      return new ManxError("MANX_DEADLINE", {
        what: ending.by === "own" ? "it took too long" : "the start's time was over",
        where: `item ${JSON.stringify(item.name)}`,
      });
    case "cancelled":
      return new DOMException(ending.why, "AbortError");
  }
}
