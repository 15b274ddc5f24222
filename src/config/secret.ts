/**
 * A secret that does not show: it prints, inspects and serialises as `***`, so that no log, error or document can hold it
 * by accident; `reveal` is the one way in. It is read when it is first needed, not when the file is, so that a
 * configuration can be checked where its secrets are not.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { ManxError } from "../core/index.ts";
import type { Env } from "./env-values.ts";
import { isReference } from "./secret-names.ts";
import { HIDDEN } from "./shown-value.ts";

const FILE_BYTES_MAX = 64 * 1024;
/** What a header can carry: visible characters. A line end in a key would begin another header. */
const USABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

export interface SecretPlaces {
  readonly env: Env;
  /** Folder that relative paths of `file:` begin from. */
  readonly folder: string;
}

export class Secret {
  /** `env:NAME`, `file:/path`, or `inline` for a value that stands in the configuration itself. */
  readonly reference: string;
  readonly #where: string;
  #read: () => string;
  #value: string | undefined;

  /**
   * @param text `env:NAME`, `file:PATH`, or the secret itself.
   * @param where for the error, such as `gateway.upstreams[0].key`.
   */
  constructor(text: string, where: string, places: SecretPlaces) {
    this.#where = where;
    this.reference = isReference(text) ? text : "inline";
    const name = text.slice(text.indexOf(":") + 1);
    if (text.startsWith("env:")) this.#read = () => places.env[name] ?? "";
    else if (text.startsWith("file:")) this.#read = () => readWhole(resolve(places.folder, name));
    else this.#read = () => text;
  }

  /** The secret itself. @throws MANX_SECRET_MISSING if it is not there, empty, or nothing that a header can carry. */
  reveal(): string {
    this.#value ??= this.#load();
    return this.#value;
  }

  /** Whether both are the same secret; one that cannot be read is like no other. */
  equals(other: Secret): boolean {
    if (this === other) return true;
    try {
      return this.reveal() === other.reveal();
    } catch {
      return false;
    }
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Secret(${this.reference})`;
  }

  #load(): string {
    let value: string;
    try {
      value = this.#read().trim();
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException;
      throw this.#missing(code ?? message);
    }
    if (value === "") throw this.#missing("nothing");
    if (!USABLE.test(value)) throw this.#missing("characters that a header cannot carry");
    return value;
  }

  #missing(got: string): ManxError {
    const what = `the secret of ${this.#where} cannot be read`;
    const where = this.reference === "inline" ? this.#where : this.reference;
    return new ManxError("MANX_SECRET_MISSING", { what, where, expected: "one line of text", got });
  }
}

function readWhole(path: string): string {
  const file = openSync(path, "r");
  try {
    const room = Buffer.alloc(FILE_BYTES_MAX);
    return room.toString("utf8", 0, readSync(file, room));
  } finally {
    closeSync(file);
  }
}
