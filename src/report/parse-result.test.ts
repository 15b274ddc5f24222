import { describe, expect, it } from "vitest";
import { emptyDocument, ladderDocument, loadDocument } from "../../test/support/sample-result.ts";
import { isManxError, type ManxError } from "../core/index.ts";
import { parseResult } from "./parse-result.ts";

function refusal(value: unknown): ManxError {
  try {
    parseResult(typeof value === "string" ? value : JSON.stringify(value), "result.json");
  } catch (thrown) {
    if (isManxError(thrown)) return thrown;
    throw thrown;
  }
  throw new Error("it was taken");
}

/** The load document with one change to the histogram of TTFT. */
function withHistogram(change: Record<string, unknown>): unknown {
  const document = loadDocument();
  Object.assign(document.runs[0]!.metrics.ttftUs!.histogram, change);
  return document;
}

it("takes what a run wrote", () => {
  for (const document of [loadDocument(), ladderDocument(), emptyDocument()]) {
    expect(parseResult(JSON.stringify(document), "x")).toEqual(document);
  }
});

describe("a file that is no result", () => {
  it.each(["", "  \n", "{", "[1,", "result", '{"a":1}{"b":2}'])("%j is refused as such", (text) => {
    const error = refusal(text);
    expect(error.code).toBe("MANX_RESULT_FORMAT");
    expect(error.where).toBe("result.json");
    expect(error.got).toMatch(/^(nothing|.*JSON.*)$/);
  });

  it.each([
    ["of a newer version", { schemaVersion: 2 }, /newer Manx/, "2", /update Manx/],
    ["of an older version", { schemaVersion: 0 }, /not a result/, "0", /--json/],
    ["with a version in words", { schemaVersion: "1" }, /not a result/, '"1"', /--json/],
    ["of something else", { name: "manx" }, /not a result/, "none", /--json/],
    ["a list", [1, 2], /not a result/, "none", /--json/],
    ["null", null, /not a result/, "none", /--json/],
  ])("%s", (_, value, what, got, hint) => {
    const error = refusal(value);
    expect(error.code).toBe("MANX_RESULT_FORMAT");
    expect(error.exit).toBe(2);
    expect(error.message).toMatch(what);
    expect(error.where).toBe("result.json, schemaVersion");
    expect([error.expected, error.got]).toEqual(["1", got]);
    expect(error.hint).toMatch(hint);
  });

  it("is told which fields are wrong, three of them at most", () => {
    const { runs, kind, notes, ...rest } = loadDocument();
    const error = refusal({ ...rest, runs: [{ ...runs[0], world: "real", seed: -1 }] });
    expect(error.got).toMatch(/kind: .*; runs\.0\.world: .*; runs\.0\.seed: .*; and 1 more$/);
    expect([kind, notes.length]).toEqual(["load", 1]);
  });
});

describe("a histogram that cannot be read back", () => {
  it.each([
    ["counts that do not add up to n", { n: 589 }],
    ["buckets without an end", { buckets: [2 ** 40, 588] }],
    ["a fineness of another version", { subBits: 7 }],
    ["samples and no greatest", { max: null }],
  ])("with %s is refused by its place", (_, change) => {
    const error = refusal(withHistogram(change));
    expect(error.code).toBe("MANX_RESULT_FORMAT");
    expect(error.where).toBe("result.json, runs.0.metrics.ttftUs.histogram");
  });
});
