/** A proxy that keeps what a client says in TLS before it has heard anything, and reads it (RFC 8446, 4.1.2). */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface FirstFlight {
  /** Kinds of the records, in order: 22 handshake, 20 change of cipher, 23 data. */
  readonly records: readonly number[];
  /** Numbers of the extensions of the ClientHello. */
  readonly extensions: readonly number[];
}

export interface FlightRecorder {
  readonly url: string;
  /** One for each connection, in order. */
  readonly flights: readonly FirstFlight[];
}

export const PRE_SHARED_KEY = 41;
export const EARLY_DATA = 42;
export const HANDSHAKE_RECORD = 22;

/** @param url of a TLS server on this machine; the proxy closes when the test ends. */
export async function recordFlights(url: string): Promise<FlightRecorder> {
  const port = Number(new URL(url).port);
  const flights: FirstFlight[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let said = Buffer.alloc(0);
    let hasHeard = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (bytes: Buffer) => {
      if (!hasHeard) said = Buffer.concat([said, bytes]);
      upstream.write(bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      if (!hasHeard) flights.push({ records: recordsOf(said), extensions: extensionsOf(said) });
      hasHeard = true;
      client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, flights };
}

function recordsOf(bytes: Buffer): number[] {
  const kinds: number[] = [];
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) {
    kinds.push(bytes[at]!);
  }
  return kinds;
}

/** Record head 5, handshake head 4, version 2, random 32; then session id, ciphers, compressions, each with its length. */
function extensionsOf(bytes: Buffer): number[] {
  let at = 5 + 4 + 2 + 32;
  at += 1 + bytes.readUInt8(at);
  at += 2 + bytes.readUInt16BE(at);
  at += 1 + bytes.readUInt8(at);
  const end = at + 2 + bytes.readUInt16BE(at);
  const kinds: number[] = [];
  for (at += 2; at < end; at += 4 + bytes.readUInt16BE(at + 2)) kinds.push(bytes.readUInt16BE(at));
  return kinds;
}
