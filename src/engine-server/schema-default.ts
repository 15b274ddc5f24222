/**
 * The smallest value that a JSON schema plausibly accepts: its default, its first allowed value, or an empty one of its
 * type with the required fields filled in. For answers that must parse; it is no full implementation of JSON Schema, and
 * constraints such as lengths, patterns and references are not looked at.
 */
const DEPTH_MAX = 32;

/** @returns JSON text; `{}` for a schema that is missing or no object. */
export function jsonOfSchema(schema: unknown): string {
  return JSON.stringify(sampleOf(schema, 0));
}

function sampleOf(schema: unknown, depth: number): unknown {
  if (typeof schema !== "object" || schema === null || depth > DEPTH_MAX) return {};
  const {
    default: given,
    const: only,
    enum: allowed,
    anyOf,
    oneOf,
    allOf,
    type,
    minimum,
  } = schema as Record<string, unknown>;
  if (given !== undefined) return given;
  if (only !== undefined) return only;
  for (const list of [allowed, anyOf, oneOf, allOf]) {
    if (!Array.isArray(list) || list.length === 0) continue;
    return list === allowed ? list[0] : sampleOf(list[0], depth + 1);
  }
  switch (Array.isArray(type) ? type[0] : type) {
    case "string":
      return "";
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "null":
      return null;
    default:
      return objectOf(schema as Record<string, unknown>, depth);
  }
}

function objectOf(schema: Record<string, unknown>, depth: number): Record<string, unknown> {
  const { properties, required } = schema;
  if (typeof properties !== "object" || properties === null || !Array.isArray(required)) return {};
  const fields = properties as Record<string, unknown>;
  const names = required.filter((name) => typeof name === "string" && Object.hasOwn(fields, name));
  // From entries, not by assignment: a field may be called `__proto__`.
  return Object.fromEntries(names.map((name) => [name, sampleOf(fields[name], depth + 1)]));
}
