/**
 * Real vLLM 0.19 against the twin: two runs of 300 requests, per request. The short form; npm run bench:fidelity prints
 * every figure. One rule for both runs, with no constant fitted to either; docs/decisions says what was tried.
 */
import { describe, expect, it } from "vitest";
import { errorSummary, latencyTable, signedErrors } from "../support/latency-table.ts";
import {
  meanRequestError,
  type RunName,
  readGzipped,
  realRequests,
  runTwin,
  VLLM_RULE,
} from "../support/vllm-0.19-runs.ts";

const RUNS: readonly RunName[] = ["rtx4090", "rtxpro6000"];

describe.each(RUNS)("vLLM 0.19 on %s", (run) => {
  const real = realRequests(run);

  it("is read rightly: the publishers' fifteen figures come out of the log", () => {
    const published = readGzipped(`${run}/summary.txt.gz`)
      .text.split("\n")
      .flatMap((line) => /^(?:TTFT|TPOT|Latency) \w+ +([\d.]+)/.exec(line)?.[1] ?? []);
    const fromQueue = real.map((one) => ({
      ...one,
      ttftMs: one.ttftMs - one.takenInMs,
      e2eMs: one.e2eMs - one.takenInMs,
    }));
    const ours = Object.values(latencyTable(fromQueue)).flatMap((column) => Object.values(column));
    expect(ours.map((figure) => figure.toFixed(1))).toEqual(published);
  });

  it("is predicted within 3 % on average, 10 % at worst, and 3 % a request", () => {
    const twin = runTwin(run, VLLM_RULE, real);
    expect(twin.requests).toHaveLength(300);
    const { mean, max } = errorSummary(
      signedErrors(latencyTable(twin.requests), latencyTable(real)),
    );
    expect(mean).toBeLessThan(3);
    expect(max).toBeLessThan(10);
    expect(meanRequestError(twin.requests, real)).toBeLessThan(3);
  });

  it("is predicted from itself: at half the speed the errors are far beyond the limits", () => {
    const slow = runTwin(run, { ...VLLM_RULE, stepOverheadUs: 20_000 }, real);
    const { mean } = errorSummary(signedErrors(latencyTable(slow.requests), latencyTable(real)));
    expect(mean).toBeGreaterThan(20);
  });
});
