/** Writes the published JSON Schemas of the documents that Manx writes and of the file that it reads: `npm run schema`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileJsonSchema } from "../src/cli/config-sections.ts";
import { fittedJsonSchema } from "../src/explain/index.ts";
import { resultJsonSchema } from "../src/load/result-document.ts";
import { turnJsonSchema } from "../src/trace/document/index.ts";

mkdirSync("schema", { recursive: true });
for (const [name, schema] of [
  ["result", resultJsonSchema()],
  ["fitted-cost", fittedJsonSchema()],
  ["turn", turnJsonSchema()],
  ["config", await fileJsonSchema()],
] as const) {
  writeFileSync(`schema/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`);
}
