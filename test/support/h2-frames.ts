/**
 * An HTTP/2 upstream that writes each frame itself (RFC 9113, 4): Node's own server ends a stream with END_STREAM before it
 * resets it, and so cannot break an answer off. It reads as much of a request as its frames' heads say.
 */
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { makeCertificate } from "./fault-certificate.ts";

export interface FrameCall {
  /** From 1, over all connections. */
  readonly number: number;
  /** From 1. */
  readonly connection: number;
  readonly streamId: number;
  /** Answer 200 with this type. */
  head(contentType: string): void;
  data(text: string, options?: { readonly end: boolean }): void;
  reset(code: number): void;
  goaway(lastStreamId: number, code: number): void;
  /** No frame, no close_notify: the socket is gone. */
  cut(): void;
}

export interface FrameUpstream {
  readonly url: string;
  readonly ca: string;
  readonly connections: number;
  readonly calls: readonly FrameCall[];
  /** Codes of the RST_STREAM frames that came. */
  readonly resets: readonly number[];
  readonly pings: number;
  close(): Promise<void>;
}

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;
/** HPACK: `:status: 200`, then a literal `content-type`, by the static table (RFC 7541, A). */
const STATUS_200 = 0x88;
const CONTENT_TYPE = 0x5f;

function frame(type: number, flags: number, streamId: number, body: Buffer = Buffer.alloc(0)) {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, body]);
}

function words(...values: readonly number[]): Buffer {
  const body = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => {
    body.writeUInt32BE(value, 4 * i);
  });
  return body;
}

/** @param play told when a request is there, whole. @param options.answersPings default true. */
export async function startFrameUpstream(
  play: (call: FrameCall) => void,
  { answersPings = true }: { readonly answersPings?: boolean } = {},
): Promise<FrameUpstream> {
  const { cert, key } = makeCertificate();
  const sockets = new Set<TLSSocket>();
  const calls: FrameCall[] = [];
  const resets: number[] = [];
  let connections = 0;
  let pings = 0;
  const server = createServer({ cert, key, ALPNProtocols: ["h2"] }, (socket) => {
    connections += 1;
    const connection = connections;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
    socket.write(frame(SETTINGS, 0, 0));
    const take = (type: number, flags: number, streamId: number, body: Buffer): void => {
      if (type === SETTINGS && flags === 0) socket.write(frame(SETTINGS, ACK, 0));
      if (type === RST_STREAM) resets.push(body.readUInt32BE(0));
      if (type === PING && flags === 0) {
        pings += 1;
        if (answersPings) socket.write(frame(PING, ACK, 0, body));
      }
      const isWhole = (type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0;
      if (!isWhole) return;
      const call = callOn(socket, { number: calls.length + 1, connection, streamId });
      calls.push(call);
      play(call);
    };
    let pending = Buffer.alloc(0);
    let skipped = 0;
    socket.on("data", (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      if (skipped === 0 && pending.length >= PREFACE_BYTES) {
        skipped = PREFACE_BYTES;
        pending = pending.subarray(PREFACE_BYTES);
      }
      while (skipped > 0 && pending.length >= HEAD_BYTES) {
        const end = HEAD_BYTES + pending.readUIntBE(0, 3);
        if (pending.length < end) return;
        const body = pending.subarray(HEAD_BYTES, end);
        take(pending[3]!, pending[4]!, pending.readUInt32BE(5), body);
        pending = pending.subarray(end);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: cert,
    calls,
    resets,
    get connections() {
      return connections;
    },
    get pings() {
      return pings;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function callOn(
  socket: TLSSocket,
  place: { readonly number: number; readonly connection: number; readonly streamId: number },
): FrameCall {
  const { streamId } = place;
  const send = (bytes: Buffer): void => {
    if (!socket.destroyed) socket.write(bytes);
  };
  return {
    ...place,
    head: (contentType) => {
      const block = Buffer.concat([
        Buffer.from([STATUS_200, CONTENT_TYPE, contentType.length]),
        Buffer.from(contentType),
      ]);
      send(frame(HEADERS, END_HEADERS, streamId, block));
    },
    data: (text, { end } = { end: false }) =>
      send(frame(DATA, end ? END_STREAM : 0, streamId, Buffer.from(text))),
    reset: (code) => send(frame(RST_STREAM, 0, streamId, words(code))),
    goaway: (lastStreamId, code) => send(frame(GOAWAY, 0, 0, words(lastStreamId, code))),
    cut: () => socket.destroy(),
  };
}
