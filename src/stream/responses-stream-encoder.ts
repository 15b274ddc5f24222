/**
 * A stream of OpenAI's responses: each text, refusal, reasoning and call is an output item of its own, every event is
 * numbered, and the terminal one repeats the whole response.
 *
 * What it keeps is bounded by `KEPT_CHARS_MAX`: an answer beyond that fails, since its terminal event could not be written.
 */
import { responsesEnding } from "./finish-reason.ts";
import { OutgoingCall } from "./outgoing-call.ts";
import { type ItemKind, ResponsesItem } from "./responses-item.ts";
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
import { responsesUsage } from "./usage-writer.ts";
import { responsesErrorCode } from "./wire-error.ts";

/** Text and arguments of one answer; more than any model's longest. */
const KEPT_CHARS_MAX = 32 * 1024 * 1024;
const ITEMS_MAX = 4_096;

const ID_PREFIX: Readonly<Record<ItemKind, string>> = {
  text: "msg",
  refusal: "msg",
  reasoning: "rs",
  call: "fc",
};

export class ResponsesStreamEncoder implements StreamEncoder {
  readonly #options: EncoderOptions;
  #id: string;
  #model: string;
  #hasStarted = false;
  #hasEnded = false;
  #hasFailed = false;
  #sequence = 0;
  #charsLeft = KEPT_CHARS_MAX;
  readonly #items: ResponsesItem[] = [];
  /** Text, refusal or reasoning that further deltas of its kind go to. */
  #open: ResponsesItem | null = null;
  readonly #calls = new Map<number, { call: OutgoingCall; item: ResponsesItem | null }>();
  #finish: Finish | undefined;
  #usage: TokenUsage = USAGE_UNKNOWN;

  constructor(options: EncoderOptions) {
    this.#options = options;
    this.#id = options.id;
    this.#model = options.model ?? "";
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  encode(event: StreamEventBody): string {
    if (this.#hasEnded) return "";
    switch (event.type) {
      case "text-delta":
        return this.#say("text", event.text);
      case "refusal-delta":
        return this.#say("refusal", event.text);
      case "reasoning-delta":
        return event.text === "" ? "" : this.#say("reasoning", event.text);
      case "reasoning-signature":
        return this.#sign(event);
      case "tool-start":
        return this.#startCall(event);
      case "tool-delta":
        return this.#deltaCall(event);
      case "tool-end":
        return this.#endCall(event);
      case "block-start":
        return event.kind === "reasoning" ? this.#closeOpen() : "";
      default:
        return this.#encodeFrame(event);
    }
  }

  finish(): string {
    if (this.#hasEnded) return "";
    const { reason = null, rawReason = "" } = this.#finish ?? {};
    const { status, reason: why } = responsesEnding(reason, rawReason);
    const before = this.#start() + this.#closeAll("completed");
    const details = why === null ? null : { reason: why };
    const ending = this.#emit(`response.${status}`, {
      response: this.#response(status, { incomplete_details: details }),
    });
    this.#hasEnded = true;
    return before + ending;
  }

  #encodeFrame(event: StreamEventBody): string {
    switch (event.type) {
      case "response-start":
        if (!this.#hasStarted) {
          this.#id = event.id ?? this.#id;
          this.#model = this.#options.model ?? event.model ?? "";
        }
        return this.#start();
      case "usage":
        this.#usage = event.usage;
        return "";
      case "finish":
        this.#finish ??= event;
        return this.#closeAll(event.reason === "length" ? "incomplete" : "completed");
      case "done":
        return this.finish();
      case "error":
        return this.#fail(event);
      case "ping":
        return ":\n\n";
      default:
        return "";
    }
  }

  #start(): string {
    if (this.#hasStarted) return "";
    this.#hasStarted = true;
    const response = this.#response("in_progress", {});
    return (
      this.#emit("response.created", { response }) +
      this.#emit("response.in_progress", { response })
    );
  }

  #say(kind: ItemKind, text: string): string {
    if (!this.#take(text)) return this.#fail(TOO_LONG);
    const before = this.#open?.kind === kind ? "" : this.#openShared(kind);
    return before + (this.#open?.add(this.#emit, text) ?? "");
  }

  #openShared(kind: ItemKind): string {
    const before = this.#start() + this.#closeOpen();
    const item = this.#newItem(kind);
    this.#open = item;
    return before + item.open(this.#emit);
  }

  #sign({ signature }: ReasoningSignature): string {
    if (signature === "") return "";
    if (!this.#take(signature)) return this.#fail(TOO_LONG);
    const before = this.#open?.kind === "reasoning" ? "" : this.#openShared("reasoning");
    this.#open?.seal(signature);
    return before + this.#closeOpen();
  }

  #startCall(event: ToolStart): string {
    if (event.byServer) return "";
    const call = new OutgoingCall(0, event.name);
    this.#calls.set(event.call, { call, item: null });
    return call.hasName ? this.#openCall(event) : "";
  }

  #openCall({ call, id, name }: ToolStart | ToolEnd): string {
    const before = this.#start() + this.#closeOpen();
    const item = this.#newItem("call");
    item.nameCall(id, name);
    this.#calls.get(call)!.item = item;
    return before + item.open(this.#emit);
  }

  #deltaCall(event: ToolDelta): string {
    const known = this.#calls.get(event.call);
    if (known === undefined) return "";
    if (!this.#take(event.json)) return this.#fail(TOO_LONG);
    const json = known.call.pass(event.json);
    return json === "" ? "" : (known.item?.add(this.#emit, json) ?? "");
  }

  #endCall(event: ToolEnd): string {
    const known = this.#calls.get(event.call);
    if (known === undefined || known.call.hasEnded) return "";
    const opening = known.item === null ? this.#openCall(event) : "";
    const item = known.item!;
    const rest = known.call.rest(event.argumentsText);
    const json = rest === "" ? "" : item.add(this.#emit, rest);
    const status = event.problem === null ? "completed" : "incomplete";
    return opening + json + item.close(this.#emit, status);
  }

  #newItem(kind: ItemKind): ResponsesItem {
    const outputIndex = this.#items.length;
    const id = `${ID_PREFIX[kind]}_${this.#id}_${outputIndex}`;
    const item = new ResponsesItem({ kind, id, outputIndex });
    this.#items.push(item);
    return item;
  }

  #closeOpen(): string {
    const item = this.#open;
    this.#open = null;
    return item === null ? "" : item.close(this.#emit, "completed");
  }

  #closeAll(status: "completed" | "incomplete"): string {
    this.#open = null;
    let closed = "";
    for (const item of this.#items) if (!item.isDone) closed += item.close(this.#emit, status);
    return closed;
  }

  #fail(event: UpstreamError): string {
    const before = this.#start();
    this.#hasEnded = true;
    this.#hasFailed = true;
    const error = {
      code: responsesErrorCode(event.errorType, event.status),
      message: event.message,
    };
    return (
      before + this.#emit("response.failed", { response: this.#response("failed", { error }) })
    );
  }

  #take(text: string): boolean {
    this.#charsLeft -= text.length;
    return this.#charsLeft >= 0 && this.#items.length < ITEMS_MAX;
  }

  readonly #emit = (type: string, fields: Readonly<Record<string, unknown>>): string => {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`;
  };

  /** Fields that repeat the request are at the API's defaults: an answer does not know what was asked. */
  #response(status: string, fields: object): object {
    const id = this.#id.startsWith("resp_") ? this.#id : `resp_${this.#id}`;
    return {
      id,
      object: "response",
      created_at: this.#options.createdS,
      status,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      model: this.#model,
      output: status === "in_progress" ? [] : this.#items.map((item) => item.output),
      parallel_tool_calls: true,
      temperature: null,
      tool_choice: "auto",
      tools: [],
      top_p: null,
      usage: status === "in_progress" ? null : responsesUsage(this.#usage),
      ...fields,
    };
  }
}

const TOO_LONG: UpstreamError = {
  type: "error",
  errorType: "api_error",
  message: "the answer is longer than a response can hold",
  status: 502,
};
