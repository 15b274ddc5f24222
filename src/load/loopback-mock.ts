/**
 * A server with known truth: it streams chat chunks at set times, and remembers the instant before each write. What a
 * client says about a response can so be held against what happened. Used by the self-calibration, in this process, and by
 * bench/load-accuracy.ts, in another one.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import { close, listen, readBody } from "../http/index.ts";
import { REQUEST_ID_HEADER } from "./request-body.ts";

export interface MockOptions {
  readonly clock: Clock;
  /** From the request's arrival to the first chunk. */
  readonly ttftUs: number;
  readonly gapUs: number;
  readonly chunks: number;
  /** Told before each response ends; `writesUs` are on the clock given. */
  readonly onTruth: (requestId: string, writesUs: readonly number[]) => void;
}

const CHUNK = `data: {"id":"mock","object":"chat.completion.chunk","created":0,"model":"mock","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n`;

function tailOf(chunks: number): string {
  const usage = { prompt_tokens: 1, completion_tokens: chunks, total_tokens: chunks + 1 };
  const base = { id: "mock", object: "chat.completion.chunk", created: 0, model: "mock" };
  const finish = { ...base, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  return (
    `data: ${JSON.stringify(finish)}\n\n` +
    `data: ${JSON.stringify({ ...base, choices: [], usage })}\n\ndata: [DONE]\n\n`
  );
}

export interface LoopbackMock {
  readonly url: string;
  close(): Promise<void>;
}

export async function startLoopbackMock(options: MockOptions): Promise<LoopbackMock> {
  const tail = tailOf(options.chunks);
  const server: Server = createServer((request, response) => {
    response.on("error", () => undefined);
    readBody(request).then(
      () => stream(options, tail, request, response),
      () => response.destroy(),
    );
  });
  server.keepAliveTimeout = 60_000;
  const url = await listen(server, { port: 0 });
  return { url, close: () => close(server, { cutOpen: true }) };
}

function stream(
  options: MockOptions,
  tail: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { clock, chunks, gapUs, ttftUs } = options;
  const startUs = clock.nowUs();
  const writesUs: number[] = [];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  response.socket?.setNoDelay(true);
  const writeNext = (): void => {
    if (response.destroyed) return;
    if (writesUs.length === chunks) {
      options.onTruth(String(request.headers[REQUEST_ID_HEADER] ?? ""), writesUs);
      response.end(tail);
      return;
    }
    writesUs.push(clock.nowUs());
    response.write(CHUNK);
    // From the start and not from the last write: lateness must not add up.
    clock.at(startUs + ttftUs + writesUs.length * gapUs, writeNext);
  };
  clock.at(startUs + ttftUs, writeNext);
}
