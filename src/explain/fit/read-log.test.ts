import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRequestLog } from "./read-log.ts";
import { tpotUsOf } from "./request-log.ts";

const CSV = "arrival_s,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n";

function codeOf(text: string): unknown {
  try {
    readRequestLog(text, "log");
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

describe("readRequestLog", () => {
  it("reads what vllm bench serve --save-detailed writes, failed requests counted apart", () => {
    const text = JSON.stringify({
      request_rate: 2,
      input_lens: [100, 200, 300],
      output_lens: [3, 0, 1],
      start_times: [1_000.5, 1_001, 1_000],
      ttfts: [0.05, 0, 0.08],
      itls: [[0.01, 0.02], [], []],
      errors: ["", "Connection reset", ""],
    });
    const log = readRequestLog(text, "run.json");
    expect(log).toMatchObject({
      format: "vllm-bench",
      rows: 3,
      failed: 1,
      setAside: 0,
      reordered: 1,
    });
    expect(log.requests).toEqual([
      {
        row: 3,
        atUs: 0,
        promptTokens: 300,
        outputTokens: 1,
        ttftUs: 80_000,
        e2eUs: 80_000,
        gapsUs: [],
      },
      {
        row: 1,
        atUs: 500_000,
        promptTokens: 100,
        outputTokens: 3,
        ttftUs: 50_000,
        e2eUs: 80_000,
        gapsUs: [10_000, 20_000],
      },
    ]);
    expect(tpotUsOf(log.requests[1]!)).toBe(15_000);
    expect(tpotUsOf(log.requests[0]!)).toBeUndefined();
  });

  it("needs start times, but not of requests that were all sent at once", () => {
    const one = { input_lens: [9], output_lens: [1], ttfts: [0.1], itls: [[]], errors: [""] };
    const burst = { ...one, request_rate: "inf", max_concurrency: null };
    expect(readRequestLog(JSON.stringify(burst), "x").requests[0]!.atUs).toBe(0);
    expect(codeOf(JSON.stringify({ ...burst, max_concurrency: 8 }))).toMatchObject({
      code: "MANX_TABLE_FORMAT",
      what: "a vLLM result has no start_times",
    });
    expect(codeOf(JSON.stringify({ ...burst, itls: undefined }))).toMatchObject({
      hint: "run vllm bench serve with --save-result --save-detailed",
    });
  });

  it("takes the unit from the end of a name, and seconds where there is none", () => {
    const texts = [
      `${CSV}2,10,5,40,80\n`,
      "timestamp,ContextTokens,GeneratedTokens,ttft,e2e_latency\n7,10,5,0.04,0.08\n",
      '{"atUs":5,"promptTokens":10,"outputTokens":5,"ttftUs":40000,"e2eUs":80000}\n',
      '[{"arrival_ts":1,"input_toks":10,"output_toks":5,"first_token_ts":1.04,"last_token_ts":1.08}]',
      'start_time,input_len,output_len,ttft_s,itl_ms\n1,10,5,0.04,"[10, 10, 10, 10]"\n',
      "TIMESTAMP,ContextTokens,GeneratedTokens,TTFT_ms,E2E_ms\n2026-01-01 00:00:00.1234567,10,5,40,80\n",
    ];
    for (const text of texts) {
      const [request] = readRequestLog(text, "log").requests;
      expect(request).toMatchObject({ atUs: 0, promptTokens: 10, outputTokens: 5 });
      expect([request!.ttftUs, request!.e2eUs], text).toEqual([40_000, 80_000]);
    }
  });

  it("keeps the fraction of a date that a Date would drop", () => {
    const rows = ["2026-01-01 00:00:00.0000004,1,1,1,1", "2026-01-01T00:00:01.2500000Z,1,1,1,1"];
    const log = readRequestLog(
      `timestamp,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n${rows.join("\n")}`,
      "x",
    );
    expect(log.requests[1]!.atUs).toBe(1_250_000);
  });

  it("aligns arrivals of a wall clock with tokens of a monotonic one", () => {
    const row = (arrival: number, queued: number, first: number): string =>
      JSON.stringify({
        arrival_time: 1.7e9 + arrival,
        queued_ts: 100 + queued,
        input_toks: 8,
        output_toks: 2,
        first_token_ts: 100 + first,
        last_token_ts: 100 + first + 0.5,
      });
    const log = readRequestLog([row(0, 0, 0.2), row(1, 1.05, 1.4)].join("\n"), "x");
    expect(log.requests.map(({ ttftUs }) => ttftUs)).toEqual([200_000, 400_000]);
  });

  it("drops gaps that are not one a token: a chunk of several tokens is no step", () => {
    const row = '{"at_s":0,"prompt_tokens":5,"output_tokens":4,"ttft_s":0.1,"itls_s":[0.1,0.1]}';
    const [request] = readRequestLog(row, "x").requests;
    expect(request!.e2eUs).toBe(300_000);
    expect(request!.gapsUs).toBeUndefined();
  });

  it("names a missing column, with the nearest one that is there", () => {
    expect(
      codeOf("arrival_s,promt_tokens,output_tokens,ttft_ms,e2e_ms\n1,1,1,1,1\n"),
    ).toMatchObject({
      code: "MANX_TABLE_FORMAT",
      hint: expect.stringContaining('"promt_tokens" meant as prompt_tokens'),
    });
    expect(codeOf("ttft_ms,ttft_s\n1,1\n")).toMatchObject({ code: "MANX_TABLE_FORMAT" });
  });

  it.each([
    ["", "MANX_TABLE_FORMAT"],
    ["\n \n", "MANX_TABLE_FORMAT"],
    [CSV, "MANX_TABLE_FORMAT"],
    ["{broken", "MANX_TABLE_FORMAT"],
    ["[1, 2]", "MANX_TABLE_FORMAT"],
    ['{"schemaVersion":1,"runs":[]}', "MANX_RESULT_FORMAT"],
    [`${CSV}1,NaN,1,1,1\n`, "MANX_TRACE_ROWS"],
    [`${CSV}1,1,1,5,1\n`, "MANX_TRACE_ROWS"],
    [`${CSV}1,1,1,-5,1\n`, "MANX_TRACE_ROWS"],
    [`${CSV}1,1,0,5,5\n`, "MANX_TRACE_ROWS"],
    [`${CSV}1,1,1,5\n`, "MANX_TRACE_ROWS"],
  ])("refuses %j with %s", (text, code) => {
    expect(codeOf(text)).toMatchObject({ code });
  });

  it("sets a few impossible rows aside, counts and names them", () => {
    const good = Array.from({ length: 30 }, (_, i) => `${i},10,5,40,80`);
    const log = readRequestLog(`${CSV}${[...good, "31,10,5,NaN,80"].join("\n")}`, "x");
    expect(log).toMatchObject({ rows: 31, setAside: 1 });
    expect(log.problems).toEqual([
      { row: 32, expected: "ttft_ms above 0 and up to a day", got: '"NaN"' },
    ]);
    expect(log.requests).toHaveLength(30);
  });

  it("reads Python's NaN as a missing number, not as a broken file", () => {
    const rows = Array.from({ length: 30 }, (_, i) => [i, 0.1]);
    const text = `{"start_times":[${rows.map(([i]) => i)}],"input_lens":[${rows.map(() => 4)}],
      "output_lens":[${rows.map(() => 1)}],"ttfts":[NaN,${rows.slice(1).map(() => 0.1)}],
      "itls":[${rows.map(() => "[]")}],"errors":[${rows.map(() => '""')}]}`;
    expect(readRequestLog(text, "x")).toMatchObject({ rows: 30, setAside: 1 });
  });

  it("is in order of arrival whatever the file's order, and never throws but with a code", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9_999 }), { minLength: 1 }), (arrivals) => {
        const log = readRequestLog(
          `${CSV}${arrivals.map((at) => `${at},1,1,1,1`).join("\n")}`,
          "x",
        );
        const times = log.requests.map(({ atUs }) => atUs);
        expect(times).toEqual([...times].sort((a, b) => a - b));
        expect(times[0]).toBe(0);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const thrown = codeOf(text);
        expect(thrown === undefined || (thrown as { code: string }).code).not.toBe("MANX_INTERNAL");
        expect(thrown).toMatchObject({ code: expect.stringMatching(/^MANX_/) });
      }),
    );
  });
});
