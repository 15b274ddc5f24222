/**
 * Reads an event stream on the side while its bytes are forwarded unchanged. Nothing that happens here reaches the bytes:
 * whatever the decoder cannot read ends the observation, is counted, and the stream goes on.
 */
import type { Wire } from "./routes.ts";

/** How a stream has ended, as far as the protocol tells; "unknown" where it was not read. */
export type Ending = "complete" | "terminal_missing" | "incomplete" | "error" | "unknown";

export interface ObserverEvents {
  onToken(itlUs: number): void;
  onUnread(): void;
}

export class StreamObserver {
  readonly stalls: number = 0;
  readonly firstOutputUs: number | undefined = undefined;

  constructor(_wire: Wire, _events: ObserverEvents) {}

  push(_chunk: Buffer, _nowUs: number): void {}

  end(_nowUs: number): Ending {
    return "unknown";
  }
}
