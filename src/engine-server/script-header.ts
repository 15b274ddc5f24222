/**
 * `x-manx-script`: what the body's field `manx` says, for clients whose bodies are checked on the way, such as those of an
 * SDK or of a translating gateway. The body comes before it.
 */
import { asObject, type Fields, invalid, optionalObject } from "./fields.ts";

const WHERE = "x-manx-script";

/** @throws MANX_REQUEST_INVALID for a header that is no JSON object. */
export function withScript(body: Fields, header: string | string[] | undefined): Fields {
  if (header === undefined) return body;
  let script: unknown;
  try {
    script = JSON.parse(String(header));
  } catch {
    throw invalid(WHERE, "a JSON object", header);
  }
  return { ...body, manx: { ...asObject(script, WHERE), ...optionalObject(body, "manx") } };
}
