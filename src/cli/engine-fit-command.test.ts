import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { plantedLog, plantedPage } from "../../test/support/planted-engine.ts";
import { realClock } from "../clock/index.ts";
import { fittedDocumentSchema } from "../explain/index.ts";
import { makeProgram, runProgram } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "manx-fit-"));
const requests = plantedLog({ n: 60, perS: 2, seed: 1 }, 0.02);

async function runFit(...flags: string[]): Promise<{ code: number; io: FakeIo }> {
  const io = new FakeIo();
  const code = await runProgram(makeProgram(io), ["engine", "fit", ...flags], io);
  return { code, io };
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const csv = file(
  "log.csv",
  [
    "arrival_us,prompt_tokens,output_tokens,ttft_us,e2e_us",
    ...requests.map((one) =>
      [one.atUs, one.promptTokens, one.outputTokens, one.ttftUs, one.e2eUs].join(","),
    ),
  ].join("\n"),
);

describe("manx engine fit", () => {
  it("fits to a log, and what it writes is a cost that engine plan takes", async () => {
    const output = join(folder, "cost.json");
    const { code, io } = await runFit("--log", csv, "--replays", "6", "--output", output);
    expect([code, io.err]).toEqual([0, ""]);
    expect(io.out).toMatch(/^Fitted to 60 requests of /);
    expect(io.out).toMatch(/E2E error, median +– +\d+\.\d+ % +\d+\.\d %/);
    expect(io.out).toContain("kept near the data sheet: ");
    expect(io.out).toMatch(/repeat: manx engine fit --log .*log\.csv/);
    const document = fittedDocumentSchema.parse(JSON.parse(readFileSync(output, "utf8")));
    expect(document.fittedOn.requests).toBe(60);
    expect(document.engine).toMatchObject({ gpu: "h100-sxm", ahead: true, admission: "step" });
  });

  it("reads a log packed with gzip, and says so if it is cut off", async () => {
    const packed = gzipSync(readFileSync(csv));
    const whole = join(folder, "log.csv.gz");
    writeFileSync(whole, packed);
    expect((await runFit("--log", whole, "--replays", "5")).code).toBe(0);
    writeFileSync(whole, packed.subarray(0, packed.length >> 1));
    const { code, io } = await runFit("--log", whole);
    expect(code).toBe(2);
    expect(io.err).toContain("error MANX_FILE_UNREADABLE: a gzip file is cut off");
  });

  it("fits to saved looks at the metrics, and takes the KV memory's size from them", async () => {
    const first = file("first.txt", plantedPage(requests.slice(0, 30)));
    const second = file("second.txt", plantedPage(requests));
    const looks = ["--metrics", first, second, "--interval", "15s", "--replays", "6", "--json"];
    const { code, io } = await runFit(...looks);
    expect([code, io.err]).toEqual([0, ""]);
    const document = fittedDocumentSchema.parse(JSON.parse(io.out));
    expect(document.engine).toMatchObject({ kvTokens: 320_000 });
    expect(document.notes[0]).toBe(
      "vllm at the last look: 3 running, 0 waiting, KV memory 25 % in use, of 320000 tokens",
    );
    expect(document.quantiles[0]).toMatchObject({ figure: "ttft", q: null, n: 30 });
  });

  it("looks at a URL again after the interval, with credentials that show nowhere", async () => {
    let looks = 0;
    const auth = new Set<string | undefined>();
    const server = createServer((request, response) => {
      looks += 1;
      auth.add(request.headers.authorization);
      const known = request.url === "/metrics";
      response.writeHead(known ? 200 : 404);
      response.end(known ? plantedPage(requests.slice(0, 30 * looks)) : "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const io = new FakeIo({ clock: realClock });
    const url = `http://user:secret@127.0.0.1:${port}`;
    const flags = ["--metrics", url, "--interval", "1s", "--intervals", "1", "--replays", "5"];
    const argv = ["engine", "fit", ...flags, "--json"];
    expect(await runProgram(makeProgram(io), argv, io)).toBe(0);
    expect(looks).toBe(2);
    expect([...auth]).toEqual([`Basic ${Buffer.from("user:secret").toString("base64")}`]);
    expect(io.out).not.toContain("secret");
    expect(JSON.parse(io.out).fittedOn.source).toBe(`http://127.0.0.1:${port}/metrics`);
    await new Promise((resolve) => server.close(resolve));
    const gone = await runFit("--metrics", `http://user:secret@127.0.0.1:${port}`);
    expect(gone.io.err).toContain("MANX_TARGET_DOWN");
    expect(gone.io.err).not.toContain("secret");
  });

  it("ends at Ctrl-C between two replays, with nothing on stdout", async () => {
    const io = new FakeIo();
    io.pull();
    expect(await runProgram(makeProgram(io), ["engine", "fit", "--log", csv], io)).toBe(130);
    expect(io.out).toBe("");
    expect(io.err).toContain("MANX_INTERRUPTED");
  });

  it.each([
    [[], "MANX_FLAG_MISSING", "--log"],
    [["--log", csv, "--metrics", "x"], "MANX_FLAG_VALUE", "either --log or --metrics"],
    [["--log", "nowhere.csv"], "MANX_FILE_UNREADABLE", "nowhere.csv"],
    [["--log", csv, "--limit", "3"], "MANX_FLAG_VALUE", "--limit"],
    [["--log", csv, "--gpu", "h10"], "MANX_NAME_UNKNOWN", 'did you mean "h100-sxm"?'],
    [["--log", csv, "--kv-tokens", "64"], "MANX_REQUEST_NEVER_FITS", "at row 2\n"],
    [["--log", csv, "--kv-tokens", "9"], "MANX_CONFIG_IMPOSSIBLE", "at --kv-tokens\n"],
    [
      ["--log", csv, "--ranks", "3"],
      "at --ranks\n",
      "expected a divisor or multiple of 8 KV heads",
    ],
    [["--log", csv, "--scheduling", "chunk"], "at --scheduling\n", 'did you mean "chunked"?'],
    [["--log", file("page.txt", "<html>")], "MANX_TABLE_FORMAT", "page.txt"],
    [["--metrics", file("empty.txt", "")], "MANX_TABLE_FORMAT", "empty.txt"],
    [["--metrics", "http://", "--interval", "5s"], "MANX_URL", "--metrics"],
    [["--metrics", "x", "--interval", "5"], "MANX_DURATION", "--interval"],
    [["--metrics", "x", "--interval", "5ms"], "MANX_FLAG_VALUE", "--interval"],
    [["--lo", csv], "MANX_FLAG_UNKNOWN", '"--log"'],
  ])("refuses %j with %s", async (flags, code, word) => {
    const { code: exit, io } = await runFit(...flags);
    expect([exit, io.out]).toEqual([2, ""]);
    expect(io.err).toContain(code);
    expect(io.err).toContain(word);
  });
});
