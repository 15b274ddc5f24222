/**
 * OpenAI's responses wire: typed events over numbered output items, no `[DONE]`, one terminal event that repeats the whole
 * response. Deltas are what counts; what an item says at its end is read only if none of it came as a delta, since some
 * servers send whole items.
 *
 * Invariant: an item speaks through its deltas or through its end, never through both.
 */
import type { EventSink } from "./event-sink.ts";
import { finishReason } from "./finish-reason.ts";
import { isObject, type JsonObject, textOf } from "./json-object.ts";
import type { FrameReader } from "./stream-decoder.ts";
import { mergeResponsesUsage } from "./token-usage.ts";
import type { ToolCall } from "./tool-call.ts";
import type { ToolCalls } from "./tool-calls.ts";
import { readWireError } from "./wire-error.ts";

interface Item {
  readonly call: ToolCall | undefined;
  /** Something of it has come as a delta. */
  hasSpoken: boolean;
}

/** Items that are open at once. No answer has more; a stream that never closes any must not grow without end. */
const OPEN_ITEMS_MAX = 1_024;

/** Items that are calls, and whether the provider runs them itself. */
const CALL_ITEMS: ReadonlyMap<string, { readonly byServer: boolean }> = new Map([
  ["function_call", { byServer: false }],
  ["custom_tool_call", { byServer: false }],
  ["mcp_call", { byServer: true }],
  ["web_search_call", { byServer: true }],
  ["file_search_call", { byServer: true }],
  ["code_interpreter_call", { byServer: true }],
  ["image_generation_call", { byServer: true }],
]);

/** They repeat at the end of a part what its deltas have said, or say that the response is still wanted. */
const SAYS_NOTHING_NEW: ReadonlySet<string> = new Set([
  "response.output_text.done",
  "response.refusal.done",
  "response.content_part.done",
  "response.reasoning_text.done",
  "response.reasoning_summary_text.done",
  "response.reasoning_summary_part.done",
]);

export class OpenAiResponsesReader implements FrameReader {
  readonly #sink: EventSink;
  readonly #calls: ToolCalls;
  /** Open items by output index. */
  readonly #items = new Map<unknown, Item>();
  /** Calls that have ended: an item that is told twice must not be run twice. Bounded by the limit on calls. */
  readonly #endedCalls = new Set<string>();
  #hasStarted = false;

  constructor(sink: EventSink, calls: ToolCalls) {
    this.#sink = sink;
    this.#calls = calls;
  }

  /** The API has no such frame, but servers that also speak chat completions end every stream with it. */
  isTerminal(data: string): boolean {
    return data.startsWith("[DONE]") && data.trim() === "[DONE]";
  }

  read(frame: JsonObject, eventName: string): void {
    const type = textOf(frame.type) || eventName;
    switch (type) {
      case "response.output_text.delta":
        this.#text(frame);
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#reasoning(frame);
        return;
      case "response.refusal.delta":
        this.#refusal(frame);
        return;
      case "response.function_call_arguments.delta":
      case "response.mcp_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        this.#append(frame.output_index, textOf(frame.delta));
        return;
      case "response.function_call_arguments.done":
      case "response.mcp_call_arguments.done":
        this.#appendIfSilent(frame.output_index, textOf(frame.arguments));
        return;
      default:
        this.#readStructure(type, frame);
    }
  }

  #readStructure(type: string, frame: JsonObject): void {
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        this.#readHead(frame.response);
        return;
      case "response.output_item.added":
        this.#openItem(frame);
        return;
      case "response.output_item.done":
        this.#endItem(frame);
        return;
      case "response.content_part.added":
        if (isObject(frame.part) && frame.part.type === "output_text") {
          this.#sink.emit({ type: "block-start", kind: "text" });
        }
        return;
      case "response.reasoning_summary_part.added":
        // The first part opens with its item.
        if (frame.summary_index !== 0) this.#sink.emit({ type: "block-start", kind: "reasoning" });
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        this.#readEnd(type, frame.response);
        return;
      case "error":
        this.#sink.emit(readWireError(errorOf(frame)));
        return;
      case "keepalive":
      case "ping":
        this.#sink.emit({ type: "ping" });
        return;
      default:
        if (isObject(frame.error)) this.#sink.emit(readWireError(frame.error));
        else if (!SAYS_NOTHING_NEW.has(type)) this.#sink.emit({ type: "unknown", name: type });
    }
  }

  #readHead(response: unknown): void {
    if (!isObject(response)) {
      this.#malformed("response");
      return;
    }
    const { tracker } = this.#sink;
    tracker.id ??= textOf(response.id) || null;
    tracker.model ??= textOf(response.model) || null;
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#sink.emit({ type: "response-start", id: tracker.id, model: tracker.model });
  }

  #openItem(frame: JsonObject): Item | undefined {
    const { item, output_index: index } = frame;
    if (!isObject(item)) {
      this.#malformed("item");
      return undefined;
    }
    const known = this.#items.get(index);
    if (known !== undefined) return known;
    if (this.#items.size >= OPEN_ITEMS_MAX) {
      this.#malformed("one more open item");
      return undefined;
    }
    const type = textOf(item.type);
    const callItem = CALL_ITEMS.get(type);
    if (callItem !== undefined && this.#endedCalls.has(callIdOf(item))) return undefined;
    const call =
      callItem === undefined ? undefined : this.#startCall(item, type, callItem.byServer);
    if (type === "reasoning") this.#sink.emit({ type: "block-start", kind: "reasoning" });
    else if (callItem === undefined && type !== "message") {
      this.#sink.emit({ type: "block-start", kind: "other" });
    }
    const opened = { call, hasSpoken: false };
    this.#items.set(index, opened);
    return opened;
  }

  #startCall(item: JsonObject, type: string, byServer: boolean): ToolCall | undefined {
    return this.#calls.start({
      id: callIdOf(item),
      name: textOf(item.name) || (byServer ? type : ""),
      seed: textOf(item.arguments),
      byServer,
    });
  }

  #endItem(frame: JsonObject): void {
    const { item, output_index: index } = frame;
    const open = this.#openItem(frame);
    if (open === undefined || !isObject(item)) return;
    this.#items.delete(index);
    if (open.call !== undefined) {
      const whole = textOf(item.arguments) || textOf(item.input);
      if (!open.hasSpoken && whole !== "") this.#calls.append(open.call, whole);
      this.#calls.end(open.call);
      if (open.call.wireId !== "") this.#endedCalls.add(open.call.wireId);
      return;
    }
    if (!open.hasSpoken) this.#sayWhole(item);
    const sealed = textOf(item.encrypted_content);
    if (item.type === "reasoning" && sealed !== "") {
      this.#sink.emit({ type: "reasoning-signature", choice: 0, signature: sealed });
    }
  }

  /** An item that came in one piece. */
  #sayWhole(item: JsonObject): void {
    for (const part of [...partsOf(item.summary), ...partsOf(item.content)]) {
      const text = textOf(part.text);
      if (part.type === "refusal" && textOf(part.refusal) !== "") {
        this.#sink.emit({ type: "refusal-delta", choice: 0, text: textOf(part.refusal) });
      } else if (text === "") continue;
      else if (part.type === "output_text") {
        this.#sink.emit({ type: "text-delta", choice: 0, text });
      } else if (item.type === "reasoning") {
        this.#sink.emit({ type: "reasoning-delta", choice: 0, text, redacted: false });
      }
    }
  }

  #text(frame: JsonObject): void {
    const text = this.#hear(frame);
    if (text !== "") this.#sink.emit({ type: "text-delta", choice: 0, text });
  }

  #reasoning(frame: JsonObject): void {
    const text = this.#hear(frame);
    if (text !== "") {
      this.#sink.emit({ type: "reasoning-delta", choice: 0, text, redacted: false });
    }
  }

  #refusal(frame: JsonObject): void {
    const text = this.#hear(frame);
    if (text !== "") this.#sink.emit({ type: "refusal-delta", choice: 0, text });
  }

  #hear(frame: JsonObject): string {
    const text = textOf(frame.delta);
    const item = this.#items.get(frame.output_index);
    if (item !== undefined && text !== "") item.hasSpoken = true;
    return text;
  }

  #append(index: unknown, json: string): void {
    const item = this.#items.get(index);
    if (item?.call !== undefined) {
      if (json !== "") item.hasSpoken = true;
      this.#calls.append(item.call, json);
    } else if (json.trim() !== "") this.#lost("arguments outside of a call");
  }

  #appendIfSilent(index: unknown, json: string): void {
    if (this.#items.get(index)?.hasSpoken !== true) this.#append(index, json);
  }

  #readEnd(type: string, response: unknown): void {
    const body = isObject(response) ? response : {};
    this.#readHead(body);
    if (isObject(body.usage)) {
      const usage = mergeResponsesUsage(this.#sink.tracker.usage, body.usage);
      this.#sink.emit({ type: "usage", usage });
    }
    if (type === "response.failed" || type === "response.cancelled") {
      this.#sink.emit(readWireError(body.error ?? { code: type, message: type }));
      return;
    }
    this.#calls.endAll();
    const details = isObject(body.incomplete_details) ? body.incomplete_details : {};
    const rawReason =
      type === "response.completed" ? "completed" : textOf(details.reason) || "incomplete";
    const reason = finishReason(rawReason, this.#calls.has(0));
    this.#sink.emit({ type: "finish", choice: 0, reason, rawReason });
    this.#sink.emit({ type: "done" });
  }

  #lost(detail: string): void {
    this.#sink.emit({ type: "fault", code: "tool-ambiguous", detail });
  }

  #malformed(field: string): void {
    this.#sink.emit({ type: "fault", code: "frame-shape", detail: `${field} cannot be read` });
  }
}

function callIdOf(item: JsonObject): string {
  return textOf(item.call_id) || textOf(item.id);
}

/** The error lies in the event itself, or under `error` as on the other wires. */
function errorOf(frame: JsonObject): unknown {
  const { error, code, message } = frame;
  return error ?? { code, message: message ?? code };
}

function partsOf(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
