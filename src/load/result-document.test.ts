import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { makeDocument } from "./load-document.ts";
import { resultJsonSchema, resultSchema } from "./result-document.ts";

const published = JSON.parse(readFileSync("schema/result.schema.json", "utf8"));

function document(): Record<string, unknown> {
  return makeDocument({
    kind: "load",
    clock: new SimClock(),
    startedMs: 1_700_000_000_000,
    command: "manx load",
    status: "complete",
    runs: [],
    next: "manx load --help",
  });
}

describe("schema/result.schema.json", () => {
  it("is what the code says (npm run schema makes it)", () => {
    expect(published).toEqual(resultJsonSchema());
  });

  it("is a valid schema, takes what Manx writes and refuses what it does not know", () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(published);
    expect(validate(document()), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...document(), schemaVersion: 2 })).toBe(false);
    expect(validate({ ...document(), runs: [{}] })).toBe(false);
    expect(validate({ ...document(), surprise: 1 })).toBe(false);
  });

  it("agrees with the validator in the code", () => {
    expect(resultSchema.safeParse(document()).success).toBe(true);
    expect(resultSchema.safeParse({ ...document(), id: 3 }).success).toBe(false);
  });
});
