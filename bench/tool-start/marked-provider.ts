/**
 * A provider on loopback with one message of K calls, on two wires, in the rhythm in which Anthropic's SDK was measured:
 * each call streams for 200 ms up to its closing brace, 150 ms later its block ends, 250 ms later the next one opens;
 * behind the last one comes the end of the message 550 ms after its block. The next request gets the final answer.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DecodableFormat } from "../../src/stream/index.ts";
import { WIRE_WRITERS, type WireCall } from "../dispatch/wires.ts";

/** Of a text: `open 0`, `brace 0`, `stop 0`, …, `finish`. */
export type Mark = string;

export interface MarkedProvider {
  readonly url: string;
  /** When each text of the first answer was written, `performance.now()`. */
  readonly writtenMs: ReadonlyMap<Mark, number>;
  readonly requestsMs: readonly number[];
  close(): Promise<void>;
}

interface Marked {
  readonly afterMs: number;
  readonly mark: Mark;
  readonly text: string;
}

export interface MarkedOptions {
  /** Multiplies all waits. Default 1. */
  readonly pace?: number;
  /** Told what has been written; waited for before the next. */
  readonly written?: (mark: Mark) => void | Promise<void>;
}

const PIECES = ['{"q":', '"a"', "}"];

function scriptOf(format: DecodableFormat, names: readonly string[]): readonly Marked[] {
  const calls: WireCall[] = names.map((name) => ({ name, pieces: PIECES }));
  const { head, calls: framed, tail } = WIRE_WRITERS[format](calls);
  return [
    { afterMs: 0, mark: "head", text: head.join("") },
    ...framed.flatMap(({ open, args, close }, i) => [
      { afterMs: i === 0 ? 0 : 250, mark: `open ${i}`, text: open.join("") },
      { afterMs: 200, mark: `brace ${i}`, text: args.join("") },
      // A chat completion has no such frame; the time passes all the same.
      { afterMs: 150, mark: `stop ${i}`, text: close.join("") },
    ]),
    { afterMs: 550, mark: "finish", text: tail.join("") },
  ];
}

const FINAL: Readonly<Record<"openai-chat" | "anthropic-messages", string>> = {
  "openai-chat":
    'data: {"id":"y","model":"m","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  "anthropic-messages":
    WIRE_WRITERS["anthropic-messages"]([]).head.join("") +
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}\n\n' +
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
};

export async function startMarkedProvider(
  names: readonly string[],
  { pace = 1, written }: MarkedOptions = {},
): Promise<MarkedProvider> {
  const writtenMs = new Map<Mark, number>();
  const requestsMs: number[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", async () => {
      const isMessages = /\/messages/.test(request.url ?? "");
      const format = isMessages ? "anthropic-messages" : "openai-chat";
      requestsMs.push(performance.now());
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.socket?.setNoDelay(true);
      if (requestsMs.length > 1) {
        response.end(FINAL[format]);
        return;
      }
      let dueMs = performance.now();
      for (const { afterMs, mark, text } of scriptOf(format, names)) {
        dueMs += afterMs * pace;
        const waitMs = dueMs - performance.now();
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        writtenMs.set(mark, performance.now());
        if (text !== "") response.write(text);
        await written?.(mark);
      }
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    writtenMs,
    requestsMs,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
