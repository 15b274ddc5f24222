/**
 * The official clients as callers, without retries of their own: what they made of the answer, beside the bytes that came.
 * Read in their most lenient way, event by event: a client that demands a terminal frame hides what others would take.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

/** `openai` is chat completions. */
export type CallerApi = "openai" | "responses" | "anthropic";

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
    for await (const piece of CLIENTS[options.caller](url, options, recording)) text += piece;
  } catch (error) {
    thrown = error;
  }
  return { text, thrown, status, headers, raw: Buffer.concat(parts).toString("utf8") };
}

const CLIENTS: Readonly<
  Record<CallerApi, (url: string, options: AskOptions, via: typeof fetch) => AsyncIterable<string>>
> = { openai, responses, anthropic };

function openaiClient(url: string, recording: typeof fetch): OpenAI {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: "sk-test",
    maxRetries: 0,
    logLevel: "off",
    fetch: recording,
  });
}

async function* responses(url: string, options: AskOptions, recording: typeof fetch) {
  const client = openaiClient(url, recording);
  // What the API keeps for later may not be asked for twice.
  const body = { model: "m", input: options.prompt, store: false };
  const more = requestOptions(options);
  if (!options.isStream) {
    yield (await client.responses.create(body, more)).output_text;
    return;
  }
  for await (const event of await client.responses.create({ ...body, stream: true }, more)) {
    if (event.type === "response.output_text.delta") yield event.delta;
    // An error of the API's own is an event to this client; only one with a field "error" is thrown.
    else if (event.type === "error") throw new Error(event.message);
    else if (event.type === "response.failed") throw new Error(event.response.error?.message);
  }
}

async function* openai(url: string, options: AskOptions, recording: typeof fetch) {
  const client = openaiClient(url, recording);
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
    return isTyped && (caller !== "anthropic" || type === "error");
  } catch {
    return false;
  }
}

/** @returns whether the stream ends with exactly one error event of that API and claims no success. */
export function endsInBand(caller: CallerApi, raw: string): boolean {
  const frames = raw.split(/\n{2,}/).filter((frame) => frame.trim() !== "");
  const isError = (frame: string): boolean => {
    const lines = frame.split("\n");
    const data = lines.find((line) => line.startsWith("data: "))?.slice("data: ".length);
    if (data === undefined) return false;
    if (caller === "responses") return isResponsesError(data) && isNext(data, raw);
    if (caller === "anthropic" && !lines.includes("event: error")) return false;
    return isOwnError(caller, data);
  };
  const claims = /\[DONE\]|"finish_reason":"|message_stop|"stop_reason":"|response\.completed/;
  return frames.filter(isError).length === 1 && isError(frames.at(-1)!) && !claims.test(raw);
}

/** @returns whether it is an event with which the responses API tells of an error. */
function isResponsesError(data: string): boolean {
  const { type, response, ...event } = parsed(data);
  const told =
    type === "error" ? event : type === "response.failed" ? (response as Json).error : {};
  const { code, message } = told as Json;
  return typeof code === "string" && typeof message === "string";
}

/** @returns whether the last event's number goes on from the one before. */
function isNext(data: string, raw: string): boolean {
  const numbers = Array.from(raw.matchAll(/"sequence_number":(\d+)/g), ([, digits]) =>
    Number(digits),
  );
  const number = numbers.pop();
  return number === parsed(data).sequence_number && number === numbers.pop()! + 1;
}

function parsed(data: string): Json {
  try {
    return JSON.parse(data) as Json;
  } catch {
    return {};
  }
}

type Json = Readonly<Record<string, unknown>>;
