/**
 * The upstream of the gateway bench, a process of its own: answers JSON at once, and streams of as many events, as far
 * apart, as the request's model names (`mock-20-5`: 20 events, 5 ms before each; gap 0: as fast as the socket takes them).
 */
import { createServer, type ServerResponse } from "node:http";

function eventText(i: number): string {
  const choice = { index: 0, delta: { content: `token ${i} ` }, finish_reason: null };
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  return `data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\n`;
}

const EVENTS = Array.from({ length: 256 }, (_, i) => Buffer.from(eventText(i)));
const STOP = Buffer.from(
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`,
);
const ANSWER = Buffer.from(
  JSON.stringify({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "Hello ".repeat(40) },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 500, completion_tokens: 40, total_tokens: 540 },
  }),
);

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts).toString("utf8");
    const shape = /"mock-(\d+)-(\d+)"/.exec(body);
    if (shape === null) {
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": ANSWER.length,
      });
      response.end(ANSWER);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (Number(shape[2]) === 0) burst(response, Number(shape[1]));
    else pace(response, Number(shape[1]), Number(shape[2]));
  });
});

/** One write per event, as a server does that streams, without waiting. */
function burst(response: ServerResponse, events: number): void {
  for (let i = 0; i < events; i += 1) response.write(EVENTS[i % EVENTS.length]!);
  response.end(STOP);
}

function pace(response: ServerResponse, events: number, gapMs: number): void {
  response.flushHeaders();
  const startMs = performance.now();
  let sent = 0;
  const next = (): void => {
    if (response.destroyed) return;
    if (sent === events) {
      response.end(STOP);
      return;
    }
    response.write(EVENTS[sent % EVENTS.length]!);
    sent += 1;
    setTimeout(next, startMs + (sent + 1) * gapMs - performance.now());
  };
  setTimeout(next, gapMs);
}

server.keepAliveTimeout = 300_000;
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address !== "string") {
    process.stdout.write(`http://127.0.0.1:${address.port}\n`);
  }
});
