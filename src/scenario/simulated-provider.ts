/** A provider behind a `fetch`, in simulated time: each request is answered by a stream that takes as long as it is told. */
import type { Clock } from "../clock/index.ts";
import { CHAT_DONE, encodeChatChunk } from "../stream/index.ts";

const encoder = new TextEncoder();
const HEAD = { id: "chatcmpl-sim", model: "sim", createdS: 0 };
const TEXT = encoder.encode(
  encodeChatChunk(HEAD, { type: "text-delta", choice: 0, text: "answer" }),
);
const END = encoder.encode(
  encodeChatChunk(HEAD, { type: "finish", choice: 0, reason: "stop", rawReason: "stop" }) +
    CHAT_DONE,
);

export interface SimulatedProvider {
  readonly fetch: typeof fetch;
  /** Requests that it was asked, and has to be paid for. */
  readonly asked: number;
}

/** @param latencyUs of the request with this body, to its first content and end. Asked once a request. */
export function simulatedProvider(
  clock: Clock,
  latencyUs: (body: string) => number,
): SimulatedProvider {
  let asked = 0;
  const send = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
    const { body, signal } = init;
    signal?.throwIfAborted();
    asked += 1;
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body);
    const stream = answer(clock, clock.nowUs() + latencyUs(text), signal);
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
  return {
    fetch: send as typeof fetch,
    get asked() {
      return asked;
    },
  };
}

function answer(
  clock: Clock,
  atUs: number,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      const cancel = clock.at(atUs, () => {
        signal?.removeEventListener("abort", onAbort);
        controller.enqueue(TEXT);
        controller.enqueue(END);
        controller.close();
      });
      const onAbort = (): void => {
        cancel();
        controller.error(signal!.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    },
  });
}
