import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAULT_KINDS } from "./fault.ts";
import { parseFault, parseFaultHeader, parseFaultShare } from "./fault-schema.ts";

describe("a fault as written", () => {
  it.each(FAULT_KINDS)("%s needs nothing but its kind", (kind) => {
    expect(parseFault({ kind }, "manx.fault").kind).toBe(kind);
    expect(parseFaultHeader(kind)).toEqual(parseFault({ kind }, "manx.fault"));
  });

  it("has its times in microseconds, and lasts until the client leaves if none is given", () => {
    const fault = parseFault({ kind: "stall", after: 5, for: "1.5s", pings: "20ms" }, "f");
    expect(fault).toEqual({ kind: "stall", after: 5, forUs: 1_500_000, pingUs: 20_000 });
    expect(parseFault({ kind: "stall" }, "f")).toMatchObject({ after: 1, forUs: Infinity });
    expect(parseFault({ kind: 529, retry: "2s", form: "date" }, "f")).toEqual({
      kind: "529",
      retryUs: 2_000_000,
      form: "date",
    });
  });

  it("says the same in a header as in JSON", () => {
    const written = fc.record({
      kind: fc.constant("cut"),
      after: fc.nat({ max: 1_000_000 }),
      how: fc.constantFrom("fin", "rst", "end"),
    });
    fc.assert(
      fc.property(written, (fault) => {
        const { kind, after, how } = fault;
        const parsed = parseFault(fault, "f");
        expect(parseFaultHeader(` ${kind} ;after= ${after};; how=${how}; `)).toEqual(parsed);
        expect(parseFaultHeader(JSON.stringify(fault))).toEqual(parsed);
      }),
    );
  });

  it.each([
    [{ kind: "stal" }, 'f.kind: one of stall, slow-headers, … did you mean "stall"?'],
    [{ kind: "meteor" }, "f.kind: one of stall, slow-headers, …"],
    [{}, "f.kind: one of stall, slow-headers, …"],
    [{ kind: "stall", foor: "1s" }, 'f.foor: one of kind, after, for, pings did you mean "for"?'],
    [{ kind: "429", after: 3 }, "f.after: one of kind, retry, form"],
    [{ kind: "stall", after: -1 }, "f.after: a number from 0"],
    [{ kind: "stall", after: "2" }, "f.after: a number"],
    [{ kind: "stall", after: 1.5 }, "f.after: a whole number"],
    [{ kind: "stall", for: "10" }, 'f.for: a duration such as "800ms"'],
    [{ kind: "stall", for: "10 parsecs" }, 'f.for: a duration such as "800ms"'],
    [{ kind: "stall", for: 10 }, "f.for: a text"],
    [{ kind: "stall", for: "2h" }, "f.for: "],
    [{ kind: "stall", pings: "1us" }, 'f.pings: at least "1ms"'],
    [{ kind: "cut", how: "axe" }, "f.how: one of fin, rst, end"],
    [{ kind: "error-in-stream", status: 404 }, "f.status: one of 429, 500, 503, 529"],
    ["stall", "f: an object"],
  ])("refuses %j and says what it should be", (value, said) => {
    const [where, rest = ""] = said.split(": ");
    const [expected = "", hint] = rest.split(" did ");
    let thrown: unknown;
    try {
      parseFault(value, "f");
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      where,
      expected: expect.stringContaining(expected.replace("…", "")),
    });
    if (hint !== undefined) expect(thrown).toMatchObject({ hint: `did ${hint}` });
  });

  it("never throws anything but an error of ours, whatever a header holds", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseFaultHeader(text);
        } catch (error) {
          expect(error).toMatchObject({
            code: expect.stringMatching(/^MANX_(REQUEST_INVALID|DURATION)$/),
          });
        }
      }),
    );
  });

  it("of all traffic has a share", () => {
    const { share, fault } = parseFaultShare({ kind: "hang", share: 0.25 }, "faults[0]");
    expect([share, fault]).toEqual([0.25, { kind: "hang" }]);
    for (const wrong of [undefined, -0.1, 1.1, "1", Number.NaN]) {
      expect(() => parseFaultShare({ kind: "hang", share: wrong }, "faults[0]")).toThrow(
        expect.objectContaining({ where: "faults[0].share" }),
      );
    }
  });
});
