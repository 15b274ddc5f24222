/** `--output FILE`, opened before a run, so that an hour of load does not end in "permission denied". */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { ManxError } from "../core/index.ts";
import type { Io } from "./io.ts";

export interface OutputFile {
  /** Replaces what the file held. */
  write(text: string): void;
  close(): void;
}

/**
 * @param path `-` is standard output. A file that exists keeps its content until `write`.
 * @throws MANX_OUTPUT_UNWRITABLE
 */
export function openOutput(path: string, io: Io): OutputFile {
  if (path === "-") return { write: (text) => io.stdout.write(text), close: () => undefined };
  const file = attempt(path, () => openSync(path, "a"));
  return {
    write: (text) =>
      attempt(path, () => {
        ftruncateSync(file);
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      }),
    close: () => closeSync(file),
  };
}

function attempt<Value>(path: string, act: () => Value): Value {
  try {
    return act();
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    throw new ManxError("MANX_OUTPUT_UNWRITABLE", {
      where: path,
      got: cause.code ?? cause.message,
      cause,
    });
  }
}
