/** A provider on loopback that streams what it is told, at the times it is told. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Text, and ms after the one before. */
export type TimedText = readonly [afterMs: number, text: string];

export interface MockProvider {
  readonly url: string;
  /** `performance.now()` at which each text of the last script was written. */
  readonly writtenMs: number[];
  /** `performance.now()` of each request. */
  readonly requestsMs: number[];
  close(): Promise<void>;
}

/** @param scripts one per request, in their order; the last one is repeated. */
export async function startMockProvider(
  scripts: ReadonlyArray<readonly TimedText[]>,
): Promise<MockProvider> {
  const writtenMs: number[] = [];
  const requestsMs: number[] = [];
  const server: Server = createServer((request, response) => {
    request.resume();
    request.on("end", async () => {
      const script = scripts[Math.min(requestsMs.length, scripts.length - 1)]!;
      requestsMs.push(performance.now());
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.socket?.setNoDelay(true);
      let dueMs = performance.now();
      for (const [afterMs, text] of script) {
        dueMs += afterMs;
        const waitMs = dueMs - performance.now();
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        if (requestsMs.length === 1) writtenMs.push(performance.now());
        response.write(text);
      }
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    writtenMs,
    requestsMs,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
