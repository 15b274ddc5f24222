import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonEnd } from "./json-end.ts";

describe("JsonEnd", () => {
  it("is closed with the last character of an object or array, and not before", () => {
    const holders = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
    fc.assert(
      fc.property(holders, (value) => {
        const text = JSON.stringify(value);
        const end = new JsonEnd();
        const closed = [...text].map((character) => {
          end.push(character);
          return end.isClosed;
        });
        expect(closed.indexOf(true)).toBe(closed.length - 1);
      }),
    );
  });

  it("does not take brackets and quotes inside of strings for its own", () => {
    const end = new JsonEnd();
    end.push('{"a":"}\\"}\\\\');
    expect(end.isClosed).toBe(false);
    end.push('"}');
    expect(end.isClosed).toBe(true);
  });
});
