/**
 * A stream of chat completion chunks with one choice: a role chunk before anything it says, calls numbered without those
 * that the provider runs itself, usage in a chunk of its own before `[DONE]`.
 */
import { CHAT_DONE, type ChatHead, encodeChatChunk } from "./chat-encoder.ts";
import { OutgoingCall } from "./outgoing-call.ts";
import type { EncoderOptions, StreamEncoder } from "./stream-encoder.ts";
import type {
  ReasoningDelta,
  StreamEventBody,
  ToolDelta,
  ToolEnd,
  ToolStart,
} from "./stream-event.ts";
import { type TokenUsage, USAGE_UNKNOWN } from "./token-usage.ts";

export class ChatStreamEncoder implements StreamEncoder {
  readonly #includeUsage: boolean;
  readonly #modelWanted: string | null;
  #head: ChatHead;
  /** By the number of the call within the response. */
  readonly #calls = new Map<number, OutgoingCall>();
  #usage: TokenUsage = USAGE_UNKNOWN;
  #clientCalls = 0;
  #hasBegun = false;
  #hasReasoned = false;
  #isNextThought = false;
  #hasEnded = false;
  #hasFailed = false;

  constructor(options: EncoderOptions) {
    this.#head = { id: options.id, model: options.model ?? "", createdS: options.createdS };
    this.#modelWanted = options.model;
    this.#includeUsage = options.includeUsage;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  encode(event: StreamEventBody): string {
    if (this.#hasEnded) return "";
    switch (event.type) {
      case "text-delta":
      case "refusal-delta":
      case "finish":
        return this.#begin() + encodeChatChunk(this.#head, event);
      case "reasoning-delta":
        return event.text === "" ? "" : this.#reason(event);
      case "tool-delta":
        return this.#delta(event);
      case "tool-start":
        return this.#start(event);
      case "tool-end":
        return this.#end(event);
      case "response-start":
        this.#head = {
          ...this.#head,
          id: event.id ?? this.#head.id,
          model: this.#modelWanted ?? event.model ?? "",
        };
        return this.#begin();
      case "block-start":
        this.#isNextThought = event.kind === "reasoning" && this.#hasReasoned;
        return "";
      case "usage":
        this.#usage = event.usage;
        return "";
      case "error":
        this.#hasEnded = true;
        this.#hasFailed = true;
        return encodeChatChunk(this.#head, event);
      case "ping":
        return encodeChatChunk(this.#head, event);
      case "done":
        return this.finish();
      default:
        return "";
    }
  }

  finish(): string {
    if (this.#hasEnded) return "";
    this.#hasEnded = true;
    const { outputTokens, inputTokens } = this.#usage;
    const isKnown = outputTokens !== null || inputTokens !== null;
    const usage =
      this.#includeUsage && isKnown
        ? encodeChatChunk(this.#head, { type: "usage", usage: this.#usage })
        : "";
    return usage + CHAT_DONE;
  }

  #begin(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    const { id, model } = this.#head;
    return encodeChatChunk(this.#head, { type: "response-start", id, model });
  }

  /** This wire has one reasoning text: its parts would run into each other. */
  #reason(event: ReasoningDelta): string {
    const text = this.#isNextThought ? `\n\n${event.text}` : event.text;
    this.#isNextThought = false;
    this.#hasReasoned = true;
    return this.#begin() + encodeChatChunk(this.#head, { ...event, text });
  }

  #start(event: ToolStart): string {
    if (event.byServer) return "";
    const call = new OutgoingCall(this.#clientCalls, event.name);
    this.#clientCalls += 1;
    this.#calls.set(event.call, call);
    if (!call.hasName) return "";
    return this.#begin() + encodeChatChunk(this.#head, { ...event, call: call.index });
  }

  #delta(event: ToolDelta): string {
    const call = this.#calls.get(event.call);
    if (call === undefined) return "";
    const json = call.pass(event.json);
    return json === "" ? "" : encodeChatChunk(this.#head, { ...event, call: call.index, json });
  }

  #end(event: ToolEnd): string {
    const call = this.#calls.get(event.call);
    if (call === undefined) return "";
    const { choice, id, name, idGenerated, byServer } = event;
    const opening = { type: "tool-start", choice, call: call.index, id, name } as const;
    const start = call.hasName
      ? ""
      : this.#begin() + encodeChatChunk(this.#head, { ...opening, idGenerated, byServer });
    // Arguments that are no text at all cannot be parsed by any client (casebook RT-02).
    const json = call.rest(event.argumentsText);
    if (json === "") return start;
    return (
      start + encodeChatChunk(this.#head, { type: "tool-delta", choice, call: call.index, json })
    );
  }
}
