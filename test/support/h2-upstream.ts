/** An HTTP/2 upstream behind TLS that plays what a test tells it to, and keeps count of connections and streams. */
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { makeCertificate } from "./fault-certificate.ts";

export interface H2Call {
  readonly stream: ServerHttp2Stream;
  readonly session: ServerHttp2Session;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** From 1, over all connections. */
  readonly number: number;
  /** Of its connection, from 1. */
  readonly connection: number;
}

export interface H2Upstream {
  readonly url: string;
  /** PEM that vouches for it. */
  readonly ca: string;
  /** Handshakes that were finished so far, and how many of them resumed a session. */
  readonly connections: number;
  readonly resumed: number;
  /** Open now. */
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  readonly calls: readonly H2Call[];
  /** Most streams at a time on one connection. */
  readonly streamsMost: number;
  /** With `allowHTTP1`: to every request over HTTP/1.1. */
  answerH1(json: string): void;
  /** As a restart does: sessions of before cannot be resumed. */
  setTicketKeys(keys: Buffer): void;
  close(): Promise<void>;
}

export const H2_EVENTS = { ":status": 200, "content-type": "text/event-stream" } as const;

/** @param play told when a request is there, whole. */
export async function startH2Upstream(
  play: (call: H2Call) => void,
  options: SecureServerOptions = {},
): Promise<H2Upstream> {
  const { cert, key } = makeCertificate();
  const server = createSecureServer({ cert, key, ...options });
  const sessions = new Set<ServerHttp2Session>();
  const numbers = new Map<ServerHttp2Session, number>();
  const sockets = new Set<TLSSocket>();
  const open = new Map<ServerHttp2Session, number>();
  const calls: H2Call[] = [];
  const counts = { connections: 0, resumed: 0, streamsMost: 0 };
  server.on("secureConnection", (socket: TLSSocket) => {
    counts.connections += 1;
    counts.resumed += Number(socket.isSessionReused());
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
  });
  server.on("sessionError", () => undefined);
  server.on("session", (session) => {
    sessions.add(session);
    numbers.set(session, numbers.size + 1);
    session.on("error", () => undefined).once("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    const session = stream.session as ServerHttp2Session;
    counts.streamsMost = Math.max(counts.streamsMost, trackStream(open, session, stream));
    const parts: Buffer[] = [];
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.once("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      const place = { number: calls.length + 1, connection: numbers.get(session)! };
      const call = { stream, session, headers, body, ...place };
      calls.push(call);
      play(call);
    });
  });
  let overH1 = "{}";
  // HTTP/2 requests come here too, and are answered by `play`.
  server.on("request", (request, response) => {
    if (request.httpVersionMajor !== 1) return;
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(overH1);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: cert,
    get connections() {
      return counts.connections;
    },
    get resumed() {
      return counts.resumed;
    },
    get streamsMost() {
      return counts.streamsMost;
    },
    sessions,
    calls,
    setTicketKeys: (keys) => server.setTicketKeys(keys),
    answerH1: (json) => {
      overH1 = json;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** @returns how many its connection has now. */
function trackStream(
  open: Map<ServerHttp2Session, number>,
  session: ServerHttp2Session,
  stream: ServerHttp2Stream,
): number {
  const now = (open.get(session) ?? 0) + 1;
  open.set(session, now);
  stream.once("close", () => open.set(session, open.get(session)! - 1));
  stream.on("error", () => undefined);
  return now;
}
