import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonSealer } from "./json-sealer.ts";

function sealed(...pieces: readonly string[]): JsonSealer {
  const sealer = new JsonSealer();
  for (const piece of pieces) sealer.push(piece);
  return sealer;
}

function cutAt(text: string, cuts: readonly number[]): string[] {
  const ends = [...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return ends.map((end, i) => text.slice(i === 0 ? 0 : ends[i - 1], end));
}

const holder = fc.oneof(
  fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()),
  fc.array(fc.jsonValue()),
);
const written = fc
  .tuple(holder, fc.constantFrom(undefined, 1, "\t"))
  .map(([value, space]) => JSON.stringify(value, null, space));

/** Whether `part` may become `whole` by more text. */
function growsInto(part: unknown, whole: unknown): boolean {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part);
  if (Array.isArray(part)) {
    if (!Array.isArray(whole)) return false;
    return part.every((one, i) => growsInto(one, whole[i]));
  }
  if (typeof part !== "object" || part === null) return Object.is(part, whole);
  return Object.entries(part).every(([key, one]) =>
    growsInto(one, (whole as Record<string, unknown>)[key]),
  );
}

describe("JsonSealer", () => {
  it("is closed with the last character, holds what JSON.parse makes, at any cuts", () => {
    fc.assert(
      fc.property(written, fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
        const sealer = new JsonSealer();
        const pieces = cutAt(text, cuts);
        for (const [i, piece] of pieces.entries()) {
          expect(sealer.isClosed && pieces.slice(i).join("") !== "").toBe(false);
          sealer.push(piece);
        }
        expect(sealer.isClosed).toBe(true);
        expect(sealer.value).toEqual(JSON.parse(text));
        expect(sealer.problem).toBeNull();
      }),
    );
  });

  it("shows at every prefix what the whole text will bear out, and no half character", () => {
    fc.assert(
      fc.property(written, (text) => {
        const whole = JSON.parse(text);
        const sealer = new JsonSealer();
        for (let i = 0; i < text.length; i += 1) {
          sealer.push(text[i]!);
          expect(sealer.problem).toBeNull();
          expect(growsInto(sealer.value, whole)).toBe(true);
          const fields = sealer.sealedFields();
          if (!Array.isArray(whole)) expect(whole).toMatchObject(fields);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("takes a text exactly if JSON.parse does", () => {
    const alphabet = [...'{}[]:,"\\ \n01-+.eEtrufalsn\u0001'];
    const soup = fc.array(fc.constantFrom(...alphabet), { maxLength: 12 });
    const damaged = fc
      .tuple(written, fc.nat(), fc.constantFrom(...alphabet, ""))
      .map(([text, at, by]) => {
        const place = at % text.length;
        return text.slice(0, place) + by + text.slice(place + 1);
      });
    fc.assert(
      fc.property(
        fc.oneof(
          soup.map((parts) => `{${parts.join("")}`),
          damaged,
        ),
        (text) => {
          const sealer = sealed(text);
          expect(sealer.isClosed).toBe(parsesToHolder(text));
          if (sealer.isClosed) expect(sealer.value).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it("seals a field with the end of its value, not before", () => {
    const sealer = sealed('{"query":"a');
    expect(sealer.isSealed("query")).toBe(false);
    sealer.push('b"');
    expect(sealer.isSealed("query")).toBe(true);
    sealer.push(',"n":12');
    expect(sealer.isSealed("n")).toBe(false);
    sealer.push(',"deep":{"query":1,"x":[');
    expect(sealer.isSealed("n")).toBe(true);
    expect(sealer.isSealed("deep")).toBe(false);
    expect(sealer.sealedFields()).toEqual({ query: "ab", n: 12 });
    sealer.push("]}}");
    expect(sealer.isSealed("deep")).toBe(true);
    expect(sealer.hasDuplicates).toBe(false);
  });

  it("tells that a key came twice, and keeps the last as JSON.parse does", () => {
    const sealer = sealed('{"a":1,"a":2}');
    expect(sealer.hasDuplicates).toBe(true);
    expect(sealer.value).toEqual({ a: 2 });
  });

  it("keeps __proto__ a field like any other", () => {
    const { value } = sealed('{"__proto__":{"x":1}}');
    expect(Object.hasOwn(value as object, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each([
    ["", null],
    ["null", "no object"],
    ["[1]]", "text after the end"],
    ['{"a":1}{"a":2}', "text after the end"],
    ["{a:1}", "a key without quotes"],
    ['{"a"1}', "a key without a colon"],
    ['{"a":1 2}', "a value that is followed by neither"],
    ['{"a":01}', "a number"],
    ['{"a":nope}', "a value that JSON does not have"],
    ['{"a":"\\x"}', "an escape"],
    ['{"a":"\\u00g0"}', "hexadecimal"],
    ['{"a":"\n"}', "a control character"],
    ["[".repeat(600), "nested too deeply"],
  ])("says what is wrong with %s", (text, problem) => {
    const { problem: found, isClosed } = sealed(text);
    expect(isClosed).toBe(false);
    if (problem === null) expect(found).toBeNull();
    else expect(found).toContain(problem);
  });
});

function parsesToHolder(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object" && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}
