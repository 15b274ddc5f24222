/**
 * One section of the configuration as it is in effect: checked, complete with defaults, and for each value where it came
 * from, so that a fault found by anybody later still points at the line, the variable or the flag.
 */
import { dirname } from "node:path";
import { type ErrorCode, type ErrorParts, ManxError } from "../core/index.ts";
import type { ConfigFile } from "./config-file.ts";
import { type ConfigPath, pathText, valueAt } from "./config-path.ts";
import type { GivenValue } from "./env-values.ts";
import type { SchemaOutline } from "./schema-outline.ts";
import { HIDDEN, isHidden, shownValue } from "./shown-value.ts";

export interface Source {
  readonly kind: "flag" | "env" | "file" | "default";
  /** `--port`, `MANX_GATEWAY_LISTEN__PORT`, `manx.config.jsonc:14:22`, or "". */
  readonly name: string;
}

export interface Setting {
  /** `gateway.listen.port` */
  readonly path: string;
  /** As in JSON; `"***"` for a secret. */
  readonly shown: string;
  readonly source: Source;
}

/** Where values come from; the origin of every error and of every line of `manx config print`. */
export class Origins {
  readonly section: string;
  readonly file: ConfigFile | undefined;
  readonly #given: readonly (GivenValue & { readonly kind: "flag" | "env" })[];

  constructor(
    section: string,
    file: ConfigFile | undefined,
    env: readonly GivenValue[],
    flags: readonly GivenValue[],
  ) {
    this.section = section;
    this.file = file;
    // In the order in which they were put over each other.
    this.#given = [
      ...env.map((one) => ({ ...one, kind: "env" as const })),
      ...flags.map((one) => ({ ...one, kind: "flag" as const })),
    ];
  }

  /** @param path within the section. */
  of(path: ConfigPath): Source {
    const given = this.#given.findLast((one) => isAbove(one.path, path));
    if (given !== undefined) {
      // A whole object that was given leaves the rest of itself to the defaults, whatever the file says.
      const isThere = valueAt(given.value, path.slice(given.path.length)) !== undefined;
      return isThere ? { kind: given.kind, name: given.name } : DEFAULT;
    }
    const whole = [this.section, ...path];
    if (this.file?.has(whole)) return { kind: "file", name: this.file.placeOf(whole).where };
    return DEFAULT;
  }

  /** For an error about the value at `path`, or about what is missing there. */
  placeOf(path: ConfigPath): Pick<ErrorParts, "where" | "excerpt"> {
    const given = this.#given.findLast((one) => isAbove(one.path, path));
    if (given !== undefined) return { where: given.name };
    const whole = [this.section, ...path];
    return this.file === undefined ? { where: pathText(whole) } : this.file.placeOf(whole);
  }
}

const DEFAULT: Source = { kind: "default", name: "" };

function isAbove(above: ConfigPath, path: ConfigPath): boolean {
  return above.every((step, index) => path[index] === step);
}

export class SectionConfig<Value> {
  readonly value: Value;
  readonly #origins: Origins;
  readonly #outline: SchemaOutline;

  constructor(value: Value, origins: Origins, outline: SchemaOutline) {
    this.value = value;
    this.#origins = origins;
    this.#outline = outline;
  }

  /** Folder of the file, from which paths in it begin; the working folder if there is none. */
  get folder(): string {
    return dirname(this.#origins.file?.path ?? "./none");
  }

  sourceOf(path: ConfigPath): Source {
    return this.#origins.of(path);
  }

  /** `upstreams, 0, key` → `gateway.upstreams[0].key` */
  nameOf(path: ConfigPath): string {
    return pathText([this.#origins.section, ...path]);
  }

  /** An error that points at the value at `path` within the section. `got` is the value, unless given. */
  errorAt(
    path: ConfigPath,
    parts: Omit<ErrorParts, "where" | "excerpt">,
    code: ErrorCode = "MANX_CONFIG_VALUE",
  ): ManxError {
    const value = valueAt(this.value, path);
    const got = shownValue(
      value,
      this.#outline.isSecret(path),
      String(path[path.length - 1] ?? ""),
    );
    return new ManxError(code, {
      what: `invalid ${this.nameOf(path)}`,
      ...(value !== undefined && { got }),
      ...this.#origins.placeOf(path),
      ...parts,
    });
  }

  /** Each value in effect, in the schema's order. */
  settings(): Setting[] {
    return this.#leaves(this.value, []).map(({ path, value }) => ({
      path: this.nameOf(path),
      shown: JSON.stringify(this.#masked(value, path)),
      source: this.#origins.of(path),
    }));
  }

  #leaves(value: unknown, path: ConfigPath): { path: ConfigPath; value: unknown }[] {
    if (typeof value !== "object" || value === null) return [{ path, value }];
    const entries: [string | number, unknown][] = Array.isArray(value)
      ? value.map((one, index) => [index, one])
      : Object.entries(value).filter(([, one]) => one !== undefined);
    // A list of plain values reads better in one line.
    const isPlain = Array.isArray(value) && value.every((one) => typeof one !== "object");
    if (entries.length === 0 || isPlain) return [{ path, value }];
    return entries.flatMap(([step, one]) => this.#leaves(one, [...path, step]));
  }

  #masked(value: unknown, path: ConfigPath): unknown {
    if (Array.isArray(value)) return value.map((one, index) => this.#masked(one, [...path, index]));
    if (typeof value !== "string") return value;
    const name = String(path[path.length - 1] ?? "");
    return isHidden(value, this.#outline.isSecret(path), name) ? HIDDEN : value;
  }
}
