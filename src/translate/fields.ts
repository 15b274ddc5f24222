/**
 * One JSON object of a request body, read field by field. A field of the wrong type is the caller's mistake and refused
 * with its path; `null` counts as absent, as it does on all three APIs. What no reader has asked for is noted as dropped,
 * so that a new field of an API is never lost in silence.
 */
import { ManxError } from "../core/index.ts";
import { isObject, type JsonObject } from "../stream/wire-words.ts";
import type { Notes } from "./notes.ts";

export class Fields {
  readonly path: string;
  readonly notes: Notes;
  readonly #object: JsonObject;
  readonly #read = new Set<string>();

  /** @throws MANX_REQUEST_INVALID if it is no object. */
  constructor(value: unknown, path: string, notes: Notes) {
    if (!isObject(value)) throw malformed(path || "body", "an object", value);
    this.#object = value;
    this.path = path;
    this.notes = notes;
  }

  at(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  raw(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }

  text(name: string): string | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === "string") return value;
    throw malformed(this.at(name), "a string", value);
  }

  textNeeded(name: string): string {
    return this.text(name) ?? this.#missing(name, "a string");
  }

  number(name: string): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw malformed(this.at(name), "a number", value);
  }

  /** A whole number ≥ 0. */
  count(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
    throw malformed(this.at(name), "a whole number", value);
  }

  flag(name: string): boolean | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw malformed(this.at(name), "true or false", value);
  }

  object(name: string): Fields | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : new Fields(value, this.at(name), this.notes);
  }

  /** A JSON object that is passed on as it is, such as a schema. */
  json(name: string): JsonObject | undefined {
    const value = this.raw(name);
    if (value === undefined || isObject(value)) return value;
    throw malformed(this.at(name), "an object", value);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.raw(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw malformed(this.at(name), "a list", value);
  }

  /** The objects of a list. */
  objects(name: string): readonly Fields[] {
    const list = this.list(name) ?? [];
    return list.map((one, i) => new Fields(one, `${this.at(name)}[${i}]`, this.notes));
  }

  /** Content that is one text or a list of parts. */
  textOrObjects(name: string): string | readonly Fields[] | undefined {
    const value = this.raw(name);
    return typeof value === "string" || value === undefined ? value : this.objects(name);
  }

  /** Read, and meant to have no effect on the other side. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  drop(name: string, reason: string): void {
    if (this.raw(name) !== undefined) this.notes.dropped(this.at(name), reason);
  }

  /** @throws MANX_TRANSLATE_FIELD if the field is there. */
  refuse(name: string, why: string): void {
    if (this.raw(name) !== undefined) throw untranslatable(this.at(name), why);
  }

  /** Notes every field that nobody has read. */
  dropRest(): void {
    for (const name of Object.keys(this.#object)) {
      if (this.#read.has(name) || (this.#object[name] ?? undefined) === undefined) continue;
      this.notes.dropped(this.at(name), "the other format has no such field");
    }
  }

  #missing(name: string, expected: string): never {
    throw malformed(this.at(name), expected, undefined);
  }
}

/** What has no equal in the other format, and without which the answer would not be the one that was asked for. */
export function untranslatable(where: string, why: string): ManxError {
  return new ManxError("MANX_TRANSLATE_FIELD", {
    what: `${where} cannot be translated: ${why}`,
    where,
  });
}

/** Tells the type of what it got, never its value, which may be a user's words. */
export function malformed(where: string, expected: string, got: unknown): ManxError {
  return new ManxError("MANX_REQUEST_INVALID", {
    what: `${where} is malformed`,
    where,
    expected,
    got: got === undefined ? "nothing" : nameOfType(got),
  });
}

function nameOfType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
