/**
 * A store of texts as files of one folder, which outlive the process. A reader sees an old text or a new one, never half of
 * one: each is written beside its place, flushed, and moved there.
 */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ManxError } from "../../core/index.ts";
import type { RegistryStore } from "../../runtime/index.ts";

/** A larger file is none of ours. */
const BYTES_MAX = 64 * 1024 * 1024;
const KEY = /^[a-z0-9][a-z0-9._-]{0,99}$/i;

export class FileStore implements RegistryStore {
  readonly #folder: string;
  #writes = 0;

  /** @param folder made with its parents when something is first written. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws MANX_WARM_UP_INVALID for a key that is no file's name, MANX_FILE_UNREADABLE */
  async get(key: string): Promise<string | undefined> {
    const path = this.#pathOf(key);
    try {
      const file = await open(path, "r");
      try {
        const { size } = await file.stat();
        if (size > BYTES_MAX) throw new Error(`${size} bytes`);
        return await file.readFile("utf8");
      } finally {
        await file.close();
      }
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw failure("MANX_FILE_UNREADABLE", path, cause);
    }
  }

  /** @throws MANX_WARM_UP_INVALID, MANX_OUTPUT_UNWRITABLE */
  async put(key: string, text: string): Promise<void> {
    const path = this.#pathOf(key);
    this.#writes += 1;
    // Of this process and this write alone: several processes of one host may share the folder.
    const beside = `${path}.${process.pid}.${this.#writes}.tmp`;
    try {
      await mkdir(this.#folder, { recursive: true });
      const file = await open(beside, "w", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, path);
    } catch (cause) {
      await rm(beside, { force: true }).catch(() => {});
      throw failure("MANX_OUTPUT_UNWRITABLE", path, cause);
    }
  }

  /** Renames the file to `KEY.corrupt`, in place of an older one. */
  async setAside(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await rename(path, `${path}.corrupt`).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "ENOENT") throw failure("MANX_OUTPUT_UNWRITABLE", path, cause);
    });
  }

  #pathOf(key: string): string {
    if (KEY.test(key)) return join(this.#folder, `${key}.json`);
    throw new ManxError("MANX_WARM_UP_INVALID", {
      what: "a key that is no name of a file",
      where: "key of the store",
      expected: "letters, digits, dots, _ and -",
      got: JSON.stringify(key),
    });
  }
}

function failure(
  code: "MANX_FILE_UNREADABLE" | "MANX_OUTPUT_UNWRITABLE",
  where: string,
  cause: unknown,
): ManxError {
  const { code: got, message } = cause as NodeJS.ErrnoException;
  return new ManxError(code, { where, got: got ?? message, cause });
}
