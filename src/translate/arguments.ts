/** Arguments of a call as an object, for formats that hold them so. */
import { isObject, type JsonObject } from "../stream/wire-words.ts";

/** @returns `{}` for no arguments (nothing, blanks, `null`), undefined for what is no JSON object. */
export function parseArguments(text: string): JsonObject | undefined {
  const said = text.trim();
  if (said === "" || said === "null") return {};
  try {
    const value: unknown = JSON.parse(said);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
