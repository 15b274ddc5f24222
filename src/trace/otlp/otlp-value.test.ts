import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyValues, readValue, type WrittenValue } from "./otlp-value.ts";

const plain = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(fc.string(), { maxLength: 5 }),
);

describe("attributes of OTLP", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(plain, (value) => {
        const [pair] = keyValues({ one: value, none: undefined });
        // JSON knows one zero.
        const back = readValue(JSON.parse(JSON.stringify(pair!.value)));
        expect(back).toEqual(value === 0 ? 0 : value);
      }),
    );
  });

  it("have whole numbers as ints, but a time in seconds as a double, whole or not", () => {
    const values: Record<string, WrittenValue> = { count: 2, share: 0.5, seconds: { double: 2 } };
    expect(keyValues(values).map(({ value }) => value)).toEqual([
      { intValue: "2" },
      { doubleValue: 0.5 },
      { doubleValue: 2 },
    ]);
  });
});
