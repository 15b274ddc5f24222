/**
 * The text of a module of validators. It imports nothing, is the same bytes for the same schemas, and costs its reading
 * alone until a validator is used: each is a function that is run on first use.
 */
import { ManxError } from "../../core/index.ts";
import type { JsonSchema } from "../input-check.ts";
import { schemaHash } from "../schema-hash.ts";
import { VALIDATORS_FORMAT } from "../validator-set.ts";
import { compileSchema } from "./compile-schema.ts";

export interface NamedSchema {
  readonly name: string;
  readonly schema: JsonSchema;
}

export interface PrecompiledModule {
  readonly text: string;
  readonly tools: ReadonlyArray<{ readonly name: string; readonly hash: string }>;
  /** By tool. */
  readonly notes: ReadonlyArray<{ readonly tool: string; readonly note: string }>;
}

/** What ajv's code asks for, in our own words, so that nothing has to be imported. */
const HELPERS: Readonly<Record<string, string>> = {
  // Length in code points, not in UTF-16 units.
  "ajv/dist/runtime/ucs2length": `(text) => {
  let length = text.length;
  for (let i = 0; i + 1 < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    if (next >= 0xdc00 && next <= 0xdfff) {
      length -= 1;
      i += 1;
    }
  }
  return length;
}`,
  // Equality of two JSON values.
  "ajv/dist/runtime/equal": `(left, right) => {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || !left || !right) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  const equal = helpers["ajv/dist/runtime/equal"].default;
  return keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key]));
}`,
};

/** @throws MANX_SCHEMA_INVALID, naming the tool */
export function validatorModule(schemas: readonly NamedSchema[]): PrecompiledModule {
  const sorted = schemas.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  const used = new Set<string>();
  const notes: { tool: string; note: string }[] = [];
  const tools: { name: string; hash: string }[] = [];
  const entries: string[] = [];
  for (const { name, schema } of sorted) {
    const where = `tool ${JSON.stringify(name)}`;
    if (tools.at(-1)?.name === name) {
      throw new ManxError("MANX_SCHEMA_INVALID", { what: "two tools of one name", where });
    }
    const { code, helpers, notes: own } = compileSchema(schema, where);
    for (const helper of helpers) used.add(knownHelper(helper, where));
    for (const note of own) notes.push({ tool: name, note });
    const hash = schemaHash(schema);
    tools.push({ name, hash });
    entries.push(entryText(name, hash, code));
  }
  return { text: moduleText([...used].sort(), entries), tools, notes };
}

function entryText(name: string, hash: string, code: string): string {
  const key = `name: ${JSON.stringify(name)}, hash: ${JSON.stringify(hash)}`;
  const body = `const module = { exports: {} };\n${code}\nreturn module.exports;`;
  return `{ ${key}, make: () => {\n${body}\n} },`;
}

function moduleText(helpers: readonly string[], entries: readonly string[]): string {
  const table = helpers.map((name) => `${JSON.stringify(name)}: { default: ${HELPERS[name]} },`);
  return [
    "// Made by manx precompile; do not edit: run it again when a schema has changed.",
    "// @ts-nocheck",
    "/* eslint-disable */",
    "// biome-ignore-all lint: generated",
    `export const format = ${JSON.stringify(VALIDATORS_FORMAT)};`,
    `const helpers = {\n${table.join("\n")}\n};`,
    "const require = (name) => helpers[name];",
    "const add = (errors, error) => (errors === null ? [error] : (errors.push(error), errors));",
    `export const validators = [\n${entries.join("\n")}\n];`,
    "",
  ].join("\n");
}

function knownHelper(name: string, where: string): string {
  if (Object.hasOwn(HELPERS, name)) return name;
  throw new ManxError("MANX_SCHEMA_INVALID", {
    what: "a schema that needs what compiled validators do not have",
    where,
    got: name,
  });
}
