/**
 * A provider on the loopback interface that says what it is told, when it is told: chat completions, responses or messages,
 * streamed or whole. For tests over real sockets, with an SDK, a gateway or an agent in another process.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Clock, realClock } from "../clock/index.ts";
import { US_PER_MS } from "../core/index.ts";
import { close, listen } from "../http/index.ts";
import { translateResponse } from "../translate/index.ts";
import { type Asked, formatOfPath, type ReplyScript, replyFor } from "./asked.ts";
import { playReply } from "./reply-player.ts";
import { replyTimeline, type ScriptedReply, wholeChat } from "./scripted-reply.ts";

export interface ScriptedProvider {
  /** Such as `http://127.0.0.1:41234`; with or without `/v1` behind it. */
  readonly url: string;
  readonly asked: readonly Asked[];
  close(): Promise<void>;
}

/** What was written has to be out before the connection breaks. */
const CUT_US = 20 * US_PER_MS;

/** @throws MANX_ADDRESS */
export async function startScriptedProvider(
  script: ReplyScript<ScriptedReply>,
): Promise<ScriptedProvider> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    const one: Asked = {
      path: (request.url ?? "").split("?")[0]!,
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
      atUs: realClock.nowUs(),
      cancelledUs: undefined,
    };
    const number = asked.push(one);
    const left = new AbortController();
    response.once("close", () => {
      if (response.writableEnded) return;
      one.cancelledUs = realClock.nowUs();
      left.abort();
    });
    await reply(one, number, { response, signal: left.signal });
  }

  async function reply(one: Asked, number: number, to: Listener): Promise<void> {
    const said = replyFor(script, one, number);
    const format = formatOfPath(one.path);
    if (said.hangs === true) return;
    const { response } = to;
    if (format === undefined || said.status !== undefined) {
      send(
        response,
        said.status ?? 404,
        said,
        '{"error":{"message":"scripted","type":"scripted"}}',
      );
    } else if (one.body?.stream === true) {
      await stream(said, { number, format, clock: realClock, signal: to.signal }, response);
    } else {
      const { end } = replyTimeline(said, number);
      await realClock.sleepUntil(one.atUs + end.atUs, to.signal);
      const whole = wholeChat(said, number);
      const options = { id: `r${number}` };
      const body =
        format === "openai-chat" ? whole : translateResponse(whole, "openai-chat", format, options);
      send(response, 200, said, JSON.stringify(body));
    }
  }

  const url = await listen(server, { port: 0 });
  return { url, asked, close: () => close(server, { cutOpen: true }) };
}

interface Listener {
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

function send(
  response: ServerResponse,
  status: number,
  { headers }: ScriptedReply,
  body: string,
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

function stream(
  reply: ScriptedReply,
  options: Parameters<typeof playReply>[1] & { readonly clock: Clock },
  response: ServerResponse,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
  response.flushHeaders();
  response.socket?.setNoDelay(true);
  return playReply(reply, options, {
    write: (text) => response.write(text),
    end: () => response.end(),
    cut: () => {
      realClock.at(realClock.nowUs() + CUT_US, () => response.destroy());
    },
  });
}
