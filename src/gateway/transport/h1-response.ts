/** What undici tells of one response, in the terms of a `ResponseSink`. */
import type { Dispatcher } from "undici";
import type { BreakKind, ResponseSink } from "./channel.ts";

export interface H1ResponseFacts {
  /** The socket broke; asked at the end of a body. */
  readonly hasBroken: boolean;
  /** @param header value of `Keep-Alive`. */
  onHint(header: string): void;
  /** Of a failure before the head. */
  kindOf(cause: Error): BreakKind;
}

export class H1Response implements Dispatcher.DispatchHandler {
  readonly #sink: ResponseSink;
  readonly #facts: H1ResponseFacts;
  #hasHead = false;

  constructor(sink: ResponseSink, facts: H1ResponseFacts) {
    this.#sink = sink;
    this.#facts = facts;
  }

  /** Its presence tells undici which of its two handler forms this is. */
  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return;
    this.#hasHead = true;
    const rawHeaders = decodeHeaders(controller.rawHeaders as Buffer[]);
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!;
      if (name.length === 10 && name.toLowerCase() === "keep-alive") {
        this.#facts.onHint(rawHeaders[i + 1]!);
      }
    }
    this.#sink.head(status, rawHeaders);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (chunk.length > 0) this.#sink.bytes(chunk);
  }

  onResponseEnd(): void {
    if (this.#facts.hasBroken) this.#sink.broken("cut", reset());
    else this.#sink.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#sink.broken(this.#hasHead ? "cut" : this.#facts.kindOf(cause), cause);
  }
}

function decodeHeaders(raw: readonly Buffer[]): string[] {
  return raw.map((part) => part.toString("latin1"));
}

function reset(): Error {
  return Object.assign(new Error("the connection was reset"), { code: "ECONNRESET" });
}
