/**
 * Schemas with their tools' names, from the forms that people have: declarations for OpenAI, Anthropic or Gemini, a list of
 * an MCP server, tools of Manx, a plain table. What has no JSON Schema needs no compiling and is left out.
 */
import { ManxError } from "../../core/index.ts";
import type { JsonSchema } from "../input-check.ts";
import type { NamedSchema } from "./validator-module.ts";

const TOOLS_MAX = 10_000;

/** @param found a value as it was read or imported. @throws MANX_SCHEMA_INVALID */
export function namedSchemas(found: unknown, where: string): readonly NamedSchema[] {
  if (Array.isArray(found)) {
    if (found.length > TOOLS_MAX) throw unreadable(where, `${found.length} tools`);
    return found.flatMap((one, i) => fromDeclaration(one, `${where}[${i}]`));
  }
  if (!isRecord(found)) throw unreadable(where, found === null ? "null" : typeof found);
  for (const key of ["tools", "functionDeclarations"]) {
    if (Array.isArray(found[key])) return namedSchemas(found[key], `${where}.${key}`);
  }
  if (typeof found.name === "string") return fromDeclaration(found, where);
  return Object.entries(found).map(([name, schema]) => {
    return { name, schema: asSchema(schema, `${where}.${name}`) };
  });
}

function fromDeclaration(one: unknown, where: string): readonly NamedSchema[] {
  if (!isRecord(one)) throw unreadable(where, typeof one);
  if (Array.isArray(one.functionDeclarations)) return namedSchemas(one, where);
  const declared = isRecord(one.function) ? one.function : one;
  const { name } = declared;
  if (typeof name !== "string" || name === "") throw unreadable(where, "no name");
  const schema =
    declared.parameters ??
    declared.parametersJsonSchema ??
    declared.input_schema ??
    declared.inputSchema ??
    declared.input;
  // A tool run by the provider, a function, a schema of zod: nothing to compile.
  if (schema === undefined || typeof schema === "function") return [];
  if (isRecord(schema) && "~standard" in schema) return [];
  return [{ name, schema: asSchema(schema, `${where} (${name})`) }];
}

function asSchema(value: unknown, where: string): JsonSchema {
  if (isRecord(value)) return value;
  throw unreadable(where, Array.isArray(value) ? "a list" : String(value));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unreadable(where: string, got: string): ManxError {
  return new ManxError("MANX_SCHEMA_INVALID", {
    what: "no tools that can be read",
    where,
    expected: "tool declarations with a name and a JSON Schema, or a table of schemas by name",
    got,
    hint: "give the tools as for OpenAI, Anthropic, Gemini or MCP, or {name: schema}",
  });
}
