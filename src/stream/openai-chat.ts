/**
 * OpenAI chat completions as they come from OpenAI, Azure and the many servers that speak the same wire with their own
 * accent: no usable choice, `choices: null`, a choice without delta (casebook GW-03); reasoning as `reasoning_content` or
 * `reasoning`; content as text or parts; arguments as text or object; errors as data. The completions wire's `text` is
 * read too.
 */
import type { EventSink } from "./event-sink.ts";
import { finishReason } from "./finish-reason.ts";
import { isObject, type JsonObject, textOf } from "./json-object.ts";
import type { FrameReader } from "./stream-decoder.ts";
import { mergeChatUsage } from "./token-usage.ts";
import type { ToolCalls } from "./tool-calls.ts";
import { readWireError } from "./wire-error.ts";

/** The API's own limit on `n`; it bounds what is kept per choice. */
const CHOICES_MAX = 128;

export class OpenAiChatReader implements FrameReader {
  readonly #sink: EventSink;
  readonly #calls: ToolCalls;
  #hasStarted = false;

  constructor(sink: EventSink, calls: ToolCalls) {
    this.#sink = sink;
    this.#calls = calls;
  }

  isTerminal(data: string): boolean {
    return data.startsWith("[DONE]") && data.trim() === "[DONE]";
  }

  read(frame: JsonObject, eventName: string): void {
    const error = errorOf(frame, eventName);
    if (error !== undefined) {
      this.#sink.emit(readWireError(error));
      return;
    }
    this.#readHead(frame);
    const { choices } = frame;
    if (Array.isArray(choices)) {
      for (const choice of choices) {
        if (isObject(choice)) this.#readChoice(choice);
        else this.#malformed("choice");
      }
    } else if (choices === undefined && frame.usage === undefined) {
      this.#sink.emit({ type: "unknown", name: textOf(frame.object) || textOf(frame.type) });
    } else if (choices !== undefined && choices !== null) this.#malformed("choices");
    if (isObject(frame.usage)) {
      const usage = mergeChatUsage(this.#sink.tracker.usage, frame.usage);
      this.#sink.emit({ type: "usage", usage });
    }
  }

  #readHead(frame: JsonObject): void {
    const { tracker } = this.#sink;
    tracker.id ??= textOf(frame.id) || null;
    tracker.model ??= textOf(frame.model) || null;
    if (this.#hasStarted || (tracker.id ?? tracker.model) === null) return;
    this.#hasStarted = true;
    this.#sink.emit({ type: "response-start", id: tracker.id, model: tracker.model });
  }

  #readChoice(wire: JsonObject): void {
    const choice = wire.index ?? 0;
    if (!isIndex(choice, CHOICES_MAX)) {
      this.#malformed("choice index");
      return;
    }
    // Some servers send the last piece, or all of it, as a message.
    const delta = wire.delta ?? wire.message;
    if (isObject(delta)) {
      this.#sink.tracker.begin(choice);
      this.#readDelta(choice, delta);
    } else if (typeof wire.text === "string") {
      this.#sink.tracker.begin(choice);
      this.#text(choice, wire.text);
    }
    const rawReason = textOf(wire.finish_reason);
    if (rawReason === "") return;
    this.#calls.endChoice(choice);
    const reason = finishReason(rawReason, this.#calls.has(choice));
    this.#sink.emit({ type: "finish", choice, reason, rawReason });
  }

  #readDelta(choice: number, delta: JsonObject): void {
    // While a server renames the field it sends both, with the same text.
    this.#reasoning(choice, textOf(delta.reasoning_content) || textOf(delta.reasoning));
    const { content } = delta;
    if (typeof content === "string") this.#text(choice, content);
    else if (Array.isArray(content)) this.#readParts(choice, content);
    const refusal = textOf(delta.refusal);
    if (refusal !== "") this.#sink.emit({ type: "refusal-delta", choice, text: refusal });
    if (Array.isArray(delta.tool_calls)) {
      for (const call of delta.tool_calls) {
        if (isObject(call)) this.#readCall(choice, call, call.function);
        else this.#malformed("tool call");
      }
    }
    // The form before tool calls: one call a response, without id and index.
    if (isObject(delta.function_call)) {
      this.#readCall(choice, { index: 0 }, delta.function_call);
    }
  }

  #readParts(choice: number, parts: readonly unknown[]): void {
    for (const part of parts) {
      if (!isObject(part)) {
        this.#malformed("content part");
        continue;
      }
      const type = textOf(part.type);
      if (type === "text") this.#text(choice, textOf(part.text));
      else if (type === "thinking") this.#reasoning(choice, partText(part.thinking));
      else if (type === "refusal" && textOf(part.refusal) !== "") {
        this.#sink.emit({ type: "refusal-delta", choice, text: textOf(part.refusal) });
      } else if (type !== "refusal") this.#sink.emit({ type: "unknown", name: type });
    }
  }

  #readCall(choice: number, wire: JsonObject, wireFunction: unknown): void {
    const named = isObject(wireFunction) ? wireFunction : {};
    const index = wire.index ?? null;
    if (index !== null && !isIndex(index, Number.MAX_SAFE_INTEGER)) {
      this.#malformed("tool call index");
      return;
    }
    const { arguments: args } = named;
    const json = args === undefined || args === null ? "" : asJsonText(args);
    this.#calls.add({ choice, index, id: textOf(wire.id), name: textOf(named.name), json });
  }

  #text(choice: number, text: string): void {
    if (text !== "") this.#sink.emit({ type: "text-delta", choice, text });
  }

  #reasoning(choice: number, text: string): void {
    if (text !== "") this.#sink.emit({ type: "reasoning-delta", choice, text, redacted: false });
  }

  #malformed(field: string): void {
    this.#sink.emit({ type: "fault", code: "frame-shape", detail: `${field} cannot be read` });
  }
}

/** @returns what describes the error if this frame is one, in any of the forms in use. */
function errorOf(frame: JsonObject, eventName: string): unknown {
  const { error } = frame;
  if (error !== undefined && error !== null && error !== false) return error;
  return frame.object === "error" || eventName === "error" ? frame : undefined;
}

function isIndex(value: unknown, end: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < end;
}

function asJsonText(args: unknown): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** Reasoning parts hold their text directly or as parts of their own. */
function partText(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value);
  return value.map((part) => (isObject(part) ? textOf(part.text) : "")).join("");
}
