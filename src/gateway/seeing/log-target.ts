/** Where lines of a log go. Opened anew after each fault and each rotation. */
import { write } from "node:fs";
import { open } from "node:fs/promises";

export interface OpenLog {
  /** @returns how many bytes were taken, from 1. */
  write(bytes: Buffer): Promise<number>;
  close(): Promise<void>;
}

export interface LogTarget {
  /** For errors. */
  readonly where: string;
  open(): Promise<OpenLog>;
}

export function fileTarget(path: string): LogTarget {
  return {
    where: path,
    open: async () => {
      // Who may read the log is its owner's and its group's business.
      const file = await open(path, "a", 0o640);
      return {
        write: async (bytes) => (await file.write(bytes)).bytesWritten,
        close: () => file.close(),
      };
    },
  };
}

/**
 * The descriptor and not the stream: Node writes the stream to a pipe synchronously, so a reader that does not read would
 * stop the gateway.
 */
export const STDOUT_TARGET: LogTarget = {
  where: "stdout",
  open: async () => ({
    write: (bytes) =>
      new Promise((resolve, reject) => {
        write(1, bytes, (error, written) => (error === null ? resolve(written) : reject(error)));
      }),
    close: async () => undefined,
  }),
};
