/**
 * The start-up work of a process as a graph: everything as soon as what it needs is there, nothing twice, each with a
 * proof. Ready means warm: every required item proved, and a rehearsal gone through the whole path, if there is one.
 *
 *     const warmUp = new WarmUp({
 *       items: {
 *         registry: { run: loadRegistry, proof: (tools) => tools.length > 0, refreshEvery: "5m" },
 *         validators: { needs: ["registry"], run: ({ registry }) => compile(registry), proof: useOne },
 *       },
 *       deadline: "30s",
 *     });
 *     await warmUp.start();
 *     const registry = await warmUp.get("registry");
 *
 * It keeps timers for refreshes and later tries until it is closed.
 */
import { type Clock, realClock } from "../../clock/index.ts";
import { lookUp, ManxError } from "../../core/index.ts";
import { NO_SPAN, type OpenSpan } from "../../trace/index.ts";
import { Deadline } from "../deadline.ts";
import { type SlotLimits, Slots } from "../slots.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import { ColdCall, type ColdCallOptions, type StartCause } from "./cold-call.ts";
import { type ItemHost, ItemLife, NeedFailed } from "./item-life.ts";
import { checkItems, type WarmItem } from "./warm-item.ts";
import { type WarmReport, warmReport } from "./warm-report.ts";

/** Marks traffic that nobody waits for: it belongs into no percentile and no hit rate. */
export const WARM_UP_HEADERS: Readonly<Record<string, string>> = { "x-manx-purpose": "warm-up" };
/** The name of the rehearsal in reports and errors. */
const REHEARSAL = "rehearsal";

export interface WarmUpOptions {
  readonly items: Readonly<Record<string, WarmItem>>;
  /**
   * One made-up request through the whole path, after all that is required; readiness waits for it. Its headers mark it
   * as warm-up traffic.
   */
  readonly rehearse?: (headers: Readonly<Record<string, string>>, deadline: Deadline) => unknown;
  /** For the start; what is not done by then goes on being tried. Default: none. */
  readonly deadline?: TimeSpan;
  readonly limits?: SlotLimits | Slots;
  /** Runs of an item in a row that fail, before only a use begins another. Default 8. */
  readonly attempts?: number;
  /** Why this process is new; calls that wait for it are marked so. Default `deploy`. */
  readonly cause?: StartCause;
  /** On the clock: when the process, its container or its order for one began. Default: now. */
  readonly processStartUs?: number;
  /** Told what becomes of each run; may not change it. */
  readonly observe?: (item: string, what: "proved" | "changed" | "failed") => void;
  /** Of a trace of the start; each run becomes a `startup` span in it. */
  readonly span?: OpenSpan;
  /** Names the process on these spans and on those of the calls that waited (`service.instance.id`), so that one finds the other. */
  readonly instance?: string;
  readonly clock?: Clock;
}

const ATTEMPTS_MAX = 8;

export class WarmUp {
  readonly #clock: Clock;
  readonly #life: Deadline;
  readonly #options: WarmUpOptions;
  readonly #items = new Map<string, ItemLife>();
  readonly #dependents = new Map<string, ItemLife[]>();
  readonly #beganUs: number;
  readonly #processStartUs: number;
  #readyUs: number | undefined;
  #observerErrors = 0;
  #start: Promise<WarmReport> | undefined;
  #announceReady: () => void = () => {};
  readonly #firstReady = new Promise<void>((resolve) => {
    this.#announceReady = resolve;
  });

  /** @throws MANX_WARM_UP_INVALID, MANX_GRAPH_INVALID, MANX_TOOL_INVALID, MANX_DURATION */
  constructor(options: WarmUpOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#beganUs = this.#clock.nowUs();
    this.#processStartUs = Math.min(options.processStartUs ?? this.#beganUs, this.#beganUs);
    this.#life = Deadline.at(this.#clock, Number.POSITIVE_INFINITY);
    if (!Number.isFinite(this.#processStartUs)) {
      throw invalid("processStartUs", "an instant on the clock", String(options.processStartUs));
    }
    const { limits = {}, attempts = ATTEMPTS_MAX, span = NO_SPAN, deadline } = options;
    if (deadline !== undefined) spanUs(deadline, "deadline");
    if (!Number.isInteger(attempts) || attempts < 1) {
      throw invalid("attempts", "a whole number from 1", String(attempts));
    }
    const host: ItemHost = {
      clock: this.#clock,
      life: this.#life,
      slots: limits instanceof Slots ? limits : new Slots(limits),
      attemptsMax: attempts,
      span,
      instance: options.instance,
      inputsOf: (item) => this.#inputsOf(item.needs),
      settled: (life, what) => this.#settled(life, what),
    };
    for (const item of checkItems(withRehearsal(options))) {
      const life = new ItemLife(item, host);
      this.#items.set(item.name, life);
      for (const need of item.needs) {
        this.#dependents.set(need, [...(this.#dependents.get(need) ?? []), life]);
      }
    }
  }

  /**
   * Begins everything that is not lazy.
   * @returns when it is ready, or has to go on without that: after the first try of each item, or at the deadline.
   *   Never rejects for what items do.
   */
  start(): Promise<WarmReport> {
    this.#start ??= this.#begin();
    return this.#start;
  }

  /** Resolves as soon as it has been ready once, however late. */
  get whenReady(): Promise<void> {
    return this.#firstReady;
  }

  /** Every required item is proved and warm, now. */
  get isReady(): boolean {
    return [...this.#items.values()].every(({ item, isWarm }) => !item.isRequired || isWarm);
  }

  /** For a readiness check: 200 only when it serves at warm latency, 503 with what is missing until then. */
  readiness(): { readonly status: 200 | 503; readonly body: string } {
    const missing = [...this.#items.values()]
      .filter(({ item, isWarm }) => item.isRequired && !isWarm)
      .map(({ item, status }) => ({ item: item.name, status }));
    const isReady = missing.length === 0;
    const body = JSON.stringify(isReady ? { status: "ready" } : { status: "warming", missing });
    return { status: isReady ? 200 : 503, body };
  }

  /**
   * The value: at once if it is warm, stale while it is refreshed; otherwise the run that is going on, or a new one.
   * @throws MANX_NOT_WARM if that fails, MANX_NAME_UNKNOWN
   */
  get<Value = unknown>(name: string): Promise<Value> {
    return this.#lifeOf(name).get() as Promise<Value>;
  }

  /** Runs it anew behind the value that serves, such as when its source says that it has changed. @throws as `get` */
  refresh(name: string): Promise<unknown> {
    return this.#lifeOf(name).renew();
  }

  /** A call that may have to wait for items; ask for them through it, and it tells cold from warm. */
  mark(options: ColdCallOptions = {}): ColdCall {
    return new ColdCall(options, {
      clock: this.#clock,
      cause: this.#options.cause ?? "deploy",
      isReady: this.isReady,
      instance: this.#options.instance,
      lifeOf: (name) => this.#lifeOf(name),
    });
  }

  report(): WarmReport {
    return warmReport([...this.#items.values()], {
      nowUs: this.#clock.nowUs(),
      beganUs: this.#beganUs,
      processStartUs: this.#processStartUs,
      readyUs: this.#readyUs,
      isReady: this.isReady,
      observerErrors: this.#observerErrors,
    });
  }

  /** No more refreshes and tries; what runs is called off. Values that are there can still be used. */
  close(): void {
    for (const life of this.#items.values()) life.close();
    this.#life.cancel(new DOMException("the warm-up was closed", "AbortError"));
  }

  async #begin(): Promise<WarmReport> {
    const { deadline } = this.#options;
    const start = this.#life.child(deadline === undefined ? {} : { within: deadline });
    const flights: Promise<unknown>[] = [];
    for (const life of this.#items.values()) {
      if (!life.item.isLazy) flights.push(life.begin(start).catch(() => {}));
    }
    // Nothing to prove: ready from the beginning.
    if (this.isReady) this.#nowReady();
    await Promise.race([this.#firstReady, Promise.all(flights)]);
    // Optional items that are late go on within the start's time.
    void Promise.all(flights).then(() => start.close());
    return this.report();
  }

  #settled(life: ItemLife, what: "proved" | "changed" | "failed"): void {
    const { name } = life.item;
    this.#tell(name, what);
    if (what === "failed") return;
    for (const dependent of this.#dependents.get(name) ?? []) {
      dependent.needCame(name, what === "changed");
    }
    if (this.#readyUs === undefined && this.isReady) this.#nowReady();
  }

  #tell(name: string, what: "proved" | "changed" | "failed"): void {
    try {
      this.#options.observe?.(name, what);
    } catch {
      this.#observerErrors += 1;
    }
  }

  #nowReady(): void {
    this.#readyUs = this.#clock.nowUs();
    this.#announceReady();
  }

  async #inputsOf(needs: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const values = await Promise.all(
      needs.map((need) =>
        this.#lifeOf(need)
          .get()
          .catch((error: unknown) => {
            throw new NeedFailed(need, error);
          }),
      ),
    );
    return Object.fromEntries(needs.map((need, i) => [need, values[i]]));
  }

  #lifeOf(name: string): ItemLife {
    return (
      this.#items.get(name) ?? lookUp(Object.fromEntries(this.#items), name, "item of the warm-up")
    );
  }
}

function withRehearsal({ items, rehearse }: WarmUpOptions): Readonly<Record<string, WarmItem>> {
  if (rehearse === undefined) return items;
  if (Object.hasOwn(items, REHEARSAL)) {
    throw invalid(
      `item ${JSON.stringify(REHEARSAL)}`,
      "another name beside a rehearsal",
      REHEARSAL,
    );
  }
  const required = Object.keys(items).filter(
    (name) => items[name]!.optional !== true && items[name]!.lazy !== true,
  );
  return {
    ...items,
    [REHEARSAL]: {
      needs: required,
      run: (_inputs, deadline) => rehearse(WARM_UP_HEADERS, deadline),
      proof: "run",
    },
  };
}

function invalid(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_WARM_UP_INVALID", { where, expected, got });
}
