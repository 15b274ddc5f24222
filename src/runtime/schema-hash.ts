/**
 * A name for a JSON Schema by what it says, whatever the order of its keys: its length and 53 bits. It tells a schema that
 * was changed from the one that was compiled; it is no proof against somebody who looks for two schemas of one name, who
 * would gain nothing but having an old schema of theirs checked.
 */
import { textHash } from "../policy/prompt-layout/text-hash.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { JsonSchema } from "./input-check.ts";

/** @throws TypeError for what is no JSON */
export function schemaHash(schema: JsonSchema): string {
  const text = canonicalJson(schema) ?? "";
  return `${textHash(text).toString(36)}-${text.length}`;
}
