/** A span in OTLP's JSON encoding: ids as hexadecimal digits, 64-bit numbers as texts (opentelemetry-proto, JSON mapping). */
export interface OtlpAttribute {
  readonly key: string;
  readonly value:
    | { readonly stringValue: string }
    | { readonly intValue: string }
    | { readonly doubleValue: number }
    | { readonly boolValue: boolean };
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code: number; readonly message?: string };
}

export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;
export const SPAN_STATUS = { unset: 0, error: 2 } as const;

/** Whole numbers become ints; a time in seconds is always a double, also where it happens to be whole. */
export type AttributeValue = string | number | boolean | { readonly double: number };

/** @param values undefined ones are left out. */
export function attributes(
  values: Readonly<Record<string, AttributeValue | undefined>>,
): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: AttributeValue): OtlpAttribute["value"] {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "object") return { doubleValue: value.double };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
