/** Writes the published JSON Schema of the result document: `npm run schema`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { resultJsonSchema } from "../src/load/result-document.ts";

mkdirSync("schema", { recursive: true });
writeFileSync("schema/result.schema.json", `${JSON.stringify(resultJsonSchema(), null, 2)}\n`);
