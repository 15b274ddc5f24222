/**
 * What it costs this host to send one token to one client, as the server does it: measured on a few loopback streams of its
 * own, since it is most of what a live step costs and differs by a factor of ten between hosts.
 */
import { createServer, request, type ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import { close, listen } from "../http/index.ts";

const STREAMS = 16;
const ROUNDS = 24;
/** The first rounds run code that is not warm yet. */
const WARM_UP = 8;

/** µs of this thread for each write; readers are held back, so that theirs is not counted. */
export async function socketWriteUs(clock: Clock, chunk: string): Promise<number> {
  const responses: ServerResponse[] = [];
  const server = createServer({ noDelay: true }, (_, response) => {
    response.on("error", () => undefined);
    responses.push(response);
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  });
  const url = await listen(server, { port: 0 });
  try {
    await Promise.all(Array.from({ length: STREAMS }, () => openStream(url)));
    const times: number[] = [];
    for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
      const startUs = clock.nowUs();
      for (const response of responses) response.write(chunk);
      // Node sends what a tick has written when the tick is over.
      await clock.sleepUntil(clock.nowUs());
      if (round >= WARM_UP) times.push((clock.nowUs() - startUs) / responses.length);
    }
    // The median: a busy host interrupts a few rounds, never most.
    return times.sort((a, b) => a - b)[times.length >> 1]!;
  } finally {
    await close(server, { cutOpen: true });
  }
}

function openStream(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent: false }, (response) => {
      response.on("error", () => undefined);
      response.pause();
      resolve();
    });
    call.on("error", reject).end();
  });
}
