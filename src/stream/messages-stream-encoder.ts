/**
 * A stream of Anthropic's messages: text and thinking share one open block, calls have one each.
 *
 *     message_start → (content_block_start → content_block_delta… → content_block_stop)… → message_delta → message_stop
 *
 * Blocks stand one after the other, as the API has them, unless the upstream itself mixes the arguments of several calls:
 * then those blocks are open side by side, told apart by their index, since holding arguments back would cost time. A call
 * whose arguments are whole is closed by whatever opens after it.
 */
import { messagesReason } from "./finish-reason.ts";
import { JsonEnd } from "./json-end.ts";
import { OutgoingCall } from "./outgoing-call.ts";
import type { EncoderOptions, StreamEncoder } from "./stream-encoder.ts";
import type {
  Finish,
  ReasoningSignature,
  StreamEventBody,
  ToolDelta,
  ToolEnd,
  ToolStart,
  UpstreamError,
} from "./stream-event.ts";
import { type TokenUsage, USAGE_UNKNOWN } from "./token-usage.ts";
import { messagesUsage } from "./usage-writer.ts";
import { messagesErrorType } from "./wire-error.ts";

interface CallBlock {
  readonly call: OutgoingCall;
  readonly json: JsonEnd;
  index: number;
}

type SharedBlock = "text" | "thinking";

export class MessagesStreamEncoder implements StreamEncoder {
  readonly #options: EncoderOptions;
  #hasStarted = false;
  #hasEnded = false;
  #hasFailed = false;
  #blocks = 0;
  #shared: SharedBlock | null = null;
  #sharedIndex = 0;
  readonly #calls = new Map<number, CallBlock>();
  #finish: Finish | undefined;
  #hasRefused = false;
  #usage: TokenUsage = USAGE_UNKNOWN;

  constructor(options: EncoderOptions) {
    this.#options = options;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  encode(event: StreamEventBody): string {
    if (this.#hasEnded) return "";
    switch (event.type) {
      case "refusal-delta":
        this.#hasRefused = true;
        return this.#say("text", { type: "text_delta", text: event.text });
      case "text-delta":
        return this.#say("text", { type: "text_delta", text: event.text });
      case "reasoning-delta":
        if (event.text === "") return "";
        return this.#say("thinking", { type: "thinking_delta", thinking: event.text });
      case "reasoning-signature":
        return this.#sign(event);
      case "tool-start":
        return this.#startCall(event);
      case "tool-delta":
        return this.#deltaCall(event);
      case "tool-end":
        return this.#endCall(event);
      case "block-start":
        // Parts of one text are one block here; parts of reasoning stay apart, each may be signed.
        return event.kind === "reasoning" ? this.#closeShared() : "";
      default:
        return this.#encodeFrame(event);
    }
  }

  finish(): string {
    if (this.#hasEnded) return "";
    const { reason = null, rawReason = "" } = this.#finish ?? {};
    // A refusal in words ends like any answer on OpenAI's wires; on this one it has a reason of its own.
    const isRefusal = this.#hasRefused && reason === "stop";
    const stop_reason = isRefusal || reason === null ? null : messagesReason(reason, rawReason);
    const delta = { stop_reason: isRefusal ? "refusal" : stop_reason, stop_sequence: null };
    const ending =
      this.#start(null, null) +
      this.#closeShared() +
      frame({ type: "message_delta", delta, usage: messagesUsage(this.#usage) }) +
      frame({ type: "message_stop" });
    this.#hasEnded = true;
    return ending;
  }

  #encodeFrame(event: StreamEventBody): string {
    switch (event.type) {
      case "response-start":
        return this.#start(event.id, event.model);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "finish":
        this.#finish ??= event;
        // Calls have ended by themselves: each has its `tool-end` before the reason.
        return this.#closeShared();
      case "done":
        return this.finish();
      case "error":
        return this.#fail(event);
      case "ping":
        // Before its start a message has no event; a comment is understood anywhere.
        return this.#hasStarted ? PING : ":\n\n";
      default:
        return "";
    }
  }

  #start(id: string | null, model: string | null): string {
    if (this.#hasStarted) return "";
    this.#hasStarted = true;
    const message = {
      id: id ?? this.#options.id,
      type: "message",
      role: "assistant",
      model: this.#options.model ?? model ?? "",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      // Provisional, as on the original wire: `message_delta` has the counts, and they replace these.
      usage: {
        ...messagesUsage(this.#usage),
        input_tokens: this.#usage.inputTokens ?? 0,
        output_tokens: 0,
      },
    };
    return frame({ type: "message_start", message });
  }

  #say(kind: SharedBlock, delta: object): string {
    const opening = this.#shared === kind ? "" : this.#openShared(kind);
    return opening + deltaFrame(this.#sharedIndex, delta);
  }

  #openShared(kind: SharedBlock): string {
    const block =
      kind === "text"
        ? { type: "text", text: "" }
        : { type: "thinking", thinking: "", signature: "" };
    const before = this.#start(null, null) + this.#closeShared() + this.#closeWholeCalls();
    this.#shared = kind;
    this.#sharedIndex = this.#blocks;
    return before + this.#openBlock(block);
  }

  #sign({ signature }: ReasoningSignature): string {
    if (signature === "") return "";
    const signed = this.#say("thinking", { type: "signature_delta", signature });
    return signed + this.#closeShared();
  }

  #startCall(event: ToolStart): string {
    if (event.byServer) return "";
    const call = new OutgoingCall(0, event.name);
    const block: CallBlock = { call, json: new JsonEnd(), index: -1 };
    this.#calls.set(event.call, block);
    return call.hasName ? this.#openCall(block, event.id, event.name) : "";
  }

  #openCall(block: CallBlock, id: string, name: string): string {
    const before = this.#start(null, null) + this.#closeShared() + this.#closeWholeCalls();
    block.index = this.#blocks;
    return before + this.#openBlock({ type: "tool_use", id, name, input: {} });
  }

  #deltaCall(event: ToolDelta): string {
    const block = this.#calls.get(event.call);
    if (block === undefined) return "";
    // After the end of a whole object only blanks can follow, and they mean nothing.
    if (block.call.hasEnded) return event.json.trim() === "" ? "" : this.#fail(STRAY_ARGUMENTS);
    block.json.push(event.json);
    return argumentsFrame(block.index, block.call.pass(event.json));
  }

  #endCall(event: ToolEnd): string {
    const block = this.#calls.get(event.call);
    if (block === undefined || block.call.hasEnded) return "";
    const opening = block.index < 0 ? this.#openCall(block, event.id, event.name) : "";
    const rest = block.call.rest(event.argumentsText);
    // A block without arguments is `{}` on this wire.
    const json = rest.trim() === "{}" ? "" : argumentsFrame(block.index, rest);
    return opening + json + stopFrame(block.index);
  }

  #closeWholeCalls(): string {
    let closed = "";
    for (const { call, json, index } of this.#calls.values()) {
      if (call.hasEnded || index < 0 || !json.isClosed) continue;
      call.hasEnded = true;
      closed += stopFrame(index);
    }
    return closed;
  }

  #closeShared(): string {
    if (this.#shared === null) return "";
    this.#shared = null;
    return stopFrame(this.#sharedIndex);
  }

  #openBlock(content_block: object): string {
    const index = this.#blocks;
    this.#blocks += 1;
    return frame({ type: "content_block_start", index, content_block });
  }

  #fail(event: UpstreamError): string {
    this.#hasEnded = true;
    this.#hasFailed = true;
    const error = {
      type: messagesErrorType(event.errorType, event.status),
      message: event.message,
    };
    return frame({ type: "error", error });
  }
}

const PING = frame({ type: "ping" });

const STRAY_ARGUMENTS: UpstreamError = {
  type: "error",
  errorType: "api_error",
  message: "the upstream sent arguments after the end of their tool call",
  status: 502,
};

function frame(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}

function deltaFrame(index: number, delta: object): string {
  return frame({ type: "content_block_delta", index, delta });
}

function argumentsFrame(index: number, json: string): string {
  return json === "" ? "" : deltaFrame(index, { type: "input_json_delta", partial_json: json });
}

function stopFrame(index: number): string {
  return frame({ type: "content_block_stop", index });
}
