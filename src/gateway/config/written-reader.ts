/**
 * Reads written values of the section into plain ones, and gathers what is wrong or doubtful on the way, each with its
 * place in the file, so that one pass tells all.
 */
import { resolve } from "node:path";
import { type ConfigPath, type Env, Secret, type SectionConfig } from "../../config/index.ts";
import {
  type ErrorParts,
  type ManxError,
  parseDurationUs,
  parseSizeBytes,
  toManxError,
} from "../../core/index.ts";
import type { WrittenGateway } from "./gateway-schema.ts";

/** What works, but should be looked at; a warning more urgently than a note. */
export interface Notice {
  readonly level: "warning" | "note";
  /** MANX_CONFIG_DOUBTFUL, with the place. */
  readonly error: ManxError;
}

type Parts = Omit<ErrorParts, "where" | "excerpt">;

export class WrittenReader {
  readonly section: SectionConfig<WrittenGateway>;
  readonly written: WrittenGateway;
  readonly errors: ManxError[] = [];
  readonly notices: Notice[] = [];
  readonly #env: Env;

  constructor(section: SectionConfig<WrittenGateway>, env: Env) {
    this.section = section;
    this.written = section.value;
    this.#env = env;
  }

  fail(path: ConfigPath, parts: Parts): void {
    this.errors.push(this.section.errorAt(path, parts));
  }

  notice(level: Notice["level"], path: ConfigPath, parts: Parts): void {
    const error = this.section.errorAt(path, parts, "MANX_CONFIG_DOUBTFUL");
    this.notices.push({ level, error });
  }

  /** Somebody wrote it; it is no default. */
  isGiven(path: ConfigPath): boolean {
    return this.section.sourceOf(path).kind !== "default";
  }

  durationUs(text: string, path: ConfigPath): number {
    return this.#or(0, path, () => parseDurationUs(text, ""));
  }

  sizeBytes(text: string, path: ConfigPath): number {
    return this.#or(1, path, () => parseSizeBytes(text, ""));
  }

  secret(text: string, path: ConfigPath): Secret {
    const places = { env: this.#env, folder: this.section.folder };
    return new Secret(text, this.section.nameOf(path), places);
  }

  /** Relative paths begin at the file's folder, so that a file means the same wherever it is read. */
  filePath(path: string): string {
    return resolve(this.section.folder, path);
  }

  /** What `read` gives, or `otherwise` and an error at the path. */
  #or<Value>(otherwise: Value, path: ConfigPath, read: () => Value): Value {
    try {
      return read();
    } catch (thrown) {
      const { expected, hint } = toManxError(thrown);
      this.fail(path, { ...(expected !== undefined && { expected }), hint });
      return otherwise;
    }
  }
}
