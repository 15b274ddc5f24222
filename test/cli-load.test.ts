/** `manx load` as a user meets it: what it refuses, and with which words. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeProgram, runProgram } from "../src/cli/program.ts";
import { RealClock } from "../src/clock/index.ts";
import { close, listen } from "../src/http/index.ts";
import { FakeIo } from "./support/fake-io.ts";

const folder = mkdtempSync(join(tmpdir(), "manx-cli-load-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function load(args: readonly string[], io = new FakeIo({ clock: new RealClock() })) {
  const code = await runProgram(makeProgram(io), ["load", ...args], io);
  return { code, out: io.out, err: io.err };
}

const URL = ["--url", "http://127.0.0.1:9"];

const REFUSED: readonly (readonly [string, readonly string[], string, RegExp])[] = [
  ["no URL", [], "MANX_FLAG_MISSING", /--url/],
  ["a misspelt flag", [...URL, "--rat", "5/s"], "MANX_FLAG_UNKNOWN", /did you mean "--rate"/],
  ["a rate without unit", [...URL, "--rate", "20"], "MANX_RATE", /20\/s/],
  ["a rate of zero", [...URL, "--rate", "0/s"], "MANX_RATE", /--rate/],
  ["a duration without unit", [...URL, "--duration", "30"], "MANX_DURATION", /--duration/],
  ["a duration of zero", [...URL, "--duration", "0s"], "MANX_DURATION", /above zero/],
  ["a time limit without unit", [...URL, "--timeout", "60"], "MANX_DURATION", /--timeout/],
  ["an unknown process", [...URL, "--arrivals", "poison"], "MANX_FLAG_VALUE", /poisson/],
  ["a CV of Poisson arrivals", [...URL, "--cv", "3"], "MANX_FLAG_VALUE", /--arrivals gamma/],
  ["a budget without unit", [...URL, "--slo", "ttft=500"], "MANX_DURATION", /--slo/],
  ["an unknown budget", [...URL, "--slo", "tft=5s"], "MANX_NAME_UNKNOWN", /did you mean "ttft"/],
  ["a budget given twice", [...URL, "--slo", "e2e=1s,e2e=2s"], "MANX_FLAG_VALUE", /twice/],
  ["half a budget", [...URL, "--slo", "ttft"], "MANX_FLAG_VALUE", /name=duration/],
  [
    "a TTFT budget of whole answers",
    [...URL, "--no-stream", "--slo", "ttft=1s"],
    "MANX_FLAG_VALUE",
    /only e2e/,
  ],
  ["an unknown API", [...URL, "--api", "gemini", "--model", "x"], "MANX_NAME_UNKNOWN", /anthropic/],
  ["a speed without trace", [...URL, "--speed", "10x"], "MANX_FLAG_VALUE", /--trace/],
  ["a rate beside a trace", [...URL, "--trace", "x", "--rate", "5/s"], "MANX_FLAG_VALUE", /--rate/],
  ["a negative concurrency", [...URL, "--concurrency", "-1"], "MANX_FLAG_VALUE", /--concurrency/],
  ["a header without value", [...URL, "--header", "x"], "MANX_FLAG_VALUE", /--header/],
  ["cold and warm", [...URL, "--cold", "--warm", "3"], "MANX_FLAG_VALUE", /contradict/],
  ["an absent trace", [...URL, "--trace", join(folder, "none")], "MANX_FILE_UNREADABLE", /none/],
  [
    "an output in no folder",
    [...URL, "--output", join(folder, "no", "x")],
    "MANX_OUTPUT_UNWRITABLE",
    /ENOENT/,
  ],
  ["no URL at all", ["--url", "localhost:8000"], "MANX_URL", /http:/],
];

describe("a server that does not speak the API", () => {
  it("is told as that, not as too high a rate", async () => {
    const server = createServer((_request, response) => response.writeHead(404).end("{}"));
    const url = await listen(server, { port: 0 });
    const args = ["--url", url, "--api", "anthropic", "--model", "x", "--no-calibrate"];
    const done = await load([...args, "--rate", "20/s", "--duration", "500ms"]);
    await close(server, { cutOpen: true });
    expect(done.code).toBe(4);
    expect(done.err).toContain("http-404");
    expect(done.err).toContain("try: the server has no such path: check --url, and --api");
  });
});

describe("usage errors (exit 2, nothing on stdout)", () => {
  for (const [name, args, code, text] of REFUSED) {
    it(name, async () => {
      const done = await load(args);
      expect([done.code, done.out]).toEqual([2, ""]);
      expect(done.err).toContain(`error ${code}:`);
      expect(done.err).toMatch(text);
    });
  }

  it("too many malformed trace rows, with file and line", async () => {
    const path = join(folder, "bad.csv");
    writeFileSync(path, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,0,1\n");
    const done = await load([...URL, "--trace", path]);
    expect(done.code).toBe(2);
    expect(done.err).toContain(`${path}:2`);
    expect(done.err).toContain("ContextTokens from 1");
  });
});

it("shows a secret in no error", async () => {
  const io = new FakeIo({ clock: new RealClock(), env: { MANX_API_KEY: "sk-top" } });
  const bad = await load(["--url", "http://me:hunter2@127.0.0.1:9"], io);
  const header = await load([...URL, "--header", "authorization secret"]);
  expect(bad.err).toContain("MANX_URL");
  expect(bad.err + header.err).not.toMatch(/hunter2|sk-top|secret/);
});

it("says that the server is down, and leaves an earlier result alone", async () => {
  const path = join(folder, "before.json");
  writeFileSync(path, "earlier");
  const done = await load([...URL, "--model", "m", "--output", path]);
  expect([done.code, done.out]).toEqual([4, ""]);
  expect(done.err).toContain("MANX_TARGET_DOWN");
  expect(done.err).toContain("ECONNREFUSED");
  expect(readFileSync(path, "utf8")).toBe("earlier");
});
