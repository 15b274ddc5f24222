/** Arguments of a call as they go back to the model: an object, whatever the model wrote. */
import type { ToolEnd } from "../../stream/index.ts";

export function argumentsOf({ argumentsText }: ToolEnd): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(argumentsText);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : {};
  } catch {
    // Its result tells the model that they could not be read.
    return {};
  }
}

/** The text itself where it can be read: written again it might be other bytes. */
export function argumentsTextOf(call: ToolEnd): string {
  return call.problem === null ? call.argumentsText : JSON.stringify(argumentsOf(call));
}
