/**
 * Prints `passed failed skipped` from vitest's JSON report, for .ci/run. A file that could not be loaded has no tests in
 * the report; it counts as one that failed. Plain JavaScript, since it also has to run when the tool chain is broken.
 */
import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const unloaded = report.testResults.filter(
  (file) =>
    file.status === "failed" && !file.assertionResults.some((one) => one.status === "failed"),
);
const skipped = report.numPendingTests + report.numTodoTests;
process.stdout.write(
  `${report.numPassedTests} ${report.numFailedTests + unloaded.length} ${skipped}\n`,
);
