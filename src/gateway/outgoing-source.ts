import type { EventSource } from "../stream/index.ts";

/** What decodes on the way to the caller's bytes. */
export interface OutgoingSource extends EventSource {
  /** What has become ready for the caller since the last call. */
  take(): Buffer;
  /** After `end`: something was lost, or the upstream has not finished; the caller must be told. */
  readonly isBroken: boolean;
}
