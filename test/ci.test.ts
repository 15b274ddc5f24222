/** The count that .ci/run ends with cannot hide a failure. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./support/source-tree.ts";

/** What scripts/test-totals.mjs makes of a report's text. */
function totals(report: string): { status: number | null; out: string } {
  const folder = mkdtempSync(join(tmpdir(), "manx-"));
  try {
    const path = join(folder, "report.json");
    writeFileSync(path, report);
    const script = join(ROOT, "scripts/test-totals.mjs");
    const { status, stdout } = spawnSync(process.execPath, [script, path], { encoding: "utf8" });
    return { status, out: stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("test totals", () => {
  it("count tests, and a file that could not be loaded as one that failed", () => {
    const report = {
      numPassedTests: 7,
      numFailedTests: 1,
      numPendingTests: 2,
      numTodoTests: 1,
      testResults: [
        { status: "passed", assertionResults: [{ status: "passed" }] },
        { status: "failed", assertionResults: [{ status: "passed" }, { status: "failed" }] },
        { status: "failed", assertionResults: [] },
      ],
    };
    expect(totals(JSON.stringify(report))).toEqual({ status: 0, out: "7 2 3\n" });
  });

  it("fail on a report that is none, so that the run fails too", () => {
    for (const report of ["", "{", "{}"]) {
      const { status, out } = totals(report);
      expect([status === 0, out]).toEqual([false, ""]);
    }
  });
});
