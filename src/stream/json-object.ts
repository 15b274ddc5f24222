/** Reading fields of JSON that may be anything. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns the text, or "" for what is absent, null, empty or no text: on these wires all mean "nothing here". */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
