/** `AnyValue` of OTLP/JSON, both ways. */
import type { AttributeValue } from "../span.ts";

export type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } };

export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

/** Whole numbers become ints; a time in seconds is always a double, also where it happens to be whole. */
export type WrittenValue = AttributeValue | { readonly double: number };

function writtenValue(value: WrittenValue): AnyValue {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "number":
      // 64-bit integers are text in OTLP/JSON.
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    default:
      if ("double" in value) return { doubleValue: value.double };
      return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
  }
}

export function keyValue(key: string, value: WrittenValue): KeyValue {
  return { key, value: writtenValue(value) };
}

/** @param values undefined ones are left out. */
export function keyValues(values: Readonly<Record<string, WrittenValue | undefined>>): KeyValue[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [keyValue(key, value)],
  );
}

/** Elements of a list that are looked at. */
const LIST_MAX = 128;

/** @returns undefined for what has no value: an empty one, bytes, a number that is none. */
export function readValue(value: unknown): AttributeValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const any = value as Record<string, unknown>;
  const text = any.stringValue ?? any.string_value;
  if (typeof text === "string") return text;
  const bool = any.boolValue ?? any.bool_value;
  if (typeof bool === "boolean") return bool;
  const int = any.intValue ?? any.int_value;
  if (int !== undefined) return integer(int);
  const double = any.doubleValue ?? any.double_value;
  if (double !== undefined) return finite(double);
  const list = ((any.arrayValue ?? any.array_value) as { values?: unknown } | undefined)?.values;
  if (!Array.isArray(list)) return undefined;
  return list.slice(0, LIST_MAX).flatMap((one) => {
    const element = readValue(one);
    return element === undefined
      ? []
      : [typeof element === "object" ? element.join(",") : String(element)];
  });
}

/** A number as far as a double can hold it, else its digits. */
function integer(value: unknown): number | string | undefined {
  const text = String(value);
  if (!/^-?\d{1,20}$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

function finite(value: unknown): number | undefined {
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** A figure that may have come as text, as some exporters send token counts. */
export function figure(value: AttributeValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !/^-?\d+(\.\d+)?$/.test(value.trim())) return undefined;
  return Number(value);
}
