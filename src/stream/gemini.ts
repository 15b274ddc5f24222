/**
 * Gemini's `streamGenerateContent`: each frame is a whole partial answer with parts of content; a function call comes
 * whole, arguments and all, in one part. On Vertex a call may come in parts of its own (`willContinue`, `partialArgs`:
 * paths and values instead of text); it is put together here and told whole, when its empty last part has come.
 *
 * The wire has no terminal frame: its finish reason and a clean end of the bytes say that it is whole.
 */
import type { EventSink } from "./event-sink.ts";
import { finishReason } from "./finish-reason.ts";
import { isObject, type JsonObject, textOf } from "./json-object.ts";
import { PathedArguments } from "./pathed-arguments.ts";
import type { FrameReader } from "./stream-decoder.ts";
import { mergeGeminiUsage } from "./token-usage.ts";
import type { ToolCalls } from "./tool-calls.ts";
import { readWireError } from "./wire-error.ts";

/** The API allows eight; it bounds what is kept per candidate. */
const CANDIDATES_MAX = 128;

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly args: PathedArguments;
}

export class GeminiReader implements FrameReader {
  readonly endsWithBytes = true;
  readonly #sink: EventSink;
  readonly #calls: ToolCalls;
  /** By candidate. */
  readonly #open = new Map<number, OpenCall>();
  #hasStarted = false;

  constructor(sink: EventSink, calls: ToolCalls) {
    this.#sink = sink;
    this.#calls = calls;
  }

  isTerminal(): boolean {
    return false;
  }

  read(frame: JsonObject): void {
    if (isObject(frame.error)) {
      this.#sink.emit(readWireError({ ...frame.error, type: textOf(frame.error.status) }));
      return;
    }
    this.#readHead(frame);
    const { candidates, promptFeedback } = frame;
    if (Array.isArray(candidates)) {
      for (const candidate of candidates) {
        if (isObject(candidate)) this.#readCandidate(candidate);
        else this.#malformed("candidate");
      }
    } else if (candidates !== undefined) this.#malformed("candidates");
    // A refused prompt has no candidates, and this in their place.
    const refused = isObject(promptFeedback) ? textOf(promptFeedback.blockReason) : "";
    if (refused !== "") {
      this.#sink.emit({ type: "finish", choice: 0, reason: "content_filter", rawReason: refused });
    }
    if (isObject(frame.usageMetadata)) {
      const usage = mergeGeminiUsage(this.#sink.tracker.usage, frame.usageMetadata);
      this.#sink.emit({ type: "usage", usage });
    }
  }

  #readHead(frame: JsonObject): void {
    const { tracker } = this.#sink;
    tracker.id ??= textOf(frame.responseId) || null;
    tracker.model ??= textOf(frame.modelVersion) || null;
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#sink.emit({ type: "response-start", id: tracker.id, model: tracker.model });
  }

  #readCandidate(wire: JsonObject): void {
    const choice = wire.index ?? 0;
    if (
      !Number.isSafeInteger(choice) ||
      (choice as number) < 0 ||
      (choice as number) >= CANDIDATES_MAX
    ) {
      this.#malformed("candidate index");
      return;
    }
    const number = choice as number;
    this.#sink.tracker.begin(number);
    const parts = isObject(wire.content) ? wire.content.parts : undefined;
    for (const part of Array.isArray(parts) ? parts : []) {
      if (isObject(part)) this.#readPart(number, part);
      else this.#malformed("part");
    }
    const rawReason = textOf(wire.finishReason);
    if (rawReason === "" || rawReason === "FINISH_REASON_UNSPECIFIED") return;
    this.#dropOpen(number);
    const reason = finishReason(rawReason, this.#calls.has(number));
    this.#sink.emit({ type: "finish", choice: number, reason, rawReason });
  }

  #readPart(choice: number, part: JsonObject): void {
    const text = textOf(part.text);
    if (isObject(part.functionCall)) this.#readCall(choice, part.functionCall);
    else if (text !== "" && part.thought === true) {
      this.#sink.emit({ type: "reasoning-delta", choice, text, redacted: false });
    } else if (text !== "") this.#sink.emit({ type: "text-delta", choice, text });
    else if (typeof part.text !== "string" && part.thoughtSignature === undefined) {
      this.#sink.emit({ type: "unknown", name: Object.keys(part)[0] ?? "part" });
    }
    const signature = textOf(part.thoughtSignature);
    if (signature !== "") this.#sink.emit({ type: "reasoning-signature", choice, signature });
  }

  #readCall(choice: number, wire: JsonObject): void {
    // A call that begins while another is open: that one was never closed.
    if (textOf(wire.name) !== "") this.#dropOpen(choice);
    const open = this.#open.get(choice);
    if (open === undefined && wire.partialArgs === undefined && wire.willContinue !== true) {
      const json = isObject(wire.args) ? JSON.stringify(wire.args) : asText(wire.args);
      this.#tell(choice, textOf(wire.id), textOf(wire.name), json);
      return;
    }
    const call = open ?? {
      id: textOf(wire.id),
      name: textOf(wire.name),
      args: new PathedArguments(),
    };
    this.#open.set(choice, call);
    for (const part of Array.isArray(wire.partialArgs) ? wire.partialArgs : []) {
      if (!isObject(part) || !call.args.add(part)) this.#malformed("partial argument");
    }
    if (wire.willContinue === true || wire.partialArgs !== undefined) return;
    this.#open.delete(choice);
    this.#tell(choice, call.id, call.name, call.args.json);
  }

  /** A call that its last part never closed: told as it is, so that it is an error and not run. */
  #dropOpen(choice: number): void {
    const call = this.#open.get(choice);
    if (call === undefined) return;
    this.#open.delete(choice);
    this.#tell(choice, call.id, call.name, call.args.json.slice(0, -1));
  }

  #tell(choice: number, id: string, name: string, json: string): void {
    const call = this.#calls.start({ choice, id, name, seed: "", byServer: false });
    if (call === undefined) return;
    this.#calls.append(call, json);
    this.#calls.end(call);
  }

  #malformed(field: string): void {
    this.#sink.emit({ type: "fault", code: "frame-shape", detail: `${field} cannot be read` });
  }
}

function asText(args: unknown): string {
  return args === undefined || args === null ? "" : (JSON.stringify(args) ?? "");
}
