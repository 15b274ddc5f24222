/** One answer, "Hello you", in each format that an upstream speaks: in pieces between which a fault can strike. */
import { responsesWire, wholeResponse } from "./fault-wire-responses.ts";
import {
  anthropicEvent,
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  json,
  LAST_CHUNK,
  type Step,
} from "./replay-server.ts";

/** `openai` is chat completions. */
export type UpstreamApi = "openai" | "responses" | "anthropic";

/** How far an upstream has come when it fails. */
export type FaultPhase =
  /** Nothing was sent. */
  | "head"
  /** A head, and what says nothing yet. */
  | "before"
  /** The first half of the text. */
  | "after"
  /** Half of a tool call. */
  | "tool";

export const FULL_TEXT = "Hello you";
export const FIRST_TEXT = "Hello ";
const SECOND_TEXT = "you";

export interface StreamWire {
  /** Nothing of it is content. */
  readonly preamble: string;
  readonly first: string;
  readonly second: string;
  /** Finish reason and terminal frame. */
  readonly ending: string;
  /** Follows the preamble, and has no end. */
  readonly toolCall: string;
  readonly error: string;
  readonly ping: string;
}

const ERROR = { type: "overloaded_error", message: "Overloaded" };

function chatRole(): string {
  const choice = { index: 0, delta: { role: "assistant", content: "" }, finish_reason: null };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] })}\n\n`;
}

function chatToolCall(): string {
  const call = { index: 0, id: "call_1", type: "function" };
  const tool_calls = [{ ...call, function: { name: "look", arguments: '{"place":"Os' } }];
  const choices = [{ index: 0, delta: { tool_calls }, finish_reason: null }];
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
}

const CHAT: StreamWire = {
  preamble: chatRole(),
  first: chatText(FIRST_TEXT),
  second: chatText(SECOND_TEXT),
  ending: chatText("", "stop") + CHAT_DONE,
  toolCall: chatToolCall(),
  error: `data: ${JSON.stringify({ error: { ...ERROR, code: 529 } })}\n\n`,
  ping: ": keep-alive\n\n",
};

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: FULL_TEXT }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
};

function messageDelta(text: string): string {
  return anthropicEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
}

const MESSAGES: StreamWire = {
  preamble:
    anthropicEvent("message_start", {
      message: { ...MESSAGE, content: [], stop_reason: null },
    }) +
    anthropicEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  first: messageDelta(FIRST_TEXT),
  second: messageDelta(SECOND_TEXT),
  ending:
    anthropicEvent("content_block_stop", { index: 0 }) +
    anthropicEvent("message_delta", {
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 2 },
    }) +
    anthropicEvent("message_stop", {}),
  toolCall:
    anthropicEvent("content_block_stop", { index: 0 }) +
    anthropicEvent("content_block_start", {
      index: 1,
      content_block: { type: "tool_use", id: "call_1", name: "look", input: {} },
    }) +
    anthropicEvent("content_block_delta", {
      index: 1,
      delta: { type: "input_json_delta", partial_json: '{"place":"Os' },
    }),
  error: anthropicEvent("error", { error: ERROR }),
  ping: anthropicEvent("ping", {}),
};

const COMPLETION = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    { index: 0, message: { role: "assistant", content: FULL_TEXT }, finish_reason: "stop" },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

const STREAMS: Readonly<Record<UpstreamApi, StreamWire>> = {
  openai: CHAT,
  responses: responsesWire(FIRST_TEXT, SECOND_TEXT),
  anthropic: MESSAGES,
};

const ANSWERS: Readonly<Record<UpstreamApi, object>> = {
  openai: COMPLETION,
  responses: wholeResponse(FULL_TEXT),
  anthropic: MESSAGE,
};

export function streamWire(api: UpstreamApi): StreamWire {
  return STREAMS[api];
}

export function wholeAnswer(api: UpstreamApi): object {
  return ANSWERS[api];
}

/** An error as the API's own servers write it. */
export function refusalBody(api: UpstreamApi): object {
  return api === "anthropic"
    ? { type: "error", error: ERROR }
    : { error: { ...ERROR, code: null, param: null } };
}

/** All is well. */
export function wholeSteps(api: UpstreamApi, isStream: boolean): Step[] {
  if (!isStream) return [{ bytes: json(200, wholeAnswer(api)) }];
  const { preamble, first, second, ending } = streamWire(api);
  const parts = [preamble, first, second, ending].map((part) => ({ bytes: chunk(part) }));
  return [{ bytes: EVENT_STREAM_HEAD }, ...parts, { bytes: LAST_CHUNK }];
}

/** What comes before the fault; without a stream the phases after the head are halves of a JSON text. */
export function stepsUntil(api: UpstreamApi, isStream: boolean, phase: FaultPhase): Step[] {
  if (phase === "head") return [];
  if (isStream) {
    const { preamble, first, toolCall } = streamWire(api);
    const more = phase === "after" ? first : phase === "tool" ? toolCall : "";
    const said = preamble + more;
    return [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(said), afterMs: 5 }];
  }
  const body = JSON.stringify(wholeAnswer(api));
  const length = String(body.length);
  const opening = head(200, { "content-type": "application/json", "content-length": length });
  return [{ bytes: opening }, { bytes: body.slice(0, body.length / 2), afterMs: 5 }];
}
