import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { ENGINE_DEFAULTS, fittedEngineOf, parseFittedCost } from "../../engine/index.ts";
import { fitRequestLog } from "./fit-request-log.ts";
import { fittedDocumentSchema, fittedJsonSchema } from "./fitted-document.ts";
import { readRequestLog } from "./read-log.ts";

const published = JSON.parse(readFileSync("schema/fitted-cost.schema.json", "utf8"));

function document(): Promise<unknown> {
  const rows = Array.from({ length: 12 }, (_, i) => `${i},100,${5 + i},40,${100 + 10 * i}`);
  const header = "arrival_s,prompt_tokens,output_tokens,ttft_ms,e2e_ms";
  return fitRequestLog({
    log: readRequestLog([header, ...rows].join("\n"), "log.csv"),
    config: ENGINE_DEFAULTS,
    limit: 100,
    replaysMax: 5,
    startedMs: 0,
    command: "manx engine fit --log log.csv",
  });
}

describe("schema/fitted-cost.schema.json", () => {
  it("is what the code says (npm run schema makes it)", () => {
    expect(published).toEqual(fittedJsonSchema());
  });

  it("takes what a fit writes, and so does whatever takes a cost", async () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(published);
    const made = JSON.parse(JSON.stringify(await document()));
    expect(validate(made), JSON.stringify(validate.errors)).toBe(true);
    expect(fittedDocumentSchema.parse(made)).toEqual(made);
    expect(validate({ ...made, schemaVersion: 2 })).toBe(false);
    const { coefficients, engine } = parseFittedCost(JSON.stringify(made), "cost.json");
    expect(coefficients).toEqual(made.coefficients);
    expect(fittedEngineOf(engine)).toMatchObject({
      model: "llama-3.1-8b",
      gpu: "h100-sxm",
      ranks: 1,
    });
  });

  it.each(["", "no JSON", "{}", '{"schemaVersion":1,"coefficients":{"stepUs":-1}}'])(
    "refuses %j with where it came from",
    (text) => {
      expect(() => parseFittedCost(text, "cost.json")).toThrow(
        expect.objectContaining({
          code: "MANX_TABLE_FORMAT",
          where: expect.stringContaining("cost.json"),
        }),
      );
    },
  );
});
