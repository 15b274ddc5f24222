import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { loadDocument } from "../../test/support/sample-result.ts";
import { makeProgram, runProgram } from "./program.ts";

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "manx-report-command-"));
  file = join(folder, "result.json");
  writeFileSync(file, JSON.stringify(loadDocument()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function manx(...argv: string[]): Promise<{ exit: number; out: string; err: string }> {
  const io = new FakeIo();
  const exit = await runProgram(makeProgram(io), argv, io);
  return { exit, out: io.out, err: io.err };
}

describe("manx report", () => {
  it.each([
    ["terminal", /^load: http:\/\/127\.0\.0\.1:8000\n/],
    ["json", /^\{\n {2}"schemaVersion": 1,\n/],
    ["csv", /^section,run,measure,/],
    ["markdown", /^## TTFT p99 was /],
    ["html", /^<!doctype html>/],
    ["junit", /^<\?xml version="1\.0"/],
  ])("draws a saved result as %s", async (format, beginning) => {
    const { exit, out, err } = await manx("report", file, "--format", format);
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toMatch(beginning);
  });

  it("draws the table if no format is named", async () => {
    const { out } = await manx("report", file);
    expect(out).toBe((await manx("report", file, "--format", "terminal")).out);
  });

  it("writes a file, and nothing to stdout", async () => {
    const path = join(folder, "report.html");
    const { exit, out } = await manx("report", file, "--format", "html", "--output", path);
    expect([exit, out]).toEqual([0, ""]);
    expect(readFileSync(path, "utf8")).toMatch(/^<!doctype html>/);
  });

  it("reads standard input", () => {
    const argv = ["--import", "tsx", "src/cli/main.ts", "report", "-", "--format", "csv"];
    const input = readFileSync(file, "utf8");
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
      input,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^section,run,measure,/);
  });
});

describe("manx report refuses", () => {
  it("a format that does not exist, with the nearest", async () => {
    const { exit, err } = await manx("report", file, "--format", "htm");
    expect(exit).toBe(2);
    expect(err).toMatch(/MANX_NAME_UNKNOWN.*\n.*\n.*expected one of terminal, json/);
    expect(err).toContain('did you mean "html"?');
  });

  it("a file that is not there, and a folder", async () => {
    const missing = await manx("report", join(folder, "none.json"));
    expect([missing.exit, missing.out]).toEqual([2, ""]);
    expect(missing.err).toMatch(/MANX_FILE_UNREADABLE/);
    expect((await manx("report", folder)).err).toMatch(/MANX_FILE_UNREADABLE.*\n.*\n.*EISDIR/);
  });

  it("a file that is no result, and leaves no output file behind", async () => {
    const path = join(folder, "not-written.html");
    const { exit, err } = await manx("report", "package.json", "--output", path);
    expect(exit).toBe(2);
    expect(err).toMatch(/MANX_RESULT_FORMAT.*\n {2}at package\.json, schemaVersion\n/);
    expect(existsSync(path)).toBe(false);
  });

  it("an output that cannot be written", async () => {
    const { exit, err } = await manx("report", file, "--output", join(folder, "no", "where"));
    expect(exit).toBe(2);
    expect(err).toMatch(/MANX_OUTPUT_UNWRITABLE/);
  });

  it("to run without a file", async () => {
    const { exit, err } = await manx("report");
    expect(exit).toBe(2);
    expect(err).toMatch(/MANX_FLAG_MISSING/);
  });
});
