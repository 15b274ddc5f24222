import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { type ManxError, toManxError } from "../core/index.ts";
import { parseTimestamp } from "./azure-trace.ts";
import { readTrace, type TraceOptions } from "./trace-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "manx-trace-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(content: string | Buffer): string {
  const path = join(folder, `trace-${files}`);
  files += 1;
  writeFileSync(path, content);
  return path;
}

async function refusal(content: string | Buffer, options?: TraceOptions): Promise<ManxError> {
  return refusalOf(file(content), options);
}

async function refusalOf(path: string, options?: TraceOptions): Promise<ManxError> {
  const outcome = await readTrace(path, options).then(
    () => expect.unreachable("the trace was taken"),
    (thrown: unknown) => thrown,
  );
  return toManxError(outcome);
}

const HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens";
const AZURE = `${HEADER}\r
2023-11-16 18:15:46.6805900,374,44\r
2023-11-16 18:15:50.9951690,396,109\r
2023-11-16 18:15:51.2224671,879,55\r
`;

/** 300 good rows, a tenth of a second apart, with the lines given put in at their places. */
function longAzure(insert: Readonly<Record<number, string>>): string {
  const rows = Array.from(
    { length: 300 },
    (_, i) => `2023-11-16 18:${15 + Math.floor(i / 60)}:${String(i % 60).padStart(2, "0")},10,10`,
  );
  for (const [at, line] of Object.entries(insert)) rows.splice(Number(at), 0, line);
  return `${HEADER}\n${rows.join("\n")}\n`;
}

describe("the traces in data/", () => {
  it("reads the Azure conversation hour whole", async () => {
    const trace = await readTrace("data/azure-llm-2023/conversation.csv.gz");
    expect(trace).toMatchObject({ format: "azure-llm", rows: 19_366, setAside: 0, reordered: 0 });
    expect(trace.requests).toHaveLength(19_366);
    expect(trace.requests[0]).toEqual({ atUs: 0, promptTokens: 374, outputTokens: 44, row: 2 });
    // 19:14:08.4025270 − 18:15:46.6805900
    expect(trace.requests.at(-1)).toMatchObject({ atUs: 3_501_721_937, promptTokens: 197 });
  });

  it("reads the Mooncake rows with their prefix blocks", async () => {
    const trace = await readTrace("data/mooncake-fast25/conversation-1000.jsonl.gz");
    expect(trace).toMatchObject({ format: "mooncake", rows: 1_000, setAside: 0 });
    expect(trace.requests[1]).toMatchObject({ promptTokens: 7_322, outputTokens: 490, row: 2 });
    expect(trace.requests[1]!.blockHashes!.slice(0, 2)).toEqual([0, 14]);
    expect(trace.requests.at(-1)!.atUs).toBe(330_000_000);
  });
});

describe("times", () => {
  it("keeps every digit down to 100 ns, and rounds once, to a microsecond", async () => {
    const { requests } = await readTrace(file(AZURE));
    // From the first row: 4.3145790 s and 4.5418771 s.
    expect(requests.map(({ atUs }) => atUs)).toEqual([0, 4_314_579, 4_541_877]);
  });

  it("reads what Date reads, over months, leap years and offsets", () => {
    for (const text of [
      "1970-01-01T00:00:00Z",
      "2000-02-29 23:59:59",
      "2023-12-31 23:59:59.5",
      "2024-02-29 12:00:00.123+00:00",
      "2024-03-01 00:00:00-05:30",
      "2100-03-01 00:00:00",
    ]) {
      const { second, nano } = parseTimestamp(text)!;
      const zoned = /[Z]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`;
      expect(second * 1_000 + nano / 1e6, text).toBe(Date.parse(zoned.replace(" ", "T")));
    }
  });

  it("refuses days and hours that do not exist", () => {
    for (const text of [
      "2023-02-29 00:00:00",
      "2100-02-29 00:00:00",
      "2023-13-01 00:00:00",
      "2023-00-10 00:00:00",
      "2023-04-31 00:00:00",
      "2023-11-16 24:00:00",
      "2023-11-16 10:60:00",
      "16/11/2023 10:00",
      "1700158546.68",
      "",
    ]) {
      expect(parseTimestamp(text), text).toBeUndefined();
    }
  });

  it("puts rows that go back in time in order, and counts them", async () => {
    const trace = await readTrace(
      file(`${HEADER}
2023-11-16 18:15:50,1,10
2023-11-16 18:15:48,2,10
2023-11-16 18:15:49,3,10
2023-11-16 18:15:51,4,10`),
    );
    expect(trace.reordered).toBe(1);
    expect(trace.requests.map(({ atUs, promptTokens }) => [atUs / 1e6, promptTokens])).toEqual([
      [0, 2],
      [1, 3],
      [2, 1],
      [3, 4],
    ]);
  });

  it("sets a row aside that is years away from the others", async () => {
    const trace = await readTrace(file(longAzure({ 100: "2032-11-16 18:15:46,10,10" })));
    expect(trace.setAside).toBe(1);
    expect(trace.problems[0]).toMatchObject({ row: 102, expected: /400 days/ });
    expect(trace.requests.at(-1)!.atUs).toBe(299_000_000);
  });
});

describe("windows", () => {
  it("limits, cuts out a window and compresses time", async () => {
    const path = file(longAzure({}));
    expect((await readTrace(path, { limit: 7 })).requests).toHaveLength(7);
    const cut = await readTrace(path, { fromUs: 60e6, durationUs: 30e6, speed: 10 });
    expect(cut.requests).toHaveLength(30);
    expect(cut.requests[0]).toMatchObject({ atUs: 0, row: 62 });
    expect(cut.requests.at(-1)!.atUs).toBe(2_900_000);
  });

  it("says so if the window is empty", async () => {
    const error = await refusal(longAzure({}), { fromUs: 3_600e6 });
    expect(error.code).toBe("MANX_CONFIG_IMPOSSIBLE");
  });
});

describe("malformed rows", () => {
  const BAD = {
    "too few columns": "2023-11-16 18:15:46,10",
    "too many columns": "2023-11-16 18:15:46,10,10,10",
    "a bad time": "yesterday,10,10",
    "zero prompt tokens": "2023-11-16 18:15:46,0,10",
    "negative output tokens": "2023-11-16 18:15:46,10,-3",
    "an absurd length": "2023-11-16 18:15:46,900000000000,10",
    "a fraction": "2023-11-16 18:15:46,10.5,10",
    "an empty cell": "2023-11-16 18:15:46,,10",
  };

  for (const [name, line] of Object.entries(BAD)) {
    it(`sets aside and names ${name}`, async () => {
      const trace = await readTrace(file(longAzure({ 10: line })));
      expect(trace.requests).toHaveLength(300);
      expect(trace).toMatchObject({ rows: 301, setAside: 1 });
      expect(trace.problems).toHaveLength(1);
      expect(trace.problems[0]!.row).toBe(12);
    });
  }

  it("refuses a trace with more than one in a hundred, and names the first five", async () => {
    const lines = Object.fromEntries([3, 7, 20, 30, 40, 50].map((at) => [at, "x,10,10"]));
    const error = await refusal(longAzure(lines));
    expect(error.code).toBe("MANX_TRACE_ROWS");
    expect(error.where).toMatch(/trace-\d+:5$/);
    expect(error.got).toContain("6 of 306");
    expect(error.got!.match(/line \d+/g)).toEqual([
      "line 5",
      "line 9",
      "line 22",
      "line 32",
      "line 42",
    ]);
  });

  it("takes exactly one in a hundred", async () => {
    const lines = Object.fromEntries([3, 7, 20].map((at) => [at, "x,10,10"]));
    expect((await readTrace(file(longAzure(lines)))).setAside).toBe(3);
  });

  it("sets aside lines without end, in bounded memory", async () => {
    const trace = await readTrace(file(longAzure({ 5: "x".repeat(9 * 1024 * 1024) })));
    expect(trace.problems).toEqual([
      { row: 7, expected: "a line of at most 4 MiB", got: "a longer one" },
    ]);
    expect(trace.requests).toHaveLength(300);
  });

  it("names what a Mooncake row lacks", async () => {
    const good = { timestamp: 0, input_length: 600, output_length: 5, hash_ids: [0, 1] };
    const bad = [
      "{",
      "[1]",
      JSON.stringify({ ...good, timestamp: -1 }),
      JSON.stringify({ ...good, timestamp: "12" }),
      JSON.stringify({ ...good, input_length: 0 }),
      JSON.stringify({ ...good, output_length: undefined }),
      JSON.stringify({ ...good, hash_ids: [0, -1] }),
      JSON.stringify({ ...good, hash_ids: "0 1" }),
    ];
    const expected = ["JSON", "JSON", "timestamp", "timestamp", "input_length", "output_length"];
    const rows = Array.from({ length: 100 }, () => JSON.stringify(good));
    for (const [at, line] of bad.entries()) {
      const trace = await readTrace(file([...rows, line].join("\n")));
      expect(trace.setAside, line).toBe(1);
      expect(trace.problems[0]!.expected).toContain(expected[at] ?? "hash_ids");
    }
  });
});

describe("files that are no traces", () => {
  it("says what is the matter with each", async () => {
    const whole = gzipSync(longAzure({}));
    const cases: [string | Buffer, string, RegExp][] = [
      ["", "MANX_TRACE_FORMAT", /is empty/],
      ["\n\n", "MANX_TRACE_FORMAT", /is empty/],
      [`${HEADER}\n`, "MANX_TRACE_FORMAT", /header and no rows/],
      ["TIMESTAMP,GeneratedTokens\n", "MANX_TRACE_FORMAT", /ContextTokens not at all/],
      [`${HEADER},TIMESTAMP\n`, "MANX_TRACE_FORMAT", /TIMESTAMP twice/],
      ["time,in,out\n1,2,3\n", "MANX_TRACE_FORMAT", /in no format/],
      [Buffer.from([0, 255, 254, 10, 7]), "MANX_TRACE_FORMAT", /in no format/],
      [whole.subarray(0, whole.length - 30), "MANX_FILE_UNREADABLE", /cut off or damaged/],
      [Buffer.from([0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), "MANX_FILE_UNREADABLE", /damaged/],
      [Buffer.from([0x1f, 0x8b]), "MANX_FILE_UNREADABLE", /damaged/],
    ];
    for (const [content, code, message] of cases) {
      const error = await refusal(content);
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
      expect(error.where).toContain("trace-");
    }
    expect((await refusalOf(join(folder, "absent"))).code).toBe("MANX_FILE_UNREADABLE");
    expect((await refusalOf(folder)).code).toBe("MANX_FILE_UNREADABLE");
  });
});

it("reads a header behind a byte-order mark, in quotes, in another order, with more columns", async () => {
  const { requests } = await readTrace(
    file(
      `\uFEFF"GeneratedTokens",model,"CONTEXTTOKENS","timestamp"\n7,x,5,2024-05-10 00:00:00.009930+00:00`,
    ),
  );
  expect(requests).toEqual([{ atUs: 0, promptTokens: 5, outputTokens: 7, row: 2 }]);
});

describe("who asks, and how urgently", () => {
  it("is read from columns that a trace may have beside its own", async () => {
    const csv = `${HEADER},tenant,Priority\n2023-11-16 18:15:46,5,7,"a team",-2`;
    const mooncake = [
      { timestamp: 0, input_length: 5, output_length: 7, priority: 3, tenant: "b" },
      { timestamp: 1, input_length: 5, output_length: 7 },
    ];
    const lines = mooncake.map((row) => JSON.stringify(row)).join("\n");
    expect((await readTrace(file(csv))).requests).toEqual([
      { atUs: 0, promptTokens: 5, outputTokens: 7, priority: -2, tenant: "a team", row: 2 },
    ]);
    expect((await readTrace(file(lines))).requests).toEqual([
      { atUs: 0, promptTokens: 5, outputTokens: 7, priority: 3, tenant: "b", row: 1 },
      { atUs: 1_000, promptTokens: 5, outputTokens: 7, row: 2 },
    ]);
  });

  it("sets a row aside whose class is no number or whose tenant is too long", async () => {
    const good = { timestamp: 0, input_length: 5, output_length: 7 };
    const rows = Array.from({ length: 100 }, () => JSON.stringify(good));
    for (const [bad, name] of [
      [{ priority: 0.5 }, "priority"],
      [{ priority: "1" }, "priority"],
      [{ tenant: 7 }, "tenant"],
      [{ tenant: "x".repeat(129) }, "tenant"],
    ] as const) {
      const line = JSON.stringify({ ...good, ...bad });
      const { setAside, problems } = await readTrace(file([...rows, line].join("\n")));
      expect([setAside, problems[0]?.expected]).toEqual([1, expect.stringContaining(name)]);
    }
    const csv = longAzure({})
      .replace(HEADER, `${HEADER},Priority`)
      .replaceAll(/(,\d+)$/gm, "$1,0");
    const broken = csv.replace(/,0$/m, ",high");
    expect((await readTrace(file(broken))).problems[0]?.expected).toContain("priority");
    expect((await refusal(`${HEADER},Tenant,tenant\n`)).message).toContain("Tenant twice");
  });
});

it("gives the same requests wherever the file is packed and cut", async () => {
  const plain = await readTrace(file(longAzure({})));
  const packed = await readTrace(file(gzipSync(longAzure({}).replaceAll("\n", "\r\n"))));
  expect(packed.requests).toEqual(plain.requests);
});
