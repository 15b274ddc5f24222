/** The JSON Schema of the whole file, for editors (`$schema`) and for whoever writes configurations by machine. */
import type { z } from "zod";
import type { SectionName } from "./read-config.ts";
import { type JsonSchema, SchemaOutline } from "./schema-outline.ts";

export function configJsonSchema(
  sections: Readonly<Partial<Record<SectionName, z.ZodType>>>,
): JsonSchema {
  const properties: Record<string, unknown> = {
    $schema: { type: "string", description: "Where this schema is; for editors." },
  };
  for (const [name, schema] of Object.entries(sections)) {
    const { $schema: _, ...rest } = new SchemaOutline(schema).json;
    properties[name] = rest;
  }
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://manx.invalid/config.schema.json",
    title: "manx.config.jsonc",
    type: "object",
    properties,
    additionalProperties: false,
  };
}
