/**
 * From the user's input to the finished answer: one deadline, one set of tools, and a step for each message of the model.
 *
 *     const turn = new Turn({ tools, deadline: "20s" });
 *     const step = turn.step("openai-chat");
 *     for await (const bytes of response.body) step.push(bytes);
 *     step.end();
 *     const messages = await step.messages();
 *     await turn.close();
 */
import { type Clock, realClock } from "../clock/index.ts";
import type { DecodableFormat } from "../stream/index.ts";
import { NO_SPAN, NO_TURN, type OpenSpan } from "../trace/index.ts";
import { AskedCalls } from "./asked-calls.ts";
import type { AdmissibleCall, Admission, CallEvent } from "./call-event.ts";
import { Deadline } from "./deadline.ts";
import type { DispatchScope } from "./dispatch-scope.ts";
import { GRACE_US } from "./execution.ts";
import { GuardedStep, type GuardedStepOptions } from "./guardrails/guarded-step.ts";
import { OpenWork } from "./open-work.ts";
import type { PlanStep } from "./plan.ts";
import { PlanRun } from "./plan-run.ts";
import type { Prefetcher } from "./prefetch/prefetcher.ts";
import type { TurnPrefetch } from "./prefetch/turn-prefetch.ts";
import { RunShelf } from "./run-shelf.ts";
import { type SlotLimits, Slots } from "./slots.ts";
import { Step, type StepOptions } from "./step.ts";
import { spanUs, type TimeSpan } from "./time-span.ts";
import type { Tool } from "./tool.ts";
import { ToolBox } from "./tool-box.ts";
import type { ToolResult } from "./tool-result.ts";
import { newCounts, type TurnCounts } from "./turn-counts.ts";

export interface TurnOptions {
  readonly tools: ToolBox | readonly Tool[];
  /** For all of the turn, or a deadline that somebody else has set. Default: none. */
  readonly deadline?: TimeSpan | Deadline;
  /** Ends the turn when it aborts. */
  readonly signal?: AbortSignal;
  /** Bounds of this turn, or `Slots` that several turns share. */
  readonly limits?: SlotLimits | Slots;
  /** Asked before each run; a guardrail, an approval, a policy. What throws blocks. */
  readonly admit?: (call: AdmissibleCall) => Admission | Promise<Admission>;
  /** Told what happens, as it happens; may not change it. */
  readonly observe?: (event: CallEvent) => void;
  /** For code that ignores its signal, before it is given up. Default 20 ms. */
  readonly grace?: TimeSpan;
  /**
   * Where the turn's steps, model calls and tool calls are recorded: a `TurnRecorder`, or a span of the turn above, such as
   * an `agent`. Whoever made it ends it. Default: nowhere.
   */
  readonly trace?: OpenSpan;
  /** Begins likely calls while the model thinks: one `Prefetcher` for all turns of an agent. Default: none. */
  readonly prefetch?: Prefetcher;
  /** What the user said or sent, for the rules and patterns of `prefetch`. */
  readonly input?: unknown;
  readonly clock?: Clock;
}

export class Turn {
  readonly deadline: Deadline;
  readonly #scope: DispatchScope;
  #steps = 0;

  /** @throws MANX_TOOL_INVALID, MANX_GRAPH_INVALID, MANX_DURATION */
  constructor(options: TurnOptions) {
    const { tools, deadline = Number.POSITIVE_INFINITY, limits = {} } = options;
    const clock = options.clock ?? realClock;
    const toolBox = tools instanceof ToolBox ? tools : new ToolBox(tools);
    const { trace = NO_SPAN } = options;
    const slots = limits instanceof Slots ? limits : new Slots(limits);
    const graceUs = options.grace === undefined ? GRACE_US : spanUs(options.grace, "grace");
    this.deadline = Deadline.from(deadline, { clock, signal: options.signal });
    const shelf = new RunShelf();
    let guesses: TurnPrefetch | undefined;
    const scope: DispatchScope = {
      deadline: this.deadline,
      tools: toolBox,
      slots,
      graceUs,
      counts: newCounts(),
      work: new OpenWork(),
      shelf,
      trace: trace === NO_TURN ? NO_SPAN : trace,
      asked: new AskedCalls(),
      admit: options.admit,
      observe: options.observe,
      get prefetch(): TurnPrefetch | undefined {
        return guesses;
      },
      changing: (isOver) => {
        // What was read before may be old.
        shelf.clear();
        guesses?.changing(isOver);
      },
    };
    guesses = options.prefetch?.begin(scope, options.input);
    this.#scope = scope;
  }

  get tools(): ToolBox {
    return this.#scope.tools;
  }

  get counts(): Readonly<TurnCounts> {
    return this.#scope.counts;
  }

  /** For what the agent itself records: assembly, retrieval, a sub-agent. */
  get trace(): OpenSpan {
    return this.#scope.trace;
  }

  /** @param traceparent of a request, as `step.headers` gave it. @returns the span of the step's model call. */
  spanOf(traceparent: string | null): OpenSpan | undefined {
    return this.#scope.asked.find(traceparent);
  }

  /** Runs whose code has neither ended nor been given up. */
  get running(): number {
    return this.#scope.work.open;
  }

  /** The next message of the model, to be made before its request is sent: its time begins here. */
  step<Format extends DecodableFormat>(format: Format, options?: StepOptions): Step<Format> {
    this.#steps += 1;
    return new Step(format, this.#scope, this.#steps, options);
  }

  /** The next message of the model, behind rails: what is asked is checked from now on, what it says before it is released. */
  guarded<Format extends DecodableFormat>(
    format: Format,
    options: GuardedStepOptions,
  ): GuardedStep<Format> {
    this.#steps += 1;
    return new GuardedStep(format, this.#scope, this.#steps, options);
  }

  /**
   * Runs a plan that refers to its own results by `$n`.
   * @returns a result for each step, in their order; never rejects for what the tools do.
   * @throws MANX_GRAPH_INVALID, MANX_TOOL_INVALID
   */
  plan(steps: readonly PlanStep[]): Promise<readonly ToolResult[]> {
    return new PlanRun(steps, this.#scope).results;
  }

  /** Headers for a model call of this turn. @throws MANX_DEADLINE if it could not finish in time. */
  headers(least?: TimeSpan): Readonly<Record<string, string>> {
    return this.deadline.headers(least);
  }

  /**
   * The turn is over: what still runs is called off, and its deadline holds no timer any more.
   * @returns resolves when all of it has ended or was given up.
   */
  close(): Promise<void> {
    this.#scope.shelf.clear();
    this.#scope.prefetch?.close();
    this.deadline.cancel(new DOMException("the turn has ended", "AbortError"));
    return this.#scope.work.whenNone();
  }
}
