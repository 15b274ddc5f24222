/**
 * Anthropic's messages wire: typed events, an answer in numbered content blocks, cumulative usage, pings at any time and
 * errors as events after a 200. A repeated `message_start` opens nothing; its usage counts as the newest report.
 */
import type { EventSink } from "./event-sink.ts";
import { finishReason } from "./finish-reason.ts";
import { isObject, type JsonObject, textOf } from "./json-object.ts";
import type { FrameReader } from "./stream-decoder.ts";
import { mergeMessagesUsage } from "./token-usage.ts";
import type { ToolCall } from "./tool-call.ts";
import type { ToolCalls } from "./tool-calls.ts";
import { readWireError } from "./wire-error.ts";

/** Calls by block type, and whether the provider runs them itself. */
const CALL_BLOCKS: ReadonlyMap<string, { readonly byServer: boolean }> = new Map([
  ["tool_use", { byServer: false }],
  ["server_tool_use", { byServer: true }],
  ["mcp_tool_use", { byServer: true }],
]);

export class AnthropicMessagesReader implements FrameReader {
  readonly #sink: EventSink;
  readonly #calls: ToolCalls;
  /** Open blocks that are calls. Bounded by the limit on calls. */
  readonly #callOfBlock = new Map<unknown, ToolCall>();
  #hasStarted = false;

  constructor(sink: EventSink, calls: ToolCalls) {
    this.#sink = sink;
    this.#calls = calls;
  }

  isTerminal(): boolean {
    return false;
  }

  read(frame: JsonObject, eventName: string): void {
    const type = textOf(frame.type) || eventName;
    switch (type) {
      case "content_block_delta":
        this.#readDelta(frame);
        return;
      case "content_block_start":
        this.#readBlock(frame);
        return;
      case "content_block_stop":
        this.#endBlock(frame.index);
        return;
      case "message_start":
        this.#readMessage(frame.message);
        return;
      case "message_delta":
        this.#readMessageDelta(frame);
        return;
      case "message_stop":
        this.#calls.endAll();
        this.#sink.emit({ type: "done" });
        return;
      case "ping":
        this.#sink.emit({ type: "ping" });
        return;
      case "error":
        this.#sink.emit(readWireError(frame.error ?? frame));
        return;
      default:
        // Relays put errors of their own in front of this wire without its framing.
        if (isObject(frame.error)) this.#sink.emit(readWireError(frame.error));
        else this.#sink.emit({ type: "unknown", name: type });
    }
  }

  #readMessage(message: unknown): void {
    if (!isObject(message)) {
      this.#malformed("message");
      return;
    }
    const { tracker } = this.#sink;
    tracker.id ??= textOf(message.id) || null;
    tracker.model ??= textOf(message.model) || null;
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      this.#sink.emit({ type: "response-start", id: tracker.id, model: tracker.model });
    }
    this.#readUsage(message.usage);
  }

  #readBlock(frame: JsonObject): void {
    const block = frame.content_block;
    if (!isObject(block)) {
      this.#malformed("content_block");
      return;
    }
    const type = textOf(block.type);
    const callBlock = CALL_BLOCKS.get(type);
    if (callBlock !== undefined) this.#startCall(frame.index, block, callBlock.byServer);
    else if (type === "text") {
      this.#sink.emit({ type: "block-start", kind: "text" });
      this.#text(textOf(block.text));
    } else if (type === "thinking") {
      this.#sink.emit({ type: "block-start", kind: "reasoning" });
      this.#reasoning(textOf(block.thinking));
    } else if (type === "redacted_thinking") {
      this.#sink.emit({ type: "block-start", kind: "reasoning" });
      this.#sink.emit({ type: "reasoning-delta", choice: 0, text: "", redacted: true });
      this.#sign(textOf(block.data));
    } else this.#sink.emit({ type: "block-start", kind: "other" });
  }

  #startCall(index: unknown, block: JsonObject, byServer: boolean): void {
    const { input } = block;
    // A block that opens under an index in use ends the one before it.
    this.#endBlock(index);
    const call = this.#calls.start({
      id: textOf(block.id),
      name: textOf(block.name),
      seed: input === undefined ? "" : JSON.stringify(input),
      byServer,
    });
    if (call !== undefined) this.#callOfBlock.set(index, call);
  }

  #endBlock(index: unknown): void {
    const call = this.#callOfBlock.get(index);
    if (call === undefined) return;
    this.#callOfBlock.delete(index);
    this.#calls.end(call);
  }

  #readDelta(frame: JsonObject): void {
    const { delta } = frame;
    if (!isObject(delta)) {
      this.#malformed("delta");
      return;
    }
    const type = textOf(delta.type);
    switch (type) {
      case "text_delta":
        this.#text(textOf(delta.text));
        return;
      case "thinking_delta":
        this.#reasoning(textOf(delta.thinking));
        return;
      case "signature_delta":
        this.#sign(textOf(delta.signature));
        return;
      case "input_json_delta":
        this.#append(frame.index, textOf(delta.partial_json));
        return;
      default:
        this.#sink.emit({ type: "unknown", name: type });
    }
  }

  #append(index: unknown, json: string): void {
    const call = this.#callOfBlock.get(index);
    if (call !== undefined) this.#calls.append(call, json);
    else if (json.trim() !== "") this.#malformed("arguments outside of a tool block");
  }

  #readMessageDelta(frame: JsonObject): void {
    this.#readUsage(frame.usage);
    const rawReason = isObject(frame.delta) ? textOf(frame.delta.stop_reason) : "";
    if (rawReason === "") return;
    this.#calls.endAll();
    const reason = finishReason(rawReason, this.#calls.has(0));
    this.#sink.emit({ type: "finish", choice: 0, reason, rawReason });
  }

  #readUsage(wire: unknown): void {
    if (!isObject(wire)) return;
    const usage = mergeMessagesUsage(this.#sink.tracker.usage, wire);
    this.#sink.emit({ type: "usage", usage });
  }

  #text(text: string): void {
    if (text !== "") this.#sink.emit({ type: "text-delta", choice: 0, text });
  }

  #reasoning(text: string): void {
    if (text !== "") {
      this.#sink.emit({ type: "reasoning-delta", choice: 0, text, redacted: false });
    }
  }

  #sign(signature: string): void {
    this.#sink.emit({ type: "reasoning-signature", choice: 0, signature });
  }

  #malformed(field: string): void {
    this.#sink.emit({ type: "fault", code: "frame-shape", detail: `${field} cannot be read` });
  }
}
