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
    expect(io.err).toMatch(/engine: closed; \d+ steps, the latest \d+\.\d ms after its time/);
  });

  it.each([
    [["--gpu", "h100"], 'did you mean "h100-sxm"?'],
    [["--model", "lama-3.1-8b"], 'did you mean "llama-3.1-8b"?'],
    [["--scheduling", "chunkd"], 'did you mean "chunked"?'],
    [["--order", "priorty"], 'did you mean "priority"?'],
    [["--priority-preempts"], 'false, unless order is "priority"; it is "first-come"'],
    [["--mixing", "prefil-first"], 'did you mean "prefill-first"?'],
    [["--consecutive-prefills", "2"], '0, unless prompts go first; scheduling is "chunked"'],
    [["--ageing", "10"], "MANX_DURATION"],
    [["--memory", "page"], 'did you mean "paged"?'],
    [["--model", "llama-3.1-70b"], "weights 131.4 GiB + other 3.5 GiB below 72.0 GiB"],
    [["--ranks", "3"], "a divisor or multiple of 8 KV heads, got 3"],
    [["--context", "0"], '--context\n  expected a whole number from 1 to 100000000, got "0"'],
    [["--speed", "fast"], "a factor from 0.001 to 1000"],
    [["--port", "70000"], "--port\n  expected a whole number from 0 to 65535"],
    [["--drain", "10"], "MANX_DURATION"],
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
