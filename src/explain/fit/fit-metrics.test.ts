import { describe, expect, it } from "vitest";
import { PLANTED_CONFIG, plantedLog, plantedPage } from "../../../test/support/planted-engine.ts";
import { fitMetrics } from "./fit-metrics.ts";
import type { FittedDocument } from "./fitted-document.ts";
import { MetricsPage } from "./metrics-page.ts";
import { engineFacts, type MetricsWindow, metricsWindow } from "./metrics-window.ts";

const EACH = 200;
const log = plantedLog({ n: 600, perS: 2, seed: 5 }, 0.02);
/** After the first, second and third part of the log: the same engine looked at three times. */
const pages = [EACH, 2 * EACH, 3 * EACH].map(
  (n) => new MetricsPage(plantedPage(log.slice(0, n)), `look ${n}`),
);

function windows(count: number): MetricsWindow[] {
  return Array.from({ length: count }, (_, i) => {
    const us = log[(i + 2) * EACH - 1]!.atUs - log[(i + 1) * EACH - 1]!.atUs;
    return metricsWindow(pages[i], pages[i + 1]!, us / 1e6);
  });
}

function fitted(of: readonly MetricsWindow[]): Promise<FittedDocument> {
  return fitMetrics({
    windows: of,
    config: PLANTED_CONFIG,
    source: "test",
    notes: [],
    seed: 1,
    replaysMax: 14,
    startedMs: 0,
    command: "",
  });
}

describe("metricsWindow", () => {
  it("takes the difference of two looks, exact in counts and sums", () => {
    const [window] = windows(1);
    expect(window).toMatchObject({ requests: EACH });
    const part = log.slice(EACH, 2 * EACH);
    const promptTokens = part.reduce((sum, one) => sum + one.promptTokens, 0);
    expect(window!.promptTokensMean).toBeCloseTo(promptTokens / EACH, 6);
    expect(window!.ttft.sum).toBeCloseTo(part.reduce((sum, one) => sum + one.ttftUs, 0) / 1e6, 6);
    expect(window!.ttft.counts.at(-1)).toBe(EACH);
  });

  it("reads the state and the size of the KV memory, of vLLM and of SGLang", () => {
    expect(engineFacts(pages[0]!)).toEqual({
      engine: "vllm",
      kvTokens: 320_000,
      running: 3,
      waiting: 0,
      kvShare: 0.25,
    });
    const sglang = new MetricsPage(
      'sglang:num_running_reqs{model="m"} 7\nsglang:max_total_num_tokens 40960\nsglang:token_usage 0.5',
      "x",
    );
    expect(engineFacts(sglang)).toMatchObject({ engine: "sglang", kvTokens: 40_960, running: 7 });
  });

  it("adds up the series of several engines, and reads exemplars, timestamps and NaN", () => {
    const text = [
      'vllm:x_bucket{engine="0",le="1"} 2 # {trace_id="a"} 0.5',
      'vllm:x_bucket{engine="1",le="1"} 3 1700000000000',
      'vllm:x_bucket{engine="0",le="+Inf"} 4',
      'vllm:x_bucket{engine="1",le="+Inf"} 5',
      "vllm:x_sum NaN",
      "vllm:x_count 9",
    ].join("\n");
    const histogram = new MetricsPage(text, "x").histogram("vllm:x")!;
    expect(histogram).toMatchObject({
      ends: [1, Number.POSITIVE_INFINITY],
      counts: [5, 9],
      count: 9,
    });
  });

  it.each([
    ["", "a page of metrics is empty"],
    ["# only comments\n", "a page of metrics is empty"],
    ["<html>404</html>", "a page of metrics is not in Prometheus' text format"],
    ['{"error":"no"}', "a page of metrics is not in Prometheus' text format"],
    ["go_goroutines 7", "a page of metrics is not of an engine that Manx knows"],
    ["vllm:num_requests_running 0", "a page of metrics lacks a histogram"],
  ])("refuses %j", (text, what) => {
    const read = (): unknown => {
      const page = new MetricsPage(text, "page");
      engineFacts(page);
      return metricsWindow(undefined, page, 1);
    };
    expect(read).toThrow(expect.objectContaining({ code: "MANX_TABLE_FORMAT", what }));
  });

  it("refuses looks in the wrong order, and between which nothing was served", () => {
    expect(() => metricsWindow(pages[1], pages[0]!, 1)).toThrow(/have fallen/);
    expect(() => metricsWindow(pages[1], pages[1]!, 1)).toThrow(/nothing was served/);
  });
});

describe("fitMetrics", () => {
  it("meets planted means on an interval that it has not seen, far nearer than the data sheet", async () => {
    const document = await fitted(windows(2));
    const means = document.quantiles.filter(({ q }) => q === null);
    expect(means.map(({ figure }) => figure)).toEqual(["ttft", "itl", "e2e"]);
    for (const { figure, logUs, twinUs, sheetUs } of means) {
      // Of 200 requests a mean wait is decided by the few longest prompts; with 1,000 it is met within 3 %.
      const within = figure === "ttft" ? 0.35 : 0.1;
      expect(Math.abs(twinUs / logUs - 1), figure).toBeLessThan(within);
      expect(Math.abs(sheetUs / logUs - 1), figure).toBeGreaterThan(0.4);
    }
    expect(document.fittedOn.requests).toBe(400);
    expect(document.notes.join("; ")).toContain("predicted by a fit to those before it");
  });

  it("says that a scrape determines next to nothing but the price of a step", async () => {
    const document = await fitted(windows(1));
    expect(document.error).toEqual([]);
    expect(document.fittedOn.undetermined).toEqual(
      expect.arrayContaining(["prefillPairUs", "prefillContextTokenUs", "decodeSequenceUs"]),
    );
    expect(document.fittedOn.undetermined).not.toContain("stepUs");
    expect(document.notes.join("; ")).toContain("Poisson arrivals");
  });
});
