/**
 * The least that a gateway does with `translate`: takes calls in the client's format on the loopback interface and answers
 * them with what an upstream of another format is scripted to say, cut into small reads.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StreamFormat } from "../../src/stream/index.ts";
import {
  StreamTranslator,
  type TranslatedRequest,
  translateError,
  translateRequest,
  translateResponse,
} from "../../src/translate/index.ts";

/** What the upstream answers: bytes of a stream, a whole answer, or an error with its status. */
export type Scripted =
  | { readonly stream: Uint8Array | string }
  | { readonly whole: unknown }
  | { readonly status: number; readonly error: unknown };

export interface TranslatingServer {
  readonly url: string;
  /** Requests as the upstream would get them. */
  readonly translated: readonly TranslatedRequest[];
  close(): Promise<void>;
}

/** Small enough to cut every frame. */
const READ_BYTES = 61;

export async function startTranslatingServer(
  client: StreamFormat,
  upstream: StreamFormat,
  answer: Scripted,
): Promise<TranslatingServer> {
  const translated: TranslatedRequest[] = [];
  const server = createServer((request, response) => {
    void handle(request, response).catch((thrown: unknown) => {
      response.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(parts).toString("utf8"));
    const call = translateRequest(body, client, upstream, { model: "theirs" });
    translated.push(call);
    const options = { id: "gen", createdS: 1_700_000_000, ...call.wants };
    if ("stream" in answer) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const bytes = Buffer.from(answer.stream as string);
      const translator = new StreamTranslator(upstream, client, options);
      for (let at = 0; at < bytes.length; at += READ_BYTES) {
        response.write(translator.push(bytes.subarray(at, at + READ_BYTES), at));
      }
      response.end(translator.end(bytes.length).bytes);
      return;
    }
    const { status, body: json } =
      "whole" in answer
        ? { status: 200, body: translateResponse(answer.whole, upstream, client, options) }
        : translateError(answer.status, answer.error, upstream, client);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(json));
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    translated,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
