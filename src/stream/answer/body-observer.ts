/**
 * Reads a body on the side while its bytes are forwarded unchanged. Nothing that happens here reaches the bytes: what cannot
 * be read is counted, and the body goes on. What it finds out is whether the body was whole, which the transport alone
 * cannot tell: a connection that closes early and one that closes in time look alike.
 */

/** How a body has ended, as far as it can tell itself (casebook GW-06). */
export type Ending =
  | "complete"
  /** Whole, though its terminal frame or its finish reason never came. */
  | "terminal_missing"
  /** Whole, and without any output. */
  | "empty"
  | "incomplete"
  /** The upstream itself reported an error in it. */
  | "error"
  /** It was not read, or says nothing. */
  | "unknown";

export interface BodyObserver {
  /** @param bytes of one read. */
  push(bytes: Uint8Array, nowUs: number): void;
  /** Also where the body was cut; the first call counts. */
  end(nowUs: number): Ending;
}
