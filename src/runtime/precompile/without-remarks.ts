/**
 * A schema without what is for people and models: descriptions, titles, defaults, examples. They decide nothing, and would
 * be half of the module. Only where a schema stands: a property may have the name `description`, and a constant any key.
 */
import type { JsonSchema } from "../input-check.ts";

const REMARKS = new Set(["$comment", "default", "deprecated", "description", "examples", "title"]);
/** Their values are schemas, or lists of them. */
const SCHEMAS = new Set([
  ...[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
  ],
  ...["not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems"],
  "unevaluatedProperties",
]);
/** Their values are tables of schemas by name. */
const TABLES = new Set([
  ...["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"],
]);

/** @param schema no more than some hundred levels deep. */
export function withoutRemarks(schema: JsonSchema): JsonSchema {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (REMARKS.has(key)) continue;
    if (SCHEMAS.has(key)) kept[key] = bare(value);
    else if (TABLES.has(key) && isRecord(value)) {
      kept[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, bare(one)]));
    } else kept[key] = value;
  }
  return kept;
}

function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  return isRecord(value) ? withoutRemarks(value) : value;
}

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
