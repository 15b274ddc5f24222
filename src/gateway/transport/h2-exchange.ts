/**
 * One request and its answer as a stream of an HTTP/2 connection. Cancelling it resets the stream and leaves the connection
 * to the others.
 *
 * An answer is whole only if the upstream has ended its stream with END_STREAM. Node ends a stream that was reset with
 * NO_ERROR or CANCEL like one that is whole; the two differ in whether the stream was closed when its end was pushed.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from "node:http2";
import type { BreakKind, Channel, ResponseSink, UpstreamRequest } from "./channel.ts";
import type { ConnectionMarks } from "./connection-marks.ts";

/** What an exchange needs of its connection. */
export interface H2Link {
  readonly session: ClientHttp2Session;
  readonly origin: URL;
  /** Its socket is gone. */
  readonly hasDied: boolean;
  /** Of the upstream's GOAWAY: streams beyond it were not begun. Infinity without one. */
  readonly lastStreamId: number;
  /** Grows with whatever the upstream says about any request; nobody who is gone says anything. */
  heard: number;
  refusesH2(): void;
  /** A stream that was begun is closed, or was never made. Called once for each. */
  streamClosed(): void;
}

const { NGHTTP2_CANCEL, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_REFUSED_STREAM } = constants;
/** Sent so that no hop on the way keeps them in a table (RFC 7541, 7.1.3). */
const SECRET = ["authorization", "x-api-key", "api-key", "cookie"];

export class H2Exchange implements Channel {
  readonly #link: H2Link;
  readonly marks: ConnectionMarks;
  #stream: ClientHttp2Stream | undefined;
  #sink: ResponseSink | undefined;
  #hasHead = false;
  /** Reading has begun: before that, the valve has nothing to hold. */
  #flows = false;
  #isWhole = false;
  #isOver = false;
  #isClosed = false;
  /** Of the link, when the request was sent. */
  #heardBefore = 0;
  #cause: Error | undefined;

  constructor(link: H2Link, marks: ConnectionMarks) {
    this.#link = link;
    this.marks = marks;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const { session, origin, heard } = this.#link;
    this.#sink = sink;
    this.#heardBefore = heard;
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(requestHead(request, origin), { endStream: request.body === null });
    } catch (thrown) {
      const isGone = session.closed || session.destroyed;
      this.#close();
      this.#break(isGone ? "unprocessed" : "local", thrown as Error);
      return;
    }
    this.#stream = stream;
    this.#watch(stream);
    if (request.body !== null) stream.end(request.body);
  }

  #watch(stream: ClientHttp2Stream): void {
    const { push } = stream;
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunk === null && !stream.closed) this.#isWhole = true;
      return push.call(stream, chunk, encoding);
    };
    // Raw headers are Node's third argument, which its types leave out.
    stream.once("response", (head, _flags, ...rest: unknown[]) => {
      this.#onHead(Number(head[":status"]), rest[0] as string[]);
    });
    stream.once("end", () => {
      if (this.#isWhole && this.#hasHead) this.#end();
    });
    stream.on("error", (cause: Error) => {
      this.#cause = cause;
    });
    stream.once("close", () => {
      this.#close();
      this.#break(this.#kindOf(stream), this.#cause ?? closed(stream.rstCode));
    });
  }

  #onHead(status: number, rawHeaders: readonly string[]): void {
    if (this.#isOver) return;
    this.#hasHead = true;
    this.#link.heard += 1;
    this.#sink!.head(status, withoutPseudo(rawHeaders));
    if (this.#isOver) return;
    this.#flows = true;
    // Not before: a body that came in the same read as its head would be told first.
    this.#stream!.on("data", (chunk: Buffer) => {
      if (this.#isOver) return;
      this.#link.heard += 1;
      this.#sink!.bytes(chunk);
    });
  }

  #kindOf(stream: ClientHttp2Stream): BreakKind {
    const { rstCode, id = 0 } = stream;
    const { lastStreamId, hasDied, heard } = this.#link;
    if (rstCode === NGHTTP2_HTTP_1_1_REQUIRED) this.#link.refusesH2();
    if (this.#hasHead) return "cut";
    const isRefused = rstCode === NGHTTP2_REFUSED_STREAM || rstCode === NGHTTP2_HTTP_1_1_REQUIRED;
    if (isRefused || id > lastStreamId) return "unprocessed";
    const saidNothing = heard === this.#heardBefore && lastStreamId === Number.POSITIVE_INFINITY;
    return this.marks.reuse === "reused" && hasDied && saidNothing ? "reuse_race" : "cut";
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink!.end();
  }

  #break(kind: BreakKind, cause: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink!.broken(kind, cause);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#link.streamClosed();
  }

  shutValve(): void {
    if (this.#flows) this.#stream!.pause();
  }

  openValve(): void {
    if (this.#flows) this.#stream!.resume();
  }

  release(): void {
    this.#isOver = true;
    const stream = this.#stream;
    if (stream === undefined) this.#close();
    // The upstream has answered without taking all of the request: it does not want the rest.
    else if (!stream.writableFinished) stream.close(NGHTTP2_CANCEL);
    this.openValve();
  }

  cancel(): void {
    this.#isOver = true;
    if (this.#stream === undefined) this.#close();
    else this.#stream.close(NGHTTP2_CANCEL);
  }
}

function requestHead({ method, path, headers, body }: UpstreamRequest, origin: URL) {
  const head: OutgoingHttpHeaders & { [sensitiveHeaders]?: string[] } = {
    ":method": method,
    ":scheme": origin.protocol.slice(0, -1),
    ":authority": origin.host,
    ":path": path,
    [sensitiveHeaders]: SECRET,
  };
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    const before = head[name];
    const value = headers[i + 1]!;
    if (before === undefined) head[name] = value;
    else head[name] = Array.isArray(before) ? [...before, value] : [String(before), value];
  }
  if (body !== null) head["content-length"] = String(body.length);
  return head;
}

function withoutPseudo(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!rawHeaders[i]!.startsWith(":")) kept.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  return kept;
}

function closed(code: number | undefined): Error {
  const what = `the stream was closed with code ${code ?? "unknown"}`;
  return Object.assign(new Error(what), { code: "ERR_HTTP2_STREAM_CLOSED" });
}
