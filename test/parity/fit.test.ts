/** A fit to a real engine's log, judged on requests that it has not seen. The whole of it: npm run bench:fit */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { ENGINE_DEFAULTS } from "../../src/engine/index.ts";
import { fitLog } from "../../src/explain/fit/fit-log.ts";
import { readRequestLog } from "../../src/explain/fit/read-log.ts";

it("predicts a real vLLM 0.19 on requests unseen, from the data sheet of another GPU", async () => {
  const path = new URL("../../data/vllm-0.19-runs/rtxpro6000/requests.jsonl.gz", import.meta.url);
  const log = readRequestLog(gunzipSync(readFileSync(path)).toString("utf8"), "rtxpro6000");
  expect(log).toMatchObject({ format: "jsonl", rows: 300, setAside: 0, failed: 0 });
  const fit = await fitLog({
    requests: log.requests,
    config: {
      ...ENGINE_DEFAULTS,
      gpu: "a100-80gb-sxm",
      sequencesMax: 128,
      kvTokens: 36_577 * 16,
      contextMax: 32_768,
      ahead: true,
      admission: "step",
    },
    replaysMax: 8,
  });
  const median = Object.fromEntries(
    fit.error.map(({ figure, medianPercent }) => [figure, medianPercent]),
  );
  expect(fit.error.every(({ n }) => n === 300)).toBe(true);
  expect(median.e2e).toBeLessThan(2);
  expect(median.tpot).toBeLessThan(3);
  expect(median.ttft).toBeLessThan(5);
  // The same twin with the sheet's own prices is off by more than half.
  expect(fit.sheetError.find(({ figure }) => figure === "e2e")!.medianPercent).toBeGreaterThan(50);
}, 120_000);
