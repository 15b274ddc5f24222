/** A client that keeps what came and when, and can stop reading or leave at any moment. */
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from "node:http";

export interface Arrived {
  readonly atMs: number;
  readonly bytes: Buffer;
}

export interface Call {
  readonly request: ClientRequest;
  /** Rejects if the connection breaks before the head. */
  readonly head: Promise<IncomingMessage>;
  readonly arrived: readonly Arrived[];
  /** Resolves at the end, clean or broken. */
  readonly ended: Promise<{ readonly clean: boolean; readonly atMs: number }>;
  text(): string;
  abort(): void;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Nothing is read until the caller resumes the response. */
  readonly paused?: boolean;
}

export function call(url: string, options: CallOptions = {}): Call {
  const arrived: Arrived[] = [];
  const { method = "POST", headers = {}, body = '{"stream":true}', paused = false } = options;
  const outgoing = request(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    agent: false,
  });
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
  });
  const ended = head.then(
    (response) =>
      new Promise<{ clean: boolean; atMs: number }>((resolve) => {
        response.on("error", () => undefined);
        response.once("close", () =>
          resolve({ clean: response.complete, atMs: performance.now() }),
        );
        if (paused) response.pause();
        response.on("data", (bytes: Buffer) => arrived.push({ atMs: performance.now(), bytes }));
        if (paused) response.pause();
      }),
    () => ({ clean: false, atMs: performance.now() }),
  );
  head.catch(() => undefined);
  outgoing.on("error", () => undefined);
  outgoing.end(method === "GET" ? undefined : body);
  return {
    request: outgoing,
    head,
    arrived,
    ended,
    text: () => Buffer.concat(arrived.map(({ bytes }) => bytes)).toString("utf8"),
    abort: () => outgoing.destroy(),
  };
}

/** The whole answer, read to its end. */
export async function answer(
  url: string,
  options: CallOptions = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string; clean: boolean }> {
  const made = call(url, options);
  const response = await made.head;
  const { clean } = await made.ended;
  return { status: response.statusCode ?? 0, headers: response.headers, text: made.text(), clean };
}
