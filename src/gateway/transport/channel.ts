/** One request's place on a connection, whatever the protocol: what an attempt needs of it, and what it is told. */
import type { ConnectionMarks } from "./connection-marks.ts";

export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values in turn; nothing hop-by-hop, neither host nor length. */
  readonly headers: string[];
  /** Whole, so that it can be sent again. */
  readonly body: Buffer | null;
}

export type BreakKind =
  /** The upstream has surely not begun it: a refused stream, or one beyond what a GOAWAY still counts. */
  | "unprocessed"
  /** A kept connection was found dead before a byte came. */
  | "reuse_race"
  /** The transport ended before the answer was whole. */
  | "cut"
  /** What came is no HTTP. */
  | "garbage"
  /** It could not be put on the wire here. */
  | "local";

/** Ends in exactly one of `end` and `broken`, or silently after `cancel`. */
export interface ResponseSink {
  /** The final head; 1xx are swallowed. @param rawHeaders names and values in turn. */
  head(status: number, rawHeaders: string[]): void;
  bytes(chunk: Buffer): void;
  /** The answer is whole, as far as the transport knows. */
  end(): void;
  broken(kind: BreakKind, cause: Error): void;
}

export interface Channel {
  readonly marks: ConnectionMarks;
  /** Once. */
  send(request: UpstreamRequest, sink: ResponseSink): void;
  /** The caller does not read: within a bounded number of bytes the upstream is not read either. */
  shutValve(): void;
  openValve(): void;
  /** The request on it has ended well, or was never sent: the connection may carry another. */
  release(): void;
  /** At once and in any state: the upstream is told that nobody waits. */
  cancel(): void;
}
