/**
 * A section's schema as plain JSON Schema, asked by path: which names are known there, which types a value may have, and
 * whether it is a secret. Plain JSON, since that is published too: what an editor offers is what is accepted.
 */
import { z } from "zod";
import type { ConfigPath } from "./config-path.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export class SchemaOutline {
  readonly json: JsonSchema;

  constructor(schema: z.ZodType) {
    // Of a value as it is written: before defaults are filled in.
    this.json = z.toJSONSchema(schema, { io: "input" }) as JsonSchema;
  }

  /** Known keys of the object at `path`; none for a list or a map with free names. */
  namesAt(path: ConfigPath): string[] {
    const names = this.#nodesAt(path).flatMap((node) => Object.keys(asSchema(node.properties)));
    return [...new Set(names)];
  }

  /** JSON Schema's own words: string, integer, number, boolean, object, array, null. */
  typesAt(path: ConfigPath): ReadonlySet<string> {
    const types = this.#nodesAt(path).flatMap((node) => {
      if (node.type !== undefined) return [node.type].flat();
      return "const" in node ? [typeof node.const] : [];
    });
    return new Set(types.map(String));
  }

  isKnown(path: ConfigPath): boolean {
    return this.#nodesAt(path).length > 0;
  }

  /** Marked with JSON Schema's `writeOnly`. */
  isSecret(path: ConfigPath): boolean {
    return this.#nodesAt(path).some((node) => node.writeOnly === true);
  }

  #nodesAt(path: ConfigPath): JsonSchema[] {
    let nodes = withAlternatives(this.json);
    for (const step of path) nodes = nodes.flatMap((node) => stepInto(node, step));
    return nodes;
  }
}

function stepInto(node: JsonSchema, step: string | number): JsonSchema[] {
  if (typeof step === "number") return withAlternatives(node.items);
  const properties = asSchema(node.properties);
  if (Object.hasOwn(properties, step)) return withAlternatives(properties[step]);
  return withAlternatives(node.additionalProperties);
}

/** The node itself and all that stands in its anyOf, oneOf and allOf, at any depth. */
function withAlternatives(value: unknown): JsonSchema[] {
  if (typeof value !== "object" || value === null) return [];
  const node = value as JsonSchema;
  const inner = [node.anyOf, node.oneOf, node.allOf].flatMap((list) =>
    Array.isArray(list) ? list.flatMap(withAlternatives) : [],
  );
  return [node, ...inner];
}

function asSchema(value: unknown): JsonSchema {
  return typeof value === "object" && value !== null ? (value as JsonSchema) : {};
}
