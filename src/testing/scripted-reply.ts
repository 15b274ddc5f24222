/**
 * What a scripted model says, and when: a reply as a test writes it, made into events with their times. Where they go, over
 * a socket or not, in real time or not, is somebody else's business.
 */
import type { TimeSpan } from "../runtime/index.ts";
import { spanUs } from "../runtime/time-span.ts";
import type { FinishReason, StreamEventBody } from "../stream/index.ts";

export interface ScriptedCall {
  readonly name: string;
  /** A text goes as it is, whole JSON or not. */
  readonly args: object | string;
  /** Default: one that is made of the places of reply and call. */
  readonly id?: string;
}

export interface ScriptedReply {
  readonly thinking?: { readonly text: string; readonly signature: string };
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Default: that of calls, or a plain stop. */
  readonly finish?: "length" | "content_filter" | "pause";
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** From the request to the first output. Default 0. */
  readonly ttft?: TimeSpan;
  /** Between two pieces, a word or five characters of arguments each. Default 0. */
  readonly gap?: TimeSpan;
  /** A pause on top, before the piece of that number, from 0. */
  readonly stall?: { readonly before: number; readonly for: TimeSpan };
  /** From the last piece to the end of the message. Default 0. */
  readonly tail?: TimeSpan;
  /** The connection breaks behind what has been said so far, within the last call if there is one. */
  readonly cut?: true;
  /** Waited for before the end of the message: shows what runs before it. */
  readonly before?: () => Promise<unknown>;
  /** Instead of an answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request is taken, and nothing ever comes. */
  readonly hangs?: true;
}

export interface TimedEvents {
  /** µs from the request. */
  readonly atUs: number;
  readonly events: readonly StreamEventBody[];
}

export interface TimeSpanline {
  readonly pieces: readonly TimedEvents[];
  readonly end: TimedEvents;
}

const ARGUMENT_PIECE = /[\s\S]{1,5}/g;
const WORD = /\S+\s*/g;
const USAGE = { inputTokens: 10, outputTokens: 5 };

/** @param number of the request, from 1. @throws MANX_DURATION */
export function replyTimeline(reply: ScriptedReply, number: number): TimeSpanline {
  const said = piecesOf(reply, number);
  const gapUs = spanUs(reply.gap ?? 0, "gap");
  const ttftUs = spanUs(reply.ttft ?? 0, "ttft");
  const stall = reply.stall ?? { before: Number.POSITIVE_INFINITY, for: 0 };
  const stallUs = spanUs(stall.for, "stall.for");
  const pieces = said.map((events, at): TimedEvents => {
    return { atUs: ttftUs + at * gapUs + (at >= stall.before ? stallUs : 0), events };
  });
  const lastUs = pieces.at(-1)?.atUs ?? ttftUs;
  const start: TimedEvents = {
    atUs: 0,
    events: [{ type: "response-start", id: `r${number}`, model: "scripted" }],
  };
  return {
    pieces: [start, ...pieces],
    end: { atUs: lastUs + spanUs(reply.tail ?? 0, "tail"), events: ending(reply) },
  };
}

/** What arrives at one time; each has an output. */
function piecesOf(reply: ScriptedReply, number: number): StreamEventBody[][] {
  const { thinking, text, calls = [] } = reply;
  const pieces: StreamEventBody[][] = [];
  if (thinking !== undefined) {
    pieces.push([
      { type: "block-start", kind: "reasoning" },
      { type: "reasoning-delta", choice: 0, text: thinking.text, redacted: false },
      { type: "reasoning-signature", choice: 0, signature: thinking.signature },
    ]);
  }
  for (const [at, word] of (text?.match(WORD) ?? []).entries()) {
    const delta = { type: "text-delta", choice: 0, text: word } as const;
    pieces.push(at === 0 ? [{ type: "block-start", kind: "text" }, delta] : [delta]);
  }
  for (const call of calls.keys()) pieces.push(...callPieces(reply, number, call));
  return pieces;
}

function callPieces(reply: ScriptedReply, number: number, call: number): StreamEventBody[][] {
  const { name, args } = reply.calls![call]!;
  const id = callIdOf(reply, number, call);
  const argumentsText = argumentsOf(args);
  const one = { choice: 0, call, id, name, idGenerated: false, byServer: false };
  const pieces: StreamEventBody[][] = [[{ type: "tool-start", ...one }]];
  for (const json of argumentsText.match(ARGUMENT_PIECE) ?? []) {
    pieces.push([{ type: "tool-delta", choice: 0, call, json }]);
  }
  const isCutHere = reply.cut === true && call === reply.calls!.length - 1;
  if (isCutHere) return pieces;
  pieces.at(-1)!.push({ type: "tool-end", ...one, argumentsText, repaired: false, problem: null });
  return pieces;
}

function callIdOf({ calls }: ScriptedReply, number: number, call: number): string {
  return calls?.[call]?.id ?? `call_${number}_${call}`;
}

function argumentsOf(args: object | string): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

function reasonOf({ finish, calls }: ScriptedReply): FinishReason {
  return (finish ?? (calls === undefined ? "stop" : "tool_calls")) as FinishReason;
}

function ending(reply: ScriptedReply): StreamEventBody[] {
  const reason = reasonOf(reply);
  const { inputTokens, outputTokens } = reply.usage ?? USAGE;
  const none = { cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null };
  const totalTokens = inputTokens + outputTokens;
  return [
    { type: "finish", choice: 0, reason, rawReason: reason === "pause" ? "pause_turn" : reason },
    { type: "usage", usage: { inputTokens, outputTokens, totalTokens, ...none } },
    { type: "done" },
  ];
}

/** The same reply as one whole chat completion. */
export function wholeChat(reply: ScriptedReply, number: number): object {
  const { text = null, calls } = reply;
  const tool_calls = calls?.map(({ name, args }, at) => ({
    id: callIdOf(reply, number, at),
    type: "function",
    function: { name, arguments: argumentsOf(args) },
  }));
  const message = { role: "assistant", content: text, ...(tool_calls && { tool_calls }) };
  const { inputTokens, outputTokens } = reply.usage ?? USAGE;
  return {
    id: `r${number}`,
    object: "chat.completion",
    created: 1_700_000_000,
    model: "scripted",
    choices: [{ index: 0, message, finish_reason: reasonOf(reply) }],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
  };
}
