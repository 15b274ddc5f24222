/**
 * Tasks in code, each as soon as what it needs is done: no wave, no polling, at most as many at once as the limits allow.
 * One that fails takes its dependents with it and nothing else. What no output needs any more is called off.
 *
 *     const { values } = await runGraph({
 *       user: { run: () => fetchUser(id) },
 *       orders: { needs: ["user"], run: ({ user }) => fetchOrders(user) },
 *       weather: { needs: ["user"], run: ({ user }) => fetchWeather(user) },
 *     });
 */
import { type Cancel, type Clock, realClock } from "../clock/index.ts";
import { assert } from "../core/index.ts";
import { NO_SPAN, type OpenSpan, type RecordedKind } from "../trace/index.ts";
import { Deadline } from "./deadline.ts";
import { endSpan } from "./end-span.ts";
import { type Ending, Execution, GRACE_US } from "./execution.ts";
import { type SlotLimits, Slots } from "./slots.ts";
import { TaskGraph } from "./task-graph.ts";
import { spanUs, type TimeSpan } from "./time-span.ts";
import { inOrderOfNeeds } from "./topological.ts";

export interface GraphTask {
  readonly needs?: readonly string[];
  /** What it shares with others; `limits` bound it. Default: its name. */
  readonly resource?: string;
  readonly within?: TimeSpan;
  /** Of its span. Default `orchestration`: the agent's own work. */
  readonly kind?: RecordedKind;
  /** @param inputs results of what it needs, by name. @param span its own, in the graph's `trace`. */
  readonly run: (
    inputs: Readonly<Record<string, never>>,
    deadline: Deadline,
    span: OpenSpan,
  ) => unknown;
}

export interface GraphOptions {
  readonly deadline?: TimeSpan | Deadline;
  readonly signal?: AbortSignal;
  readonly limits?: SlotLimits | Slots;
  /** Tasks whose results are wanted; others run only as far as these need them. Default: all. */
  readonly outputs?: readonly string[];
  /** For code that ignores its signal. Default 20 ms. */
  readonly grace?: TimeSpan;
  /** What a span of each task hangs on, such as `turn.trace`. Default: none is recorded. */
  readonly trace?: OpenSpan;
  readonly clock?: Clock;
}

export type TaskOutcome = (
  | { readonly status: "ok"; readonly value: unknown }
  | { readonly status: "failed"; readonly error: unknown }
  | { readonly status: "timeout" }
  | { readonly status: "cancelled" }
  /** `because` is what it needs and has failed, or null if nobody wanted it any more. */
  | { readonly status: "skipped"; readonly because: string | null }
) & {
  /** µs from the start of the graph; null if it never began. */
  readonly startUs: number | null;
  readonly endUs: number;
};

export interface GraphOutcome {
  readonly tasks: Readonly<Record<string, TaskOutcome>>;
  /** Results of the tasks that went well. */
  readonly values: Readonly<Record<string, unknown>>;
  /** All tasks that are wanted went well. */
  readonly isWhole: boolean;
  readonly wallUs: number;
  /** The longest chain of runs that needed each other: no schedule can be faster. */
  readonly criticalPathUs: number;
  /** All runs one after the other. */
  readonly sumUs: number;
}

/**
 * Rejects only for a graph or an option that cannot be: what tasks do is in the outcome.
 * @throws MANX_GRAPH_INVALID, MANX_TOOL_INVALID, MANX_DURATION
 */
export async function runGraph(
  tasks: Readonly<Record<string, GraphTask>>,
  options: GraphOptions = {},
): Promise<GraphOutcome> {
  return new GraphRun(tasks, options).outcome;
}

class GraphRun {
  readonly outcome: Promise<GraphOutcome>;
  readonly #tasks: ReadonlyMap<string, GraphTask>;
  readonly #order: readonly string[];
  readonly #wanted: ReadonlySet<string>;
  readonly #graph = new TaskGraph<string>();
  readonly #deadline: Deadline;
  readonly #slots: Slots;
  readonly #graceUs: number;
  readonly #startUs: number;
  readonly #outcomes = new Map<string, TaskOutcome>();
  readonly #started = new Map<string, number>();
  readonly #trace: OpenSpan;
  readonly #spans = new Map<string, OpenSpan>();
  readonly #running = new Map<string, Execution>();
  readonly #queued = new Map<string, Cancel>();
  #isPumping = false;
  #resolve: (outcome: GraphOutcome) => void = () => {};

  constructor(tasks: Readonly<Record<string, GraphTask>>, options: GraphOptions) {
    this.#tasks = new Map(Object.entries(tasks));
    const needs = new Map([...this.#tasks].map(([name, task]) => [name, task.needs ?? []]));
    this.#order = inOrderOfNeeds(new Map([...needs, ...outputNeeds(options.outputs)])).filter(
      (name) => name !== OUTPUTS,
    );
    this.#wanted = new Set(options.outputs ?? this.#tasks.keys());
    const { deadline = Number.POSITIVE_INFINITY, limits = {} } = options;
    const { clock = realClock, signal } = options;
    this.#deadline = Deadline.from(deadline, { clock, signal });
    this.#slots = limits instanceof Slots ? limits : new Slots(limits);
    this.#graceUs = options.grace === undefined ? GRACE_US : spanUs(options.grace, "grace");
    this.#trace = options.trace ?? NO_SPAN;
    this.#startUs = this.#deadline.clock.nowUs();
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#begin(needs);
  }

  #begin(needs: ReadonlyMap<string, readonly string[]>): void {
    for (const name of this.#order) this.#graph.add(name, needs.get(name), this.#wanted.has(name));
    this.#graph.prune();
    this.#deadline.signal.addEventListener("abort", () => this.#timeIsUp(), { once: true });
    this.#pump();
    if (this.#deadline.isOver) this.#timeIsUp();
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    for (;;) {
      const { ready, skipped, pointless } = this.#graph.take();
      if (ready.length + skipped.length + pointless.length === 0) break;
      for (const { key, because = null } of skipped) {
        this.#queued.get(key)?.();
        this.#note(key, { status: "skipped", because });
      }
      for (const name of pointless) this.#running.get(name)?.cancel("nobody wants it any more");
      for (const name of ready) this.#enqueue(name);
    }
    this.#isPumping = false;
    if (this.#graph.open === 0) this.#finish();
  }

  #enqueue(name: string): void {
    if (!this.#graph.isReady(name)) return;
    const resource = this.#tasks.get(name)!.resource ?? name;
    const leave = this.#slots.take(resource, () => {
      this.#queued.delete(name);
      this.#run(name, resource);
    });
    if (!this.#started.has(name) && !this.#outcomes.has(name)) this.#queued.set(name, leave);
  }

  #run(name: string, resource: string): void {
    const { run, within, kind = "orchestration", needs = [] } = this.#tasks.get(name)!;
    const after = needs.map((need) => this.#spans.get(need)!);
    const span = this.#trace.begin(kind, name, { after });
    this.#spans.set(name, span);
    this.#graph.begin(name);
    this.#started.set(name, this.#sinceStart());
    const limits = { graceUs: this.#graceUs, ...(within !== undefined && { within }) };
    const execution = new Execution(this.#deadline, limits, {
      run: (deadline) => run(this.#inputsOf(name), deadline, span),
      settled: (ending) => {
        endSpan(span, ending);
        this.#settle(name, ending);
      },
      released: () => this.#slots.give(resource),
    });
    this.#running.set(name, execution);
    execution.begin();
  }

  #inputsOf(name: string): Record<string, never> {
    const inputs: Record<string, unknown> = {};
    for (const need of this.#tasks.get(name)!.needs ?? []) {
      const outcome = this.#outcomes.get(need);
      assert(outcome?.status === "ok", "a task runs after what it needs");
      inputs[need] = outcome.value;
    }
    return inputs as Record<string, never>;
  }

  #settle(name: string, ending: Ending): void {
    this.#running.delete(name);
    if (ending.kind === "value") this.#note(name, { status: "ok", value: ending.value });
    else if (ending.kind === "threw") this.#note(name, { status: "failed", error: ending.error });
    else this.#note(name, { status: ending.kind });
    this.#graph.settle(name, ending.kind === "value");
    this.#pump();
  }

  #note(name: string, outcome: DistributiveOmit<TaskOutcome, "startUs" | "endUs">): void {
    if (this.#outcomes.has(name)) return;
    const startUs = this.#started.get(name) ?? null;
    this.#outcomes.set(name, { ...outcome, startUs, endUs: this.#sinceStart() });
  }

  /** What runs hears of it by itself; what waits for a place does not. */
  #timeIsUp(): void {
    const status = this.#deadline.isPast ? "timeout" : "cancelled";
    for (const [name, leave] of [...this.#queued]) {
      leave();
      this.#note(name, { status });
      this.#graph.settle(name, false);
    }
    this.#pump();
  }

  #finish(): void {
    const wallUs = this.#sinceStart();
    this.#deadline.close();
    const tasks: Record<string, TaskOutcome> = {};
    const values: Record<string, unknown> = {};
    for (const name of this.#tasks.keys()) {
      const outcome = this.#outcomes.get(name)!;
      tasks[name] = outcome;
      if (outcome.status === "ok") values[name] = outcome.value;
    }
    const isWhole = [...this.#wanted].every((name) => tasks[name]?.status === "ok");
    this.#resolve({ tasks, values, isWhole, wallUs, ...this.#pathLengths() });
  }

  #pathLengths(): { criticalPathUs: number; sumUs: number } {
    const pathUs = new Map<string, number>();
    let [criticalPathUs, sumUs] = [0, 0];
    for (const name of this.#order) {
      const { startUs, endUs } = this.#outcomes.get(name)!;
      const ownUs = startUs === null ? 0 : endUs - startUs;
      const needs = this.#tasks.get(name)!.needs ?? [];
      const beforeUs = needs.reduce((most, need) => Math.max(most, pathUs.get(need)!), 0);
      pathUs.set(name, beforeUs + ownUs);
      criticalPathUs = Math.max(criticalPathUs, beforeUs + ownUs);
      sumUs += ownUs;
    }
    return { criticalPathUs, sumUs };
  }

  #sinceStart(): number {
    return this.#deadline.clock.nowUs() - this.#startUs;
  }
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown
  ? Omit<Union, Key>
  : never;

/** No task can have this name by chance. */
const OUTPUTS = "\u0000outputs";

/** So that an output that is no task is reported like a need that is none. */
function outputNeeds(outputs: readonly string[] = []): [string, readonly string[]][] {
  return outputs.length === 0 ? [] : [[OUTPUTS, outputs]];
}
