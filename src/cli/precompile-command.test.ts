import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { makeProgram, runProgram } from "./program.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "manx-precompile-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function saved(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

async function manx(...argv: string[]): Promise<{ exit: number; out: string; err: string }> {
  const io = new FakeIo();
  const exit = await runProgram(makeProgram(io), ["precompile", ...argv], io);
  return { exit, out: io.out, err: io.err };
}

const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };

describe("manx precompile", () => {
  it("writes a module that can be imported, and says in --check whether it is still right", async () => {
    const tools = saved("tools.json", [{ name: "search", input_schema: schema }]);
    const out = join(folder, "tools.validators.mjs");
    const stale = await manx(tools, "--out", out, "--check");
    expect([stale.exit, stale.out]).toEqual([3, ""]);
    expect(stale.err).toContain("MANX_VALIDATORS_STALE");
    const made = await manx(tools, "--out", out);
    expect(made).toEqual({ exit: 0, out: "", err: `1 schema compiled to ${out}\n` });
    const module = await import(/* @vite-ignore */ pathToFileURL(out).href);
    expect(module.validators[0].make()({ q: 1 })).toBe(false);
    expect((await manx(tools, "--out", out, "--check")).exit).toBe(0);
    saved("tools.json", [{ name: "search", input_schema: { ...schema, required: [] } }]);
    const before = readFileSync(out, "utf8");
    const changed = await manx(tools, "--out", out, "--check", "--json");
    expect(changed.exit).toBe(3);
    expect(JSON.parse(changed.out)).toMatchObject({ tools: [{ name: "search" }], stale: true });
    expect(readFileSync(out, "utf8")).toBe(before);
  });

  it("reads a folder of schemas and a module of tools", async () => {
    const schemas = join(folder, "schemas");
    mkdirSync(schemas);
    saved("schemas/search.schema.json", schema);
    saved("schemas/fetch.json", schema);
    saved("schemas/notes.txt", "no schema");
    const fromFolder = await manx(schemas, "--out", "-");
    expect([fromFolder.exit, fromFolder.err]).toEqual([0, "2 schemas compiled to -\n"]);
    expect(fromFolder.out).toMatch(/name: "fetch".*[\s\S]*name: "search"/);
    const code = `const schema = ${JSON.stringify(schema)};
      export const fetch = { name: "fetch", input: schema, run: () => 1 };
      export default [fetch, { name: "search", input: schema }, { name: "own", input: (x) => x }];
      export const other = 5;`;
    const fromModule = await manx(saved("tools.mjs", code), "--out", "-");
    expect(fromModule.out).toBe(fromFolder.out);
  });

  it("notes what is doubtful, and refuses it with --strict", async () => {
    const doubtful = { properties: { p: { type: "string", pattern: "^(a+)+$" } } };
    const file = saved("doubtful.json", { search: doubtful });
    const noted = await manx(file, "--out", "-");
    expect(noted.err).toContain('note: tool "search": pattern "^(a+)+$" may take very long');
    const strict = await manx(file, "--out", join(folder, "never.js"), "--strict");
    expect(strict.exit).toBe(2);
    expect(strict.err).toContain("MANX_SCHEMA_INVALID: 1 note on the schemas");
    expect(() => readFileSync(join(folder, "never.js"))).toThrow();
  });

  it.each([
    ["a file that is not there", () => join(folder, "none.json"), "MANX_FILE_UNREADABLE"],
    ["a module that is not there", () => join(folder, "none.js"), "MANX_FILE_UNREADABLE"],
    [
      "a module that throws",
      () => saved("bad.mjs", "throw new Error('x')"),
      "MANX_FILE_UNREADABLE",
    ],
    ["a module without tools", () => saved("no.mjs", "export const a = 1"), "MANX_SCHEMA_INVALID"],
    [
      "a module with two tools of one name",
      () =>
        saved(
          "two.mjs",
          'export const a = { name: "x", input: {} }, b = { name: "x", input: { type: "object" } }',
        ),
      "MANX_SCHEMA_INVALID",
    ],
    ["what is no JSON", () => saved("no.json", "{"), "MANX_SCHEMA_INVALID"],
    ["JSON without tools", () => saved("list.json", [1]), "MANX_SCHEMA_INVALID"],
    ["an invalid schema", () => saved("type.json", { a: { type: "x" } }), "MANX_SCHEMA_INVALID"],
    [
      "a schema somewhere else",
      () => saved("ref.json", { a: { $ref: "https://example.com/a.json" } }),
      "MANX_SCHEMA_INVALID",
    ],
  ])("refuses %s, and leaves the module as it was", async (_, source, code) => {
    const out = saved("kept.js", "before");
    const { exit, out: printed, err } = await manx(source(), "--out", out);
    expect([exit, printed]).toEqual([2, ""]);
    expect(err).toContain(code);
    expect(readFileSync(out, "utf8")).toBe("before");
  });

  it("says how to read a module in TypeScript where Node cannot", async () => {
    // As Node before 22.18 throws it; vitest would load the module itself.
    const code = 'throw Object.assign(new Error("x"), { code: "ERR_UNKNOWN_FILE_EXTENSION" });';
    const { exit, err } = await manx(saved("tools-in-ts.mjs", code), "--out", "-");
    expect(exit).toBe(2);
    expect(err).toMatch(/try: build it first, or run npx tsx .* precompile .*tools-in-ts\.mjs/);
  });

  it("refuses a path that cannot be written, and two things on stdout", async () => {
    const file = saved("fine.json", { search: schema });
    const nowhere = await manx(file, "--out", join(folder, "no", "such", "x.js"));
    expect(nowhere.exit).toBe(2);
    expect(nowhere.err).toContain("MANX_OUTPUT_UNWRITABLE");
    for (const flag of ["--json", "--check"]) {
      expect((await manx(file, "--out", "-", flag)).err).toContain("MANX_FLAG_VALUE");
    }
    expect((await manx(file)).err).toContain("MANX_FLAG_MISSING");
  });
});
