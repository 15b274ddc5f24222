/**
 * An upstream that writes scripted bytes at scripted times on a raw socket, and keeps count: every request it got, on
 * which connection, and when each connection closed. It speaks just enough HTTP/1.1 to know where a request ends.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, TLSSocket } from "node:tls";

export interface Step {
  /** Waited before the rest of the step. */
  readonly afterMs?: number;
  readonly bytes?: string | Uint8Array;
  /** One `write` per byte, each in a turn of its own. */
  readonly byteByByte?: boolean;
  /** How the connection ends; without it, it stays open for the next request. */
  readonly end?: "fin" | "rst";
}

export interface Hit {
  readonly method: string;
  readonly path: string;
  /** Names in lower case; repeated ones joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Counted from 1. */
  readonly connection: number;
  readonly atMs: number;
  /** When each step's bytes were written; grows as the script is played. */
  readonly writtenMs: number[];
  /** When the connection closed, by whomever. */
  readonly closed: Promise<number>;
}

export interface ReplayServer {
  readonly url: string;
  readonly hits: readonly Hit[];
  /** Accepted so far. */
  readonly connections: number;
  readonly openConnections: number;
  /** Resolves with the n-th hit, counted from 1. */
  hit(n: number): Promise<Hit>;
  /** Writes on every connection that is open, asked or not. */
  sayAll(bytes: string): void;
  /** Cuts every connection that is open, and goes on listening. */
  cutAll(how: "fin" | "rst"): void;
  close(): Promise<void>;
}

/**
 * @param script what to do for a request; asked anew for each.
 * @param tls in PEM; without it, plain TCP.
 */
export async function startReplayServer(
  script: (hit: Hit) => readonly Step[],
  tls?: { readonly key: string; readonly cert: string },
): Promise<ReplayServer> {
  const hits: Hit[] = [];
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let connections = 0;

  const serve = (socket: Socket): void => {
    connections += 1;
    const connection = connections;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    const closed = new Promise<number>((resolve) => {
      socket.once("close", () => {
        sockets.delete(socket);
        resolve(performance.now());
      });
    });
    let pending: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let next = takeRequest(pending); next !== undefined; next = takeRequest(pending)) {
        pending = next.rest;
        const hit: Hit = {
          ...next.request,
          connection,
          atMs: performance.now(),
          writtenMs: [],
          closed,
        };
        hits.push(hit);
        for (const wake of waiting.splice(0)) wake();
        void play(socket, script(hit), hit.writtenMs);
      }
    });
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    hits,
    get connections() {
      return connections;
    },
    get openConnections() {
      return sockets.size;
    },
    hit: async (n) => {
      while (hits.length < n) await new Promise<void>((resolve) => waiting.push(resolve));
      return hits[n - 1]!;
    },
    sayAll: (bytes) => {
      for (const socket of sockets) socket.write(bytes);
    },
    cutAll: (how) => {
      for (const socket of sockets) end(socket, how);
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function play(socket: Socket, steps: readonly Step[], writtenMs: number[]): Promise<void> {
  for (const step of steps) {
    if (step.afterMs !== undefined) await sleep(step.afterMs);
    if (socket.destroyed) return;
    if (step.bytes !== undefined) writtenMs.push(performance.now());
    if (step.bytes !== undefined) await write(socket, step.bytes, step.byteByByte === true);
    if (step.end !== undefined) end(socket, step.end);
  }
}

function end(socket: Socket, how: "fin" | "rst"): void {
  if (how === "fin") socket.end();
  // Under TLS there is no reset to be had: an end without its farewell is as hard.
  else if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

async function write(socket: Socket, bytes: string | Uint8Array, split: boolean): Promise<void> {
  const whole = Buffer.from(bytes as Uint8Array);
  if (!split) {
    if (socket.write(whole)) return;
    // An upstream that writes as fast as it is read, and no faster.
    await new Promise<void>((resolve) => {
      const go = (): void => {
        socket.off("drain", go);
        socket.off("close", go);
        resolve();
      };
      socket.once("drain", go);
      socket.once("close", go);
    });
    return;
  }
  for (let i = 0; i < whole.length && !socket.destroyed; i += 1) {
    socket.write(whole.subarray(i, i + 1));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function takeRequest(bytes: Buffer): { request: RequestParts; rest: Buffer } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [line = "", ...fields] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const [method = "", path = ""] = line.split(" ");
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(":");
    const name = field.slice(0, colon).toLowerCase();
    const value = field.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const bodyStart = headEnd + 4;
  const bodyEnd = bodyStart + Number(headers["content-length"] ?? 0);
  if (bytes.length < bodyEnd) return undefined;
  const body = bytes.toString("utf8", bodyStart, bodyEnd);
  return { request: { method, path, headers, body }, rest: bytes.subarray(bodyEnd) };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A response's head. */
export function head(status: number, headers: Readonly<Record<string, string>>): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Scripted\r\n${fields.join("")}\r\n`;
}

/** One chunk of a chunked body. */
export function chunk(bytes: string | Uint8Array): Buffer {
  const body = Buffer.from(bytes as Uint8Array);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
}

export const LAST_CHUNK = "0\r\n\r\n";

export const EVENT_STREAM_HEAD = head(200, {
  "content-type": "text/event-stream",
  "transfer-encoding": "chunked",
});

/** A whole JSON answer. */
export function json(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): string {
  const body = JSON.stringify(value);
  const length = String(Buffer.byteLength(body));
  const all = { "content-type": "application/json", "content-length": length, ...headers };
  return head(status, all) + body;
}

/** One chat chunk as it stands on the wire. */
export function chatText(content: string, finish: string | null = null): string {
  const choice = { index: 0, delta: { content }, finish_reason: finish };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] })}\n\n`;
}

export const CHAT_DONE = "data: [DONE]\n\n";

/** One event of Anthropic's wire. */
export function anthropicEvent(type: string, fields: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** A whole stream of Anthropic's messages API, each text in a write of its own. */
export interface MessagesScript {
  readonly id?: string;
  readonly model?: string;
  readonly texts: readonly string[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Instead of a good end. */
  readonly last?: Step;
}

export function messagesStream(script: MessagesScript): Step[] {
  const { id = "msg_1", model = "m", texts, inputTokens, outputTokens, last } = script;
  const usage = { input_tokens: inputTokens, output_tokens: 1 };
  const message = { id, type: "message", role: "assistant", model, content: [], usage };
  const block = { index: 0, content_block: { type: "text", text: "" } };
  const ending =
    anthropicEvent("content_block_stop", { index: 0 }) +
    anthropicEvent("message_delta", {
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: outputTokens },
    }) +
    anthropicEvent("message_stop", {});
  return [
    { bytes: EVENT_STREAM_HEAD },
    { bytes: chunk(anthropicEvent("message_start", { message })) },
    { bytes: chunk(anthropicEvent("content_block_start", block)) },
    ...texts.map((text) => {
      const delta = { type: "text_delta", text };
      return { bytes: chunk(anthropicEvent("content_block_delta", { index: 0, delta })) };
    }),
    ...(last === undefined ? [{ bytes: chunk(ending) }, { bytes: LAST_CHUNK }] : [last]),
  ];
}
