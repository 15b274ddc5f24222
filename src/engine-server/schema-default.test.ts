import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { jsonOfSchema } from "./schema-default.ts";

describe("jsonOfSchema", () => {
  it.each([
    {
      type: "object",
      properties: {
        city: { type: "string" },
        unit: { enum: ["c", "f"] },
        days: { type: ["integer", "null"], minimum: 3 },
        tags: { type: "array", items: { type: "string" } },
        place: { anyOf: [{ type: "object", properties: {}, required: [] }, { type: "null" }] },
        kind: { const: "daily" },
        loud: { type: "boolean" },
        note: { type: "string", default: "none" },
        extra: { type: "number" },
      },
      required: ["city", "unit", "days", "tags", "place", "kind", "loud", "note"],
      additionalProperties: false,
    },
    { type: "null" },
    { type: "array" },
  ])("makes a value that the schema accepts (%#)", (schema) => {
    const validate = new Ajv({ strict: false }).compile(schema);
    validate(JSON.parse(jsonOfSchema(schema)));
    expect(validate.errors).toBeNull();
  });

  it("gives an empty object for no schema, and comes back from one without end", () => {
    expect([jsonOfSchema(undefined), jsonOfSchema("x"), jsonOfSchema(null)]).toEqual([
      "{}",
      "{}",
      "{}",
    ]);
    const endless: Record<string, unknown> = { type: "object", required: ["a"] };
    endless.properties = { a: endless };
    expect(JSON.parse(jsonOfSchema(endless))).toHaveProperty("a.a.a");
  });
});
