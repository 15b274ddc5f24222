/** Tool schemas as real ones are, about a kilobyte each: enums, patterns, nested objects, arrays of them, optional parts. */
import { Random } from "../../src/clock/index.ts";
import type { JsonSchema } from "../../src/runtime/index.ts";

export interface NamedToolSchema {
  readonly name: string;
  readonly schema: JsonSchema;
}

export function toolSchemas(count: number, seed = 1): readonly NamedToolSchema[] {
  const random = new Random(seed, "tool schemas");
  return Array.from({ length: count }, (_, i) => ({
    name: `tool_${i}`,
    schema: objectSchema(random, 4 + random.int(4), 1),
  }));
}

function objectSchema(random: Random, fields: number, depth: number): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (let i = 0; i < fields; i += 1) {
    properties[`field_${i}`] = {
      description: `What the field ${i} is for, and when to leave it out.`,
      ...fieldSchema(random, depth),
    };
  }
  const required = Object.keys(properties).filter((_, i) => i % 3 !== 2);
  return { type: "object", properties, required, additionalProperties: false };
}

function fieldSchema(random: Random, depth: number): JsonSchema {
  const kinds = depth > 0 ? 8 : 6;
  switch (random.int(kinds)) {
    case 0:
      return { type: "string", minLength: 1, maxLength: 200 };
    case 1:
      return { type: "string", enum: ["open", "closed", "pending", `state_${random.int(9)}`] };
    case 2:
      return { type: "string", pattern: "^[a-z][a-z0-9_-]{2,40}$" };
    case 3:
      return { type: "integer", minimum: 0, maximum: 1_000 };
    case 4:
      return { anyOf: [{ type: "number" }, { type: "null" }] };
    case 5:
      return { type: "array", items: { type: "string" }, minItems: 1, maxItems: 20 };
    case 6:
      return objectSchema(random, 3 + random.int(3), depth - 1);
    default:
      return { type: "array", items: objectSchema(random, 2 + random.int(3), depth - 1) };
  }
}

/** A value that fits, or one with a fault planted somewhere. */
export function toolArguments(schema: JsonSchema, random: Random, faultShare = 0): unknown {
  if (random.next() < faultShare) return random.next() < 0.5 ? { surprise: true } : 1.5;
  const one = schema as {
    readonly type?: string;
    readonly enum?: readonly unknown[];
    readonly anyOf?: readonly unknown[];
    readonly pattern?: string;
    readonly items?: JsonSchema;
    readonly required?: readonly string[];
    readonly properties?: Readonly<Record<string, JsonSchema>>;
  };
  if (one.enum !== undefined) return one.enum[0];
  if (one.anyOf !== undefined) return random.next() < 0.5 ? null : random.next();
  if (one.pattern !== undefined) return `a${random.int(1_000)}bc`;
  if (one.type === "integer") return random.int(1_001);
  if (one.type === "string") return "x".repeat(1 + random.int(20));
  if (one.type === "array") {
    const items = Array.from({ length: 1 + random.int(3) });
    return items.map(() => toolArguments(one.items!, random, faultShare));
  }
  const required = new Set(one.required);
  const fields = Object.entries(one.properties ?? {});
  return Object.fromEntries(
    fields
      .filter(([name]) => required.has(name) || random.next() < 0.5)
      .map(([name, field]) => [name, toolArguments(field, random, faultShare)]),
  );
}
