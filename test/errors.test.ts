/** The error table, its page and its tests agree: each code is documented, raised by code and provoked by a test. */
import { describe, expect, it } from "vitest";
import { errorsPage } from "../scripts/errors-page.ts";
import { ERROR_TABLE, type ErrorCode, ManxError, renderError } from "../src/core/index.ts";
import { readMarkdown } from "./support/markdown.ts";
import { projectFiles, readText } from "./support/source-tree.ts";

/** Codes that no test provokes yet. Only ever shorter: what is provoked has to leave. */
const UNPROVOKED: readonly ErrorCode[] = [];

const codes = Object.keys(ERROR_TABLE) as ErrorCode[];
const sources = projectFiles("src").concat(projectFiles("test"));
const TABLE_FILES = ["src/core/error-table.ts", "test/errors.test.ts"];

/** Codes in one of the files that `pattern` finds. */
function codesIn(paths: readonly string[], pattern: RegExp): Set<string> {
  const found = new Set<string>();
  for (const path of paths) {
    if (TABLE_FILES.includes(path) || !path.endsWith(".ts")) continue;
    for (const [, code] of readText(path).matchAll(pattern)) found.add(code!);
  }
  return found;
}

describe("docs/errors.md", () => {
  it("is what the table makes (else: npm run docs)", () => {
    expect(readText("docs/errors.md")).toBe(errorsPage());
  });

  it("has an anchor for each code", () => {
    const { anchors } = readMarkdown(readText("docs/errors.md"));
    expect(codes.filter((code) => !anchors.has(code.toLowerCase()))).toEqual([]);
  });
});

describe("each code", () => {
  it("is raised somewhere", () => {
    const raised = codesIn(
      sources.filter((path) => !path.endsWith(".test.ts")),
      /"(MANX_[A-Z_]+)"/g,
    );
    expect(codes.filter((code) => !raised.has(code))).toEqual([]);
  });

  it("is provoked by a test", () => {
    const provoked = codesIn(
      sources.filter((path) => path.endsWith(".test.ts")),
      /\b(MANX_[A-Z_]+)\b/g,
    );
    expect(codes.filter((code) => !provoked.has(code))).toEqual([...UNPROVOKED]);
  });

  it("says what is wrong and what to try, in one line each and without a full stop", () => {
    for (const code of codes) {
      const { what, hint } = { what: ERROR_TABLE[code].summary, hint: ERROR_TABLE[code].hint };
      for (const text of [what, hint]) expect(text, code).toMatch(/^\S.*[^\s.]$/);
      expect(renderError(new ManxError(code)).split("\n"), code).toHaveLength(2);
    }
  });
});
