import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readEngineReport } from "./engine-report.ts";

const VLLM = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a{b},c=\\"}\\" d"} 7.0
vllm:num_requests_waiting{engine="0",model_name="m"} 3.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27000",num_gpu_blocks_override="None"} 1.0
vllm:e2e_request_latency_seconds_bucket{le="+Inf",model_name="m"} 12.0
process_start_time_seconds 1.7907e+09
`;

describe("readEngineReport", () => {
  it("reads vLLM's page", () => {
    expect(readEngineReport(VLLM)).toEqual({
      badLines: 0,
      report: { waiting: 3, running: 7, kvUse: 0.25, cacheTokens: 432_000, startedS: 1.7907e9 },
    });
  });

  it("adds the engines of a data-parallel server up, and averages their shares", () => {
    const page = [0, 1]
      .flatMap((engine) => [
        `vllm:num_requests_running{engine="${engine}"} ${engine + 1}`,
        `vllm:num_requests_waiting{engine="${engine}"} ${engine}`,
        `vllm:gpu_cache_usage_perc{engine="${engine}"} ${engine / 2}`,
        `vllm:cache_config_info{engine="${engine}",num_gpu_blocks="10",block_size="16"} 1`,
      ])
      .join("\r\n");
    expect(readEngineReport(page).report).toEqual({
      waiting: 1,
      running: 3,
      kvUse: 0.25,
      cacheTokens: 320,
    });
  });

  it("reads SGLang's page", () => {
    const page = `sglang:num_queue_reqs{model_name="m"} 4\nsglang:num_running_reqs 5 1790000000000
sglang:token_usage 0.5\nsglang:max_total_num_tokens 100000\n`;
    expect(readEngineReport(page).report).toEqual({
      waiting: 4,
      running: 5,
      kvUse: 0.5,
      cacheTokens: 100_000,
    });
  });

  it("counts lines that are none, and takes no nonsense for a number", () => {
    const bad = "<html>\nvllm:num_requests_waiting{x} abc\n{} 1\nvllm:num_requests_waiting\n";
    expect(readEngineReport(VLLM + bad)).toMatchObject({ badLines: 4, report: { waiting: 3 } });
    const odd = VLLM.replace(" 0.25", " NaN").replace('"27000"', '"None"').replace(" 3.0", " +Inf");
    expect(readEngineReport(odd).report).toBeUndefined();
    expect(readEngineReport(odd.replace("+Inf", "2")).report).toEqual({
      waiting: 2,
      running: 7,
      startedS: 1.7907e9,
    });
  });

  it("does not take another server's page for an engine's", () => {
    expect(readEngineReport("")).toEqual({ badLines: 0, report: undefined });
    expect(readEngineReport("process_start_time_seconds 5\nup 1\n").report).toBeUndefined();
  });

  it("bears any text", () => {
    const piece = fc.constantFrom(
      "vllm:num_requests_waiting",
      "{",
      "}",
      '"',
      " ",
      "1",
      "e9",
      "\n",
      "#",
      "=",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 40 }), (pieces) => {
        const { report, badLines } = readEngineReport(VLLM + pieces.join(""));
        expect(badLines).toBeLessThanOrEqual(pieces.join("").split("\n").length);
        expect(Object.values(report ?? {}).every(Number.isFinite)).toBe(true);
      }),
    );
  });
});
