/**
 * The official clients as callers, without retries of their own: what they made of the answer, beside the bytes that came.
 * Read in their most lenient way, event by event: a client that demands a terminal frame hides what others would take.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

export type CallerApi = "openai" | "anthropic";

export interface Told {
  /** Text that the client has got. */
  readonly text: string;
  /** What it threw; undefined if it took the answer for whole. */
  readonly thrown: unknown;
  /** 0 if no head came. */
  readonly status: number;
  readonly headers: Headers;
  /** The body. */
  readonly raw: string;
}

export interface AskOptions {
  readonly caller: CallerApi;
  readonly isStream: boolean;
  readonly prompt: string;
  readonly signal?: AbortSignal;
  readonly headers?: Record<string, string>;
}

/** @param url of the gateway. */
export async function ask(url: string, options: AskOptions): Promise<Told> {
  const parts: Buffer[] = [];
  let status = 0;
  let headers = new Headers();
  const recording = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(input, init);
    ({ status, headers } = response);
    if (response.body === null) return response;
    const record = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        parts.push(Buffer.from(bytes));
        controller.enqueue(bytes);
      },
    });
    return new Response(response.body.pipeThrough(record), { status, headers });
  };
  let text = "";
  let thrown: unknown;
  try {
    const pieces = options.caller === "openai" ? openai : anthropic;
    for await (const piece of pieces(url, options, recording)) text += piece;
  } catch (error) {
    thrown = error;
  }
  return { text, thrown, status, headers, raw: Buffer.concat(parts).toString("utf8") };
}

async function* openai(url: string, options: AskOptions, recording: typeof fetch) {
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: "sk-test",
    maxRetries: 0,
    logLevel: "off",
    fetch: recording,
  });
  const { isStream, prompt } = options;
  const messages = [{ role: "user" as const, content: prompt }];
  const more = requestOptions(options);
  if (!isStream) {
    const made = await client.chat.completions.create({ model: "m", messages }, more);
    yield made.choices[0]?.message.content ?? "";
    return;
  }
  const stream = await client.chat.completions.create({ model: "m", messages, stream: true }, more);
  for await (const event of stream) yield event.choices[0]?.delta.content ?? "";
}

async function* anthropic(url: string, options: AskOptions, recording: typeof fetch) {
  const client = new Anthropic({
    baseURL: url,
    apiKey: "sk-test",
    maxRetries: 0,
    logLevel: "off",
    fetch: recording,
  });
  const { isStream, prompt } = options;
  const body = {
    model: "m",
    max_tokens: 64,
    messages: [{ role: "user" as const, content: prompt }],
  };
  const more = requestOptions(options);
  if (!isStream) {
    const made = await client.messages.create(body, more);
    yield made.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return;
  }
  for await (const event of await client.messages.create({ ...body, stream: true }, more)) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
      yield event.delta.text;
    }
  }
}

function requestOptions({ signal, headers }: AskOptions) {
  return { ...(signal !== undefined && { signal }), ...(headers !== undefined && { headers }) };
}

/** @returns whether the body is one error of that API, with a type and a message. */
export function isOwnError(caller: CallerApi, body: string): boolean {
  try {
    const { type, error } = JSON.parse(body) as { type?: unknown; error?: Record<string, unknown> };
    const isTyped = typeof error?.type === "string" && typeof error.message === "string";
    return isTyped && (caller === "openai" || type === "error");
  } catch {
    return false;
  }
}

/** @returns whether the stream ends with exactly one error event of that API and claims no success. */
export function endsInBand(caller: CallerApi, raw: string): boolean {
  const frames = raw.split(/\n{2,}/).filter((frame) => frame.trim() !== "");
  const isError = (frame: string): boolean => {
    const lines = frame.split("\n");
    if (caller === "anthropic" && !lines.includes("event: error")) return false;
    const data = lines.find((line) => line.startsWith("data: "));
    return data !== undefined && isOwnError(caller, data.slice("data: ".length));
  };
  const claims = /\[DONE\]|"finish_reason":"|message_stop|"stop_reason":"/;
  return frames.filter(isError).length === 1 && isError(frames.at(-1)!) && !claims.test(raw);
}
