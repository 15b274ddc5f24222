/** `manx lint-prompt` in-process: forms of files, exit codes, and what is printed. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { makeProgram, runProgram } from "./program.ts";
import { promptRecords } from "./prompt-records.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "manx-lint-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function manx(...argv: string[]) {
  const io = new FakeIo();
  const exit = await runProgram(makeProgram(io), ["lint-prompt", ...argv], io);
  return { exit, out: io.out, err: io.err };
}

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const RULES = "Answer in one sentence. ".repeat(300);
const body = (time: string, question = "Where is it?") => ({
  model: "gpt-4.1",
  messages: [
    { role: "system", content: `Now: ${time}. ${RULES}` },
    { role: "user", content: question },
  ],
});
const first = body("2026-11-29T10:00:01Z");
const second = body("2026-11-29T10:00:12Z");
const lines = (...values: unknown[]): string =>
  values.map((one) => `${JSON.stringify(one)}\n`).join("");

describe("manx lint-prompt", () => {
  it("ends with 0 where no prefix is broken", async () => {
    const { exit, out, err } = await manx(file("clean.jsonl", lines(first, first)));
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toContain("2 requests in 1 conversation: no prefix is broken");
    expect(out).toContain("hit share 50 % of");
  });

  it("names the place of a break, its cause, cost and cure, and fails", async () => {
    const path = file("broken.jsonl", lines(first, second));
    const { exit, out, err } = await manx(path);
    const column = JSON.stringify(second).indexOf("2026-11-29") + 1;
    expect(exit).toBe(3);
    expect(err).toContain("MANX_BUDGET_BREACHED");
    expect(out).toContain(`at ${path}:2:${column}, compared with ${path}:1`);
    expect(out).toContain(
      "byte 5 of messages[0].content, 5 of the prompt: 0000-00-00T00:00:00Z → ",
    );
    expect(out).toMatch(
      /time_stamp messages\[\*\]\.content +1 +1,8\d\d +100 % +9\d\.?\d* ms +0\.00\d+/,
    );
    expect(out).toContain("do: move the time into the last message of the user");
    expect(out).toContain("assumed");
    expect(out).not.toContain("Answer in one sentence");
  });

  it.each([
    ["never", 0],
    ["any", 3],
    ["60%", 0],
    ["10%", 3],
  ])("--fail-on %s ends with %i", async (limit, exit) => {
    expect((await manx(file("b.jsonl", lines(first, second)), "--fail-on", limit)).exit).toBe(exit);
  });

  it("writes one JSON document, and with --each one for each break before it", async () => {
    const path = file("json.jsonl", lines(first, second, first));
    const plain = JSON.parse((await manx(path, "--json")).out);
    expect(plain).toMatchObject({ version: 1, requests: 3, breaks: 2 });
    const each = (await manx(path, "--json", "--each")).out.trim().split("\n");
    expect(each).toHaveLength(3);
    expect(JSON.parse(each[0]!)).toMatchObject({ cause: "time_stamp", byteInPart: 5 });
    const text = (await manx(path, "--each")).out.split("\n")[0]!;
    expect(text).toMatch(/:2:\d+: time_stamp in messages\[0\]\.content byte 5: /);
  });

  it("takes prices and a prefill rate, and says whose they are", async () => {
    const path = file("price.jsonl", lines(first, second));
    const { out } = await manx(path, "--price", "10,1", "--prefill-rate", "1000", "--json");
    const { lostTokens, lostUsd, lostTtftUs, prefill, pricesAsOf } = JSON.parse(out);
    expect(lostUsd).toBeCloseTo((lostTokens * 9) / 1e6, 9);
    expect(lostTtftUs).toBe(lostTokens * 1_000);
    expect([prefill.source, pricesAsOf]).toEqual(["given", ["given"]]);
  });

  it.each([
    ["--fail-on", "5"],
    ["--price", "3"],
    ["--price", "1,3"],
    ["--prefill-rate", "0"],
    ["--top", "-1"],
  ])("refuses %s %s", async (flag, value) => {
    const { exit, err } = await manx(file("f.jsonl", lines(first)), `${flag}=${value}`);
    expect([exit, err]).toEqual([2, expect.stringMatching(`MANX_FLAG_VALUE[^]*${flag}`)]);
  });
});

describe("files", () => {
  const har = (...bodies: unknown[]) => ({
    log: {
      entries: bodies.map((one) => ({ request: { postData: { text: JSON.stringify(one) } } })),
    },
  });

  it.each([
    ["gzipped lines", gzipSync(lines(first, second)), 2],
    ["a list over many lines", JSON.stringify([first, second], null, 2), 2],
    ["HAR over many lines", JSON.stringify(har(first, second), null, 2), 2],
    ["HAR in one line", JSON.stringify(har(first, second)), 2],
    ["one body over many lines", JSON.stringify(first, null, 2), 1],
    [
      "lines with a CR and without a last end",
      lines(first, second).replaceAll("\n", "\r\n").trimEnd(),
      2,
    ],
    ["one body with a blank line in it", JSON.stringify(first, null, 2).replace("{\n", "{\n\n"), 1],
    ["lines behind a byte-order mark", `\ufeff${lines(first, second)}`, 2],
  ])("may be %s", async (_, content, requests) => {
    const path = file("form", content);
    const { out } = await manx(path, "--json", "--fail-on", "never");
    const summary = JSON.parse(out);
    expect(summary).toMatchObject({ requests, breaks: requests - 1, setAside: { records: 0 } });
    const [where] = summary.groups.flatMap(({ examples }: { examples: { where: string }[] }) => {
      return examples.map((one) => one.where);
    });
    if (requests === 1) return;
    const text = (typeof content === "string" ? content : lines(first, second)).replace(
      "\ufeff",
      "",
    );
    const [, line, column] = /:(\d+):(\d+)$/.exec(where)!;
    expect(text.split("\n")[Number(line) - 1]!.slice(Number(column) - 1)).toMatch(
      /^2026-11-29T10:00:12Z/,
    );
  });

  it("sets bad lines aside with their numbers and goes on", async () => {
    const bad = Buffer.concat([
      Buffer.from(`{"broken\n\n${lines(first)}`),
      Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]),
      Buffer.from(lines({ hello: "world" }, second)),
    ]);
    const path = file("bad.jsonl", bad);
    const { out } = await manx(path, "--json", "--fail-on", "never");
    const { requests, breaks, setAside } = JSON.parse(out);
    expect([requests, breaks, setAside.records]).toEqual([2, 1, 3]);
    expect(setAside.first).toEqual([
      `${path}:1: no JSON`,
      `${path}:4: no valid UTF-8`,
      `${path}:5: no request that is known`,
    ]);
  });

  it.each([
    ["an empty file", ""],
    ["blanks", "\n  \n"],
    ["no request", lines({ a: 1 })],
    ["no JSON", "hello\n"],
  ])("of %s are refused", async (_, content) => {
    const { exit, err } = await manx(file("empty.jsonl", content));
    expect([exit, err]).toEqual([2, expect.stringContaining("MANX_TRACE_FORMAT")]);
  });

  it("that are not there or damaged are refused", async () => {
    const gone = await manx(join(folder, "gone.jsonl"));
    expect([gone.exit, gone.err]).toEqual([2, expect.stringContaining("MANX_FILE_UNREADABLE")]);
    const cut = gzipSync(lines(first, second)).subarray(0, 40);
    const damaged = await manx(file("cut.gz", cut));
    expect(damaged.err).toMatch(/MANX_FILE_UNREADABLE: a gzip file is cut off or damaged/);
  });

  it("hold no line in memory that is longer than the bound", async () => {
    const path = file("long.jsonl", `${lines(first)}${"x".repeat(200_000)}\n${lines(second)}`);
    const limits = { lineBytesMax: 50_000, documentBytesMax: 50_000 };
    const seen: unknown[] = [];
    for await (const record of promptRecords(path, limits)) {
      seen.push("reason" in record ? record : record.source.line);
    }
    const open = file("open.jsonl", `{"broken\n\n${lines(first)}${"x".repeat(60_000)}\n`);
    const read: unknown[] = [];
    for await (const record of promptRecords(open, { ...limits, documentBytesMax: 10 })) {
      read.push("reason" in record ? record.reason : record.source.line);
    }
    expect(read).toEqual(["no JSON", 3, "longer than 50000 bytes"]);
    expect(seen).toEqual([1, { line: 2, reason: "longer than 50000 bytes" }, 3]);
    const whole = file("long.json", JSON.stringify([first, ...Array(20).fill(second)], null, 1));
    const all = async (): Promise<void> => {
      for await (const _ of promptRecords(whole, limits));
    };
    await expect(all()).rejects.toMatchObject({ code: "MANX_FILE_UNREADABLE" });
  });
});
