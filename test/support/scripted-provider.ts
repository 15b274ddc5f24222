/**
 * A provider on the loopback interface that says what it is told, in the form in which it is asked: chat completions,
 * responses or messages, streamed, or whole for chat. It keeps what it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createEncoder,
  type StreamEncoder,
  type StreamEventBody,
  type StreamFormat,
} from "../../src/stream/index.ts";

export interface ScriptedReply {
  readonly thinking?: { readonly text: string; readonly signature: string };
  readonly text?: string;
  readonly calls?: ReadonlyArray<{
    readonly name: string;
    /** A text goes as it is, whole JSON or not. */
    readonly args: object | string;
    readonly id?: string;
  }>;
  /** Default: that of calls, or a plain stop. */
  readonly finish?: "length" | "content_filter" | "pause";
  /** The connection breaks behind what has been said so far; nothing ends it. */
  readonly cut?: true;
  /** Waits for it before the end of the message: shows what runs before it. */
  readonly before?: () => Promise<unknown>;
  readonly status?: number;
}

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  readonly body: any;
}

export interface ScriptedProvider {
  readonly url: string;
  readonly asked: readonly Asked[];
  close(): Promise<void>;
}

const FORMATS: Readonly<Record<string, StreamFormat>> = {
  "/chat/completions": "openai-chat",
  "/responses": "openai-responses",
  "/messages": "anthropic-messages",
};
const ARGUMENT_PIECE = /[\s\S]{1,5}/g;

/** @param replies one per request, in their order; the last one is repeated. */
export async function startScriptedProvider(
  replies: readonly ScriptedReply[],
): Promise<ScriptedProvider> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString("utf8")) as { stream?: boolean };
    const path = (request.url ?? "").split("?")[0]!;
    asked.push({ path, headers: request.headers, body });
    const number = asked.length;
    const reply = replies[Math.min(number, replies.length) - 1]!;
    const format = Object.entries(FORMATS).find(([end]) => path.endsWith(end))?.[1];
    if (format === undefined || reply.status !== undefined) {
      response.writeHead(reply.status ?? 404, { "content-type": "application/json" });
      response.end('{"error":{"message":"scripted","type":"scripted"}}');
    } else if (body.stream === true) await stream(response, format, reply, number);
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(wholeChat(reply, number)));
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function stream(
  response: ServerResponse,
  format: StreamFormat,
  reply: ScriptedReply,
  number: number,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.socket?.setNoDelay(true);
  const options = { id: `r${number}`, model: "m", createdS: 1_700_000_000, includeUsage: true };
  const encoder: StreamEncoder = createEncoder(format, options);
  const write = (events: readonly StreamEventBody[]): void => {
    for (const event of events) {
      const text = encoder.encode(event);
      if (text !== "") response.write(text);
    }
  };
  write(said(reply, number));
  await reply.before?.();
  if (reply.cut === true) {
    // What was written has to be out before the connection breaks.
    setTimeout(() => response.destroy(), 20);
    return;
  }
  write(ending(reply));
  response.end();
}

function callId(reply: ScriptedReply, number: number, at: number): string {
  return reply.calls?.[at]?.id ?? `call_${number}_${at}`;
}

function argumentsText(args: object | string): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

function said(reply: ScriptedReply, number: number): StreamEventBody[] {
  const { thinking, text, calls = [] } = reply;
  const events: StreamEventBody[] = [{ type: "response-start", id: `r${number}`, model: "m" }];
  if (thinking !== undefined) {
    events.push(
      { type: "block-start", kind: "reasoning" },
      { type: "reasoning-delta", choice: 0, text: thinking.text, redacted: false },
      { type: "reasoning-signature", choice: 0, signature: thinking.signature },
    );
  }
  if (text !== undefined) {
    events.push({ type: "block-start", kind: "text" });
    for (const piece of text.match(/\S+\s*/g) ?? []) {
      events.push({ type: "text-delta", choice: 0, text: piece });
    }
  }
  for (const [call, { name, args }] of calls.entries()) {
    const id = callId(reply, number, call);
    const json = argumentsText(args);
    const one = { choice: 0, call, id, name, idGenerated: false, byServer: false };
    events.push({ type: "tool-start", ...one });
    for (const piece of json.match(ARGUMENT_PIECE) ?? []) {
      events.push({ type: "tool-delta", choice: 0, call, json: piece });
    }
    if (reply.cut === true && call === calls.length - 1) break;
    events.push({
      type: "tool-end",
      ...one,
      argumentsText: json,
      repaired: false,
      problem: null,
    });
  }
  return events;
}

const USAGE = {
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 15,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

function ending(reply: ScriptedReply): StreamEventBody[] {
  const reason = reply.finish ?? (reply.calls === undefined ? "stop" : "tool_calls");
  const rawReason = reason === "pause" ? "pause_turn" : reason;
  return [
    { type: "finish", choice: 0, reason, rawReason },
    { type: "usage", usage: USAGE },
    { type: "done" },
  ];
}

function wholeChat(reply: ScriptedReply, number: number): object {
  const { text = null, calls } = reply;
  const tool_calls = calls?.map(({ name, args }, at) => ({
    id: callId(reply, number, at),
    type: "function",
    function: { name, arguments: argumentsText(args) },
  }));
  const message = { role: "assistant", content: text, ...(tool_calls && { tool_calls }) };
  const finish_reason = reply.finish ?? (calls === undefined ? "stop" : "tool_calls");
  return {
    id: `r${number}`,
    object: "chat.completion",
    created: 1_700_000_000,
    model: "m",
    choices: [{ index: 0, message, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}
