/**
 * Whether OpenAI's strict mode takes a schema: every object closed, every property required. Anthropic's structured output
 * also takes optional properties, so a schema from there is made strict only where that refuses nothing.
 */
import { isObject } from "../stream/wire-words.ts";

/** A schema that is nested deeper is not looked into, and not strict. */
const DEPTH_MAX = 64;

export function isStrictSchema(schema: unknown, depth = 0): boolean {
  if (depth > DEPTH_MAX) return false;
  if (Array.isArray(schema)) return schema.every((one) => isStrictSchema(one, depth + 1));
  if (!isObject(schema)) return true;
  if (isObject(schema.properties)) {
    const { required, additionalProperties } = schema;
    const names = Object.keys(schema.properties);
    const isWhole = Array.isArray(required) && names.every((name) => required.includes(name));
    if (additionalProperties !== false || !isWhole) return false;
  }
  return Object.values(schema).every((one) => isStrictSchema(one, depth + 1));
}
