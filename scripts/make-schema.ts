/** Writes the published JSON Schemas of the documents that Manx writes: `npm run schema`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { fittedJsonSchema } from "../src/explain/index.ts";
import { resultJsonSchema } from "../src/load/result-document.ts";

mkdirSync("schema", { recursive: true });
for (const [name, schema] of [
  ["result", resultJsonSchema()],
  ["fitted-cost", fittedJsonSchema()],
] as const) {
  writeFileSync(`schema/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`);
}
