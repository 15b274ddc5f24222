/**
 * A model behind a `fetch` that needs no network: it says what it is told, when it is told, on any clock, in the format in
 * which it is asked. In simulated time a stream of minutes takes a millisecond, and comes out the same each time.
 *
 *     const model = new ScriptedModel([{ text: "Hello.", ttft: "600ms", gap: "20ms" }], clock);
 *     new OpenAI({ apiKey: "none", fetch: model.fetch });
 */
import type { Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import { translateResponse } from "../translate/index.ts";
import { type Asked, formatOfPath, type ReplyScript, replyFor } from "./asked.ts";
import { playReply } from "./reply-player.ts";
import { replyTimeline, type ScriptedReply, wholeChat } from "./scripted-reply.ts";

const UTF8 = new TextEncoder();
const ERROR_BODY = '{"error":{"message":"scripted","type":"scripted"}}';

export class ScriptedModel {
  readonly #script: ReplyScript<ScriptedReply>;
  readonly #clock: Clock;
  readonly #asked: Asked[] = [];

  /** @throws MANX_FLAG_VALUE for an empty script. */
  constructor(script: ReplyScript<ScriptedReply>, clock: Clock) {
    if (script.length === 0 && typeof script !== "function") {
      throw new ManxError("MANX_FLAG_VALUE", {
        what: "the script of a model needs one reply or more",
        expected: "one reply or more",
        got: "none",
      });
    }
    this.#script = script;
    this.#clock = clock;
  }

  get asked(): readonly Asked[] {
    return this.#asked;
  }

  readonly fetch = async (
    input: Parameters<typeof fetch>[0],
    { signal, ...init }: RequestInit = {},
  ): Promise<Response> => {
    const request = new Request(input, { ...init, ...(init.body && { duplex: "half" }) } as object);
    const text = await request.text();
    const path = new URL(request.url).pathname;
    const asked: Asked = {
      path,
      headers: Object.fromEntries(request.headers),
      body: text === "" ? undefined : JSON.parse(text),
      atUs: this.#clock.nowUs(),
      cancelledUs: undefined,
    };
    const number = this.#asked.push(asked);
    return this.#answer(asked, number, signal ?? request.signal);
  };

  async #answer(asked: Asked, number: number, signal: AbortSignal): Promise<Response> {
    const reply = replyFor(this.#script, asked, number);
    const format = formatOfPath(asked.path);
    if (reply.hangs === true) return this.#hang(asked, signal);
    if (format === undefined || reply.status !== undefined) {
      return answer(ERROR_BODY, reply.status ?? 404, reply.headers);
    }
    if (asked.body?.stream === true) return this.#stream({ reply, asked, number, format }, signal);
    const { end } = replyTimeline(reply, number);
    await this.#clock.sleepUntil(asked.atUs + end.atUs, signal);
    const whole = translateResponse(wholeChat(reply, number), "openai-chat", format, {
      id: `r${number}`,
    });
    return answer(JSON.stringify(whole), 200, reply.headers);
  }

  #hang(asked: Asked, signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      const leave = (): void => {
        asked.cancelledUs = this.#clock.nowUs();
        reject(signal.reason);
      };
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
    });
  }

  #stream({ reply, asked, number, format }: Playing, signal: AbortSignal): Response {
    const left = new AbortController();
    const clock = this.#clock;
    let isOver = false;
    let onAbort = (): void => {};
    /** @returns false if it had ended before. */
    const end = (): boolean => {
      const isFirst = !isOver;
      isOver = true;
      signal.removeEventListener("abort", onAbort);
      return isFirst;
    };
    const leave = (reason: unknown): boolean => {
      if (!end()) return false;
      asked.cancelledUs = clock.nowUs();
      left.abort(reason);
      return true;
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const fail = (reason: unknown): void => {
          if (leave(reason)) controller.error(reason);
        };
        const finish = (how: () => void): void => {
          if (end()) how();
        };
        onAbort = () => fail(signal.reason);
        signal.addEventListener("abort", onAbort, { once: true });
        if (signal.aborted) onAbort();
        const sink = {
          write: (text: string) => controller.enqueue(UTF8.encode(text)),
          end: () => finish(() => controller.close()),
          cut: () => finish(() => controller.error(new TypeError("terminated"))),
        };
        const playing = playReply(reply, { number, format, clock, signal: left.signal }, sink);
        // A reply that cannot be played is told to who waits for it.
        playing.catch((thrown: unknown) => finish(() => controller.error(thrown)));
      },
      cancel: (reason) => void leave(reason),
    });
    return answer(body, 200, { "content-type": "text/event-stream", ...reply.headers });
  }
}

interface Playing {
  readonly reply: ScriptedReply;
  readonly asked: Asked;
  readonly number: number;
  readonly format: Parameters<typeof translateResponse>[2];
}

function answer(
  body: string | ReadableStream,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}
