/**
 * A link with a delay, in user space: a TCP proxy that hands bytes on half a round trip later, in order. A kernel accepts a
 * connection before the proxy knows of it, so what a handshake on a real link would have taken is put in front of the first
 * bytes: they leave no sooner than one round trip after the connection came. From the first byte on, every time is then as
 * it would be; only the client's own mark of "connected" comes too early.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface DelayedLink {
  readonly port: number;
  close(): void;
}

/** @param rttMs there and back. @param port on this machine that it leads to. */
export async function startDelayedLink(port: number, rttMs: number): Promise<DelayedLink> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const acceptedMs = performance.now();
    const upstream = connect({ port, host: "127.0.0.1", noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => sockets.delete(socket));
    }
    pass(client, upstream, rttMs / 2, acceptedMs + rttMs);
    pass(upstream, client, rttMs / 2, acceptedMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** @param fromMs nothing sets out before. */
function pass(from: Socket, to: Socket, delayMs: number, fromMs: number): void {
  let lastMs = 0;
  const later = (run: () => void): void => {
    lastMs = Math.max(lastMs, Math.max(fromMs, performance.now()) + delayMs);
    setTimeout(run, lastMs - performance.now());
  };
  // Timers of one length run in the order in which they were set; of others, order is kept by the time alone.
  const waiting: (() => void)[] = [];
  const next = (): void => waiting.shift()?.();
  const inOrder = (run: () => void): void => {
    waiting.push(run);
    later(next);
  };
  from.on("data", (bytes: Buffer) =>
    inOrder(() => {
      if (!to.destroyed) to.write(bytes);
    }),
  );
  from.once("close", () => inOrder(() => to.destroy()));
}
