import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { realClock } from "../clock/index.ts";
import { makeProgram, runProgram } from "./program.ts";

const running: { io: FakeIo; done: Promise<number> }[] = [];

afterEach(async () => {
  for (const { io, done } of running.splice(0)) {
    io.pull();
    await done;
  }
});

const fittedTo = {
  schemaVersion: 1,
  coefficients: {
    stepUs: 9_000,
    freeTokens: 128,
    tokenUs: 20,
    prefillSequenceUs: 0,
    prefillPairUs: 0,
    prefillContextTokenUs: 0,
    decodeSequenceUs: 0,
    decodeContextTokenUs: 0,
  },
  fittedOn: { source: "run.json", requests: 300, undetermined: [] },
  error: [],
  engine: { model: "qwen2.5-7b", sequencesMax: 64, kvTokens: 4_096 },
};

async function startEngine(...argv: string[]) {
  const io = new FakeIo({ clock: realClock });
  const done = runProgram(makeProgram(io), ["engine", ...argv], io);
  running.push({ io, done });
  while (!io.err.includes("\n")) await new Promise((resolve) => setTimeout(resolve, 5));
  const url = /engine: (http\S+)/.exec(io.err)?.[1] ?? "";
  return { io, done, url };
}

async function fail(...argv: string[]) {
  const io = new FakeIo({ clock: realClock });
  // One that starts after all ends at once, with exit code 0.
  io.pull();
  const exit = await runProgram(makeProgram(io), ["engine", ...argv], io);
  return { exit, err: io.err, out: io.out };
}

describe("manx engine", () => {
  it("says where it listens and what to try, serves that, and drains when interrupted", async () => {
    const { io, done, url } = await startEngine("--port", "0", "--speed", "4x", "--json");
    expect(io.err).toContain(
      `engine: ${url} (llama-3.1-8b on 1 x h100-sxm, chunked, paged KV of 438624 tokens, ` +
        `4 times as fast); base URL for clients ${url}/v1\n`,
    );
    expect(JSON.parse(io.out)).toMatchObject({ url, model: "llama-3.1-8b", kvTokens: 438_624 });
    const [, path, body] = /try: curl -N http:\/\/[^/]+(\S+) -d '(.*)'/.exec(io.err) ?? [];
    const response = await fetch(url + path, { method: "POST", body: body ?? "" });
    expect(response.status).toBe(200);
    io.pull();
    expect((await response.text()).endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await done).toBe(0);
    expect(io.err).toMatch(
      /engine: closed; \d+ steps(, too few within 10 s|; DEGRADED: .* of their length| at the promised pace, late by )/,
    );
  });

  it("reads the file, with flags over it, and says what it serves", async () => {
    const folder = await mkdtemp(join(tmpdir(), "manx-cli-"));
    const file = join(folder, "manx.config.jsonc");
    const faults = '[{"kind": "503", "share": 1}]';
    const hosts = '"ranks": 16, "allowCrossHost": true, "link": "ethernet-25g"';
    const section = `{"replicas": 3, "memory": "prefix", "seed": 1, "faults": ${faults}, ${hosts}}`;
    await writeFile(file, `{"engine": ${section}} // three`);
    const more = ["--routing", "prefix", "--memory", "radix", "--fault", "529; share=1"];
    const { io, url } = await startEngine("--port", "0", "--config", file, ...more);
    await rm(folder, { recursive: true });
    expect(io.err).toContain(" tokens, 3 replicas by prefix, planned faults: 1");
    expect(io.err).toMatch(
      /warning: 64 all-reduces a step over ethernet-25g between 2 hosts: \+\d+\.\d ms on every token/,
    );
    const body = '{"messages": [{"role": "user", "content": "hello"}]}';
    const { status } = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
    expect(status).toBe(529);
  });

  it("is the twin of the engine that a cost was fitted to, and says so", async () => {
    const folder = await mkdtemp(join(tmpdir(), "manx-cli-"));
    const cost = join(folder, "cost.json");
    await writeFile(cost, JSON.stringify(fittedTo));
    const { io, done } = await startEngine("--port", "0", "--cost", cost, "--sequences", "3");
    io.pull();
    await done;
    expect(io.err).toContain("(qwen2.5-7b on 1 x h100-sxm, chunked, paged KV of 4096 tokens)");
    expect(io.err).toContain('engine: by cost.json: model "qwen2.5-7b", kvTokens 4096\n');
    const { exit, err } = await fail("--port", "0", "--cost", cost, "--model", "qwen3-32b");
    await rm(folder, { recursive: true });
    expect(exit).toBe(2);
    expect(err).toContain("at --model\n  expected qwen2.5-7b, which the prices were fitted to");
  });

  it.each([
    [["--gpu", "h100"], 'did you mean "h100-sxm"?'],
    [["--model", "lama-3.1-8b"], 'did you mean "llama-3.1-8b"?'],
    [["--scheduling", "chunkd"], 'did you mean "chunked"?'],
    [["--order", "priorty"], 'did you mean "priority"?'],
    [["--priority-preempts"], 'false, unless order is "priority"; it is "first-come"'],
    [["--mixing", "prefil-first"], 'did you mean "prefill-first"?'],
    [["--long-prefills", "2", "--scheduling", "static"], "at --long-prefills"],
    [["--ageing", "10"], "at --ageing\n  expected a duration such as"],
    [["--memory", "page"], 'did you mean "paged"?'],
    [["--model", "llama-3.1-70b"], "weights 131.4 GiB + other 3.5 GiB below 72.0 GiB"],
    [["--ranks", "3"], "at --ranks\n  expected a divisor or multiple of 8 KV heads, got 3"],
    [["--context", "0"], "at --context\n  expected a number from 1, got 0"],
    [["--speed", "fast"], "at --speed\n  expected a factor such as"],
    [["--speed", "2000x"], "at --speed\n  expected at most 1000, got 2000"],
    [["--port", "70000"], "at --port\n  expected at most 65535, got 70000"],
    [["--drain", "10"], "at --drain\n  expected a duration such as"],
    [["--block", "0"], "at --block\n  expected a number from 1, got 0"],
    [["--ranks", "16"], "at --ranks\n  expected at most the 8 GPUs of one host, or allowCrossHost"],
    [["--replicas", "2", "--pools", "1+1"], "at --replicas\n  expected 1 with pools, got 2"],
    [["--drafts", "4"], "engine.speculation.acceptance is missing\n  at --acceptance"],
    [["--sequences", "1e99"], "at --sequences\n  expected at most"],
    [
      ["--pools", "3"],
      'at --pools\n  expected engines that prefill and engines that decode, such as "1+2"',
    ],
    [["--fault", "stal; share=0.1"], 'did you mean "stall"?'],
    [["--fault", "stall"], "at --fault"],
    [["--squences", "4"], 'did you mean "--sequences"?'],
  ])("refuses %j with exit code 2 and help", async (argv, help) => {
    const { exit, err, out } = await fail("--port", "0", ...argv);
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain(help);
  });

  it("says which port is taken", async () => {
    const { url } = await startEngine("--port", "0");
    const { port, host } = new URL(url);
    const { exit, err } = await fail("--port", port);
    expect(exit).toBe(2);
    expect(err).toContain(`error MANX_PORT_IN_USE: the address is already in use\n  at ${host}`);
  });
});
