/** `manx load` from flags to exit code, against a server on loopback. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeProgram, runProgram } from "../../src/cli/program.ts";
import { RealClock } from "../../src/clock/index.ts";
import { type ResultDocument, resultSchema } from "../../src/load/index.ts";
import { startLoopbackMock } from "../../src/load/loopback-mock.ts";
import { FakeIo } from "../support/fake-io.ts";
import { json, type ReplayServer, startReplayServer } from "../support/replay-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const clock = new RealClock();

async function mock(): Promise<string> {
  const server = await startLoopbackMock({
    clock,
    ttftUs: 20_000,
    gapUs: 5_000,
    chunks: 8,
    onTruth: () => undefined,
  });
  closing.push(() => server.close());
  return server.url;
}

async function refusing(): Promise<ReplayServer> {
  const server = await startReplayServer(() => [{ bytes: json(429, { error: {} }) }]);
  closing.push(() => server.close());
  return server;
}

async function load(url: string, args: string, io = new FakeIo({ clock })) {
  const argv = ["load", "--url", url, "--model", "mock", ...args.split(" ")];
  const code = await runProgram(makeProgram(io), argv, io);
  return { code, io };
}

function parsed(text: string): ResultDocument {
  return resultSchema.parse(JSON.parse(text));
}

/** What the exit code must be, since whether a shared machine kept up is not ours to say. */
function codeOf({ status, runs }: ResultDocument): number {
  const verdicts = runs.flatMap((run) => run.verdicts.map((verdict) => verdict.status));
  if (status === "partial") return 130;
  return verdicts.includes("unknown") ? 4 : verdicts.includes("fail") ? 3 : 0;
}

describe("a run against a server that streams", () => {
  it("prints one valid document, and its exit code follows from its verdicts", async () => {
    const { code, io } = await load(await mock(), "--rate 50/s --duration 500ms --json --warm 2");
    const document = parsed(io.out);
    const run = document.runs[0]!;
    expect(code).toBe(codeOf(document));
    expect(run.counts).toMatchObject({ failed: 0, empty: 0 });
    expect(run.counts.completed).toBeGreaterThan(10);
    expect(run.metrics.ttftUs!.histogram.n).toBe(run.counts.completed);
    expect(run.metrics.ttftUs!.histogram.min!).toBeGreaterThanOrEqual(20_000);
    expect(run.metrics.chunkGapUs!.histogram.n).toBe(run.counts.completed * 7);
    expect(run.conditions.setup).toMatchObject({ model: "mock", clientErrorN: expect.any(Number) });
    expect(document.command).toBe(
      `manx load --url ${run.conditions.target} --seed 42 --model mock --rate 50/s --duration 500ms --warm 2`,
    );
    expect(io.err).toContain("this client's own error");
  });

  it("draws a table that ends with one command to try", async () => {
    const { io } = await load(await mock(), "--rate 20/s --duration 300ms --no-calibrate");
    expect(io.out, io.err).toMatch(/^TTFT +\d+/m);
    expect(io.out.trimEnd().split("\n").at(-1)).toMatch(/^next: manx load --url/);
  });

  it("replays a trace on its own schedule", async () => {
    const trace = "data/azure-llm-2023/conversation.csv.gz";
    const { io } = await load(
      await mock(),
      `--trace ${trace} --limit 30 --speed 40x --no-calibrate --output - --concurrency 4`,
    );
    const run = parsed(io.out).runs[0]!;
    expect(run.counts).toMatchObject({ offered: 30, completed: 30 });
    expect(run.conditions).toMatchObject({ concurrencyCap: 4 });
  });

  it("breaches a budget that nothing can meet", async () => {
    const { code, io } = await load(
      await mock(),
      "--rate 20/s --duration 300ms --no-calibrate --json --slo ttft=1ms",
    );
    const document = parsed(io.out);
    expect(document.runs[0]!.goodput).toMatchObject({ met: 0, shareOfOffered: 0 });
    expect(document.runs[0]!.verdicts.at(-1)).toMatchObject({ name: "budgets", status: "fail" });
    expect([3, 4]).toContain(code);
    expect(code).toBe(codeOf(document));
  });

  it("saves what there is when interrupted", async () => {
    const folder = mkdtempSync(join(tmpdir(), "manx-load-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    const io = new FakeIo({ clock });
    setTimeout(() => io.pull(), 700);
    const output = join(folder, "result.json");
    const { code } = await load(
      await mock(),
      `--rate 50/s --duration 60s --no-calibrate --output ${output}`,
      io,
    );
    expect(code).toBe(130);
    const document = parsed(readFileSync(output, "utf8"));
    expect(document.status).toBe("partial");
    expect(document.runs[0]!.counts.completed).toBeGreaterThan(0);
    expect(document.notes[0]!.text).toMatch(/interrupted: \d+ requests were given up/);
    expect(io.err).toContain("MANX_INTERRUPTED");
  });
});

it("trusts no percentile of a server that refuses", async () => {
  const { url } = await refusing();
  const { code, io } = await load(url, "--rate 50/s --duration 300ms --no-calibrate --json");
  expect(code).toBe(4);
  const run = parsed(io.out).runs[0]!;
  expect(run.counts.completed).toBe(0);
  expect(run.counts.failures).toEqual({ "http-429": run.counts.offered });
  expect(io.err).toMatch(/MANX_NOT_TRUSTWORTHY[\s\S]*http-429/);
});

it("prints no key", async () => {
  const server = await refusing();
  const io = new FakeIo({ clock, env: { MANX_API_KEY: "sk-very-secret" } });
  const flags = "--rate 20/s --duration 200ms --no-calibrate --json --header x-key:hush";
  await load(server.url, flags, io);
  expect(server.hits[0]!.headers).toMatchObject({
    authorization: "Bearer sk-very-secret",
    "x-key": "hush",
  });
  expect(io.out + io.err).not.toMatch(/sk-very-secret|hush/);
});
