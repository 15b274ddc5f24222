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
  /** A preset is what another file says of values that nobody has set. */
  readonly kind: "flag" | "env" | "file" | "preset" | "default";
  /** `--port`, `MANX_GATEWAY_LISTEN__PORT`, `manx.config.jsonc:14:22`, `cost.json`, or "". */
  readonly name: string;
}

export interface Setting {
  /** `gateway.listen.port` */
  readonly path: string;
  /** As in JSON; `"***"` for a secret. */
  readonly shown: string;
  readonly source: Source;
}

export interface OutsideValue extends GivenValue {
  readonly kind: "flag" | "env";
}

/** Where values come from; the origin of every error and of every line of `manx config print`. */
export class Origins {
  readonly section: string;
  readonly file: ConfigFile | undefined;
  /** In the order in which they were put over each other. */
  readonly #given: readonly OutsideValue[];
  readonly #presets: ReadonlyMap<string, string>;

  /** @param presets by key of the section: where its preset is from. */
  constructor(
    section: string,
    file: ConfigFile | undefined,
    given: readonly OutsideValue[],
    presets: ReadonlyMap<string, string> = new Map(),
  ) {
    this.section = section;
    this.file = file;
    this.#given = given;
    this.#presets = presets;
  }

  /** With presets for these keys, too. */
  withPresets(keys: readonly string[], name: string): Origins {
    const presets = new Map([...this.#presets, ...keys.map((key) => [key, name] as const)]);
    return new Origins(this.section, this.file, this.#given, presets);
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
    const name = this.#presets.get(String(path[0]));
    return name === undefined ? DEFAULT : { kind: "preset", name };
  }

  /** For an error about the value at `path`, or about what is missing there. */
  placeOf(path: ConfigPath): Pick<ErrorParts, "where" | "excerpt"> {
    const given = this.#given.findLast((one) => isAbove(one.path, path));
    if (given !== undefined) return { where: given.name };
    const preset = this.of(path);
    if (preset.kind === "preset") return { where: preset.name };
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

  /**
   * The same, where `values` stand in place of the schema's defaults: what somebody has set stays. They are trusted.
   *
   * @param name of where they are from.
   */
  withPresets(values: Partial<Value>, name: string): SectionConfig<Value> {
    const unset = Object.entries(values).filter(([key]) => this.sourceOf([key]).kind === "default");
    const value = { ...this.value, ...Object.fromEntries(unset) };
    const origins = this.#origins.withPresets(
      unset.map(([key]) => key),
      name,
    );
    return new SectionConfig(value, origins, this.#outline);
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
