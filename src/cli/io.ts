/** What a command may touch outside itself, so that a test can run one in-process. */
import type { Clock } from "../clock/index.ts";

export interface Io {
  /** Results only. */
  readonly stdout: {
    write(text: string): unknown;
    readonly isTTY?: boolean;
    readonly columns?: number;
  };
  /** Progress, warnings, errors. */
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts on the first Ctrl-C; a second one ends the process. */
  readonly interrupt: AbortSignal;
  /** Runs at each SIGHUP, for commands that read a file again then. @returns a way to stop that. */
  onHangup(run: () => void): () => void;
}
