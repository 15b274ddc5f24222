/** What a command may touch outside itself, so that a test can run one in-process. */
import type { Clock } from "../clock/index.ts";

export interface Io {
  /** Results only. */
  readonly stdout: {
    write(text: string): unknown;
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  /** Progress, warnings, errors. */
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts on the first Ctrl-C or SIGTERM. A second Ctrl-C ends the process, unless a command listens for `again`. */
  readonly interrupt: AbortSignal;
  /** @returns a way to stop that. */
  onSignal(signal: IoSignal, run: () => void): () => void;
}

/**
 * What a command that runs may be told: `hangup` (SIGHUP) to read its files again, `restart` (SIGUSR2) to renew itself piece
 * by piece, `again` (a second Ctrl-C or SIGTERM) not to wait for an orderly end.
 */
export type IoSignal = "hangup" | "restart" | "again";
