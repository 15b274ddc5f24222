/**
 * The parts of an AI SDK model stream into a step. The AI SDK has read the wire already, so the step reads them as chunks
 * of a chat completion, the smallest form that says the same. Calls that the provider runs itself are left alone.
 */
import type { Turn } from "../../runtime/index.ts";
import { textOf } from "../../stream/wire-words.ts";
import { CallDesk } from "../loop/call-desk.ts";

/** A part of the stream, or of whole content; versions 2 and 3 of the model's specification. */
export type Part = Readonly<Record<string, unknown>>;

/** As many as a step takes of one message. */
const CALLS_MAX = 256;
const FINISH_WORDS: Readonly<Record<string, string>> = {
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
};

export class PartFeeder {
  readonly #step;
  /** By id, in order of appearance, at most `CALLS_MAX`: those behind run when they are asked for. */
  readonly #calls = new Map<string, { readonly index: number; json: string }>();
  readonly #byProvider = new Set<string>();

  /** To be made before the model is asked: the step's time begins here. @param model its name. */
  constructor(turn: Turn, model: string) {
    this.#step = turn.step("openai-chat", { model });
    CallDesk.of(turn).put({ step: this.#step, argsOf: (id) => this.#calls.get(id)?.json });
  }

  /** For the request. @throws MANX_DEADLINE if it could not finish in time; the step has ended by then. */
  headers(): Readonly<Record<string, string>> {
    try {
      return this.#step.headers();
    } catch (error) {
      this.#step.cancel();
      throw error;
    }
  }

  take(part: Part): void {
    switch (part.type) {
      case "tool-input-start":
        this.#open(textOf(part.id), textOf(part.toolName), part.providerExecuted === true);
        return;
      case "tool-input-delta":
        this.#append(textOf(part.id), textOf(part.delta));
        return;
      case "tool-call":
        this.#call(part);
        return;
      case "text-delta":
        this.#delta({ content: textOf(part.delta) });
        return;
      case "error":
        this.#step.chunk({ error: { message: messageOf(part.error), type: "stream_error" } });
        return;
      case "finish":
        this.#finish(part.finishReason);
        return;
      default:
    }
  }

  /** The stream has ended, well or not. */
  end(): void {
    this.#step.end();
  }

  /** Nobody reads the rest of the message. */
  cancel(): void {
    this.#step.cancel();
  }

  /** Nobody wants any of it: its tools are called off, also when the message has ended. */
  abort(): void {
    this.#step.takeBack("cancelled");
  }

  /** When the message has ended and no tool of it runs any more. */
  async settled(): Promise<void> {
    await this.#step.results();
  }

  #open(id: string, name: string, byProvider: boolean): void {
    if (byProvider) {
      if (this.#byProvider.size < CALLS_MAX) this.#byProvider.add(id);
      return;
    }
    const index = this.#calls.size;
    if (this.#calls.has(id) || index >= CALLS_MAX) return;
    this.#calls.set(id, { index, json: "" });
    this.#fragment(id, index, { name, arguments: "" });
  }

  #append(id: string, json: string): void {
    const call = this.#calls.get(id);
    if (call === undefined || json === "") return;
    call.json += json;
    this.#fragment(id, call.index, { arguments: json });
  }

  /** Whole; its arguments count if they have not come in pieces. */
  #call(part: Part): void {
    const id = textOf(part.toolCallId);
    if (part.providerExecuted === true || this.#byProvider.has(id)) return;
    this.#open(id, textOf(part.toolName), false);
    if (this.#calls.get(id)?.json !== "") return;
    const { input } = part;
    this.#append(id, typeof input === "string" ? input : JSON.stringify(input ?? {}));
  }

  #fragment(id: string, index: number, named: object): void {
    this.#delta({ tool_calls: [{ index, id, type: "function", function: named }] });
  }

  #finish(finishReason: unknown): void {
    const unified =
      typeof finishReason === "string" ? finishReason : textOf((finishReason as Part)?.unified);
    if (unified === "error") {
      this.#step.chunk({ error: { message: "the model stopped with an error" } });
      return;
    }
    this.#delta({}, FINISH_WORDS[unified] ?? (unified || "other"));
    // Nothing may follow: without it a run would wait for the bytes to end.
    this.#step.end();
  }

  #delta(delta: object, finish_reason: string | null = null): void {
    this.#step.chunk({ choices: [{ index: 0, delta, finish_reason }] });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
