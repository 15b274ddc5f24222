/**
 * The loop of an agent over somebody's client: ask, stream, run tools while it streams, append, ask again, until the model
 * answers without calls. It runs by itself; whoever wants to may read the text as it comes.
 *
 *     ask ─► step ─┬─ run ──────► message and results appended ─► ask
 *                  ├─ paused ───► message appended ─────────────► ask
 *                  ├─ no-calls ─► answered
 *                  ├─ truncated, filtered, unsafe, refused ─► ended as that
 *                  └─ failed, incomplete, late, cancelled ─► rejected
 *
 * Invariant: at most `stepsMax` model calls; what was appended is at every moment a conversation that the provider takes.
 */
import { ManxError } from "../../core/index.ts";
import { type GuardRefusal, requestText } from "../../policy/guard/index.ts";
import {
  type GuardedStepOptions,
  type Rail,
  Rails,
  type StreamVerdict,
  type ToolResult,
  type Turn,
} from "../../runtime/index.ts";
import type { DecodableFormat, StreamEvent, TokenUsage } from "../../stream/index.ts";
import { type AgentStep, agentStep } from "./agent-step.ts";
import { TextFlow } from "./text-flow.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { UsageSum } from "./usage-sum.ts";
import { wholeAsChunks } from "./whole-message.ts";

export interface AgentOptions extends Pick<GuardedStepOptions, "speculate"> {
  /** Its tools, deadline and signal. The loop does not close it. */
  readonly turn: Turn;
  /** Model calls in all. Default 16. */
  readonly stepsMax?: number;
  /** Of the SDK, for each model call. Default: the SDK's own; 0 if its `fetch` is Manx's, which retries by itself. */
  readonly maxRetries?: number;
  /**
   * Checks of what is asked and of what the model says, beside the model call: the request sees what has come since the model
   * spoke last, results of tools included. Nothing unchecked is shown; a tool whose run cannot be taken back waits for the
   * verdict; a refusal ends the run. One `Rails` may serve all runs. Default: none.
   */
  readonly rails?: Rails | readonly Rail[];
  /** Shown each event of the stream, for who wants more than its text; behind rails, each that is clear. */
  readonly look?: (event: StreamEvent) => void;
}

export interface AgentResult {
  /** Of the last message; of one that was refused, what of it was clear. */
  readonly text: string;
  /** What to append to the conversation: each message of the model, and the results behind it. */
  readonly messages: readonly object[];
  /** `steps`: the model wanted more calls of itself than `stepsMax`. All but `answered` are no whole answer. */
  readonly ended: "answered" | "steps" | "truncated" | "filtered" | "unsafe" | "refused";
  /** By which rail and why, if that is how it ended; else null. */
  readonly refusal: GuardRefusal | null;
  /** Model calls that were made. */
  readonly steps: number;
  /** Summed over them. */
  readonly usage: TokenUsage;
  /** Of all tools that were called, in order. */
  readonly results: readonly ToolResult[];
}

/** What each model call gets beside its body. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly maxRetries?: number;
}

/** How a provider is asked. */
export interface AgentModel {
  readonly format: DecodableFormat;
  /** Of the model. */
  readonly name: string;
  /** The conversation before the run. */
  readonly messages: readonly object[];
  /** @param said appended so far. @returns a stream of chunks, or a whole message from a client that does not stream. */
  readonly ask: (said: readonly object[], options: CallOptions) => PromiseLike<unknown>;
}

const STEPS_MAX = 16;
/** What timers can hold; a later deadline is the signal's to keep. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const ENDS: Partial<Record<StreamVerdict, AgentResult["ended"]>> = {
  "no-calls": "answered",
  truncated: "truncated",
  filtered: "filtered",
  unsafe: "unsafe",
};

export class AgentRun implements AsyncIterable<string> {
  readonly #model: AgentModel;
  readonly #options: AgentOptions;
  readonly #text = new TextFlow();
  readonly #usage = new UsageSum();
  readonly #said: object[] = [];
  readonly #results: ToolResult[] = [];
  readonly #result: Promise<AgentResult>;
  readonly #rails: Rails | undefined;
  #steps = 0;
  #answer = "";

  constructor(model: AgentModel, options: AgentOptions) {
    const { stepsMax = STEPS_MAX, rails } = options;
    if (!Number.isInteger(stepsMax) || stepsMax < 1) {
      throw new ManxError("MANX_TOOL_INVALID", {
        what: "an agent that may not take a step",
        where: "stepsMax",
        expected: "a whole number above 0",
        got: String(stepsMax),
      });
    }
    this.#model = model;
    this.#options = options;
    this.#rails = rails === undefined || rails instanceof Rails ? rails : new Rails(rails);
    this.#result = this.#run(stepsMax);
    this.#result.then(
      () => this.#text.end(),
      (error: unknown) => this.#text.fail(error),
    );
  }

  /** Text as it comes, of all steps; a slow reader gets in one piece what came meanwhile. Throws what `result` rejects with. */
  [Symbol.asyncIterator](): AsyncIterator<string> {
    return this.#text[Symbol.asyncIterator]();
  }

  /**
   * Resolves when the loop has ended, whether or not the text was read.
   * @throws what the client throws; MANX_STREAM_INCOMPLETE if a message broke off; MANX_DEADLINE if the turn's time is over;
   *   the reason of the signal that called it off.
   */
  result(): Promise<AgentResult> {
    return this.#result;
  }

  async #run(stepsMax: number): Promise<AgentResult> {
    const { deadline } = this.#options.turn;
    try {
      return await this.#loop(stepsMax);
    } catch (error) {
      // SDKs have words of their own for a signal that aborts; the turn knows why it did.
      throw deadline.isOver ? deadline.signal.reason : error;
    }
  }

  async #loop(stepsMax: number): Promise<AgentResult> {
    while (this.#steps < stepsMax) {
      this.#steps += 1;
      const { step, signal, refusal } = await this.#step();
      const messages = await step.messages();
      const { verdict } = step;
      if (verdict === "run") this.#results.push(...(await step.results()));
      this.#said.push(...(await step.assistantMessage()), ...messages);
      this.#usage.add(step.completion.usage);
      if (refusal() !== null) return this.#ended("refused", refusal());
      const ended = ENDS[verdict ?? "incomplete"];
      if (ended !== undefined) return this.#ended(ended);
      if (verdict !== "run" && verdict !== "paused") throw this.#failure(step, signal);
    }
    return this.#ended("steps");
  }

  /** Asks the model and reads its answer. What a refusal has made of the call is no error. */
  async #step(): Promise<AgentStep> {
    const { turn, speculate } = this.#options;
    const { format, name, messages } = this.#model;
    this.#answer = "";
    if (turn.deadline.isOver) throw turn.deadline.signal.reason;
    const one = agentStep(turn, {
      ...{ format, model: name, speculate, rails: this.#rails },
      request: () => requestText({ messages: [...messages, ...this.#said] }, "new"),
      show: (events) => this.#show(events),
    });
    try {
      // A rail that answers at once may have refused already: then no model is asked.
      if (one.refusal() === null) {
        const answer = await this.#ask(one);
        await one.read(wholeAsChunks(format, answer));
      }
    } catch (error) {
      await one.shown();
      if (one.refusal() === null) throw error;
    }
    return one;
  }

  #show(events: readonly StreamEvent[]): void {
    for (const event of events) {
      this.#options.look?.(event);
      if (event.type === "text-delta" && event.choice === 0) {
        this.#answer += event.text;
        this.#text.push(event.text);
      }
    }
  }

  async #ask({ step, signal }: AgentStep): Promise<unknown> {
    try {
      const call = this.#callOptions(step, signal);
      return await unlessAborted(this.#model.ask([...this.#said], call), signal);
    } catch (error) {
      step.end();
      throw error;
    }
  }

  /** @throws MANX_DEADLINE */
  #callOptions(step: AgentStep["step"], signal: AbortSignal): CallOptions {
    const { turn, maxRetries } = this.#options;
    const { deadline } = turn;
    const headers = step.headers();
    const leftMs = Math.ceil(deadline.leftUs / 1_000);
    return {
      signal,
      headers,
      ...(leftMs <= TIMEOUT_MS_MAX && { timeout: leftMs }),
      ...(maxRetries !== undefined && { maxRetries }),
    };
  }

  #failure({ verdict, completion }: AgentStep["step"], signal: AbortSignal): unknown {
    if (verdict === "late" || verdict === "cancelled") return signal.reason;
    const { error, firstFault } = completion;
    return new ManxError("MANX_STREAM_INCOMPLETE", {
      ...(error !== null && { what: "the model's message ended in an error", got: error.message }),
      ...(error === null && firstFault !== null && { got: firstFault }),
    });
  }

  #ended(ended: AgentResult["ended"], refusal: GuardRefusal | null = null): AgentResult {
    return {
      text: this.#answer,
      messages: this.#said,
      ended,
      refusal,
      steps: this.#steps,
      usage: this.#usage.usage,
      results: this.#results,
    };
  }
}
