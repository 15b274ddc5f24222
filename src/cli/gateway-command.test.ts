import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { realClock } from "../clock/index.ts";
import { newKey } from "../gateway/keys/index.ts";
import { close, listen } from "../http/index.ts";
import type { Io, IoSignal } from "./io.ts";
import { makeProgram, runProgram } from "./program.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of open.splice(0)) await end();
});

interface Run {
  out: string;
  err: string;
  readonly done: Promise<number>;
  interrupt(): void;
  signal(name: IoSignal): void;
}

function run(...argv: string[]): Run {
  const controller = new AbortController();
  const listeners: [IoSignal, () => void][] = [];
  const signal = (name: IoSignal): void => {
    for (const [one, run] of listeners) if (one === name) run();
  };
  const running = { out: "", err: "" };
  const io: Io = {
    stdout: { write: (text) => (running.out += text) },
    stderr: { write: (text) => (running.err += text) },
    env: {},
    clock: realClock,
    interrupt: controller.signal,
    onSignal: (name, run) => {
      listeners.push([name, run]);
      return () => undefined;
    },
  };
  const done = runProgram(makeProgram(io), ["gateway", ...argv], io);
  return Object.assign(running, { done, interrupt: () => controller.abort(), signal });
}

async function upstreamUrl(): Promise<string> {
  const server = createServer((_request, response) => response.end('{"object":"list"}'));
  open.push(() => close(server, { cutOpen: true }));
  return listen(server, { port: 0 });
}

async function ready(started: Run): Promise<string> {
  for (let i = 0; i < 500 && !started.err.includes("\n"); i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return /gateway: (http\S+)/.exec(started.err)?.[1] ?? "";
}

describe("manx gateway", () => {
  it("says in one line where it listens and how to use it, forwards, and closes when interrupted", async () => {
    const upstream = await upstreamUrl();
    const started = run(
      "--upstream",
      `${upstream}/v1`,
      "--port",
      "0",
      "--preconnect",
      "2",
      "--json",
    );
    const url = await ready(started);
    expect(started.err).toBe(
      `gateway: ${url} -> ${upstream} (2 connections open); ` +
        `base URL for OpenAI clients ${url}/v1, for Anthropic clients ${url}\n`,
    );
    expect(JSON.parse(started.out)).toMatchObject({
      url,
      upstreams: [upstream],
      connections: { open: 2, warmed: 2 },
      limits: { idleUs: 120_000_000 },
      warning: null,
    });
    expect(await (await fetch(`${url}/v1/models`)).json()).toEqual({ object: "list" });
    started.interrupt();
    expect(await started.done).toBe(0);
    expect(started.err.endsWith("gateway: closed\n")).toBe(true);
    await expect(fetch(`${url}/v1/models`)).rejects.toThrow();
  });

  it("starts with a warning when the upstream is down", async () => {
    const started = run("--upstream", "http://127.0.0.1:9", "--port", "0");
    await ready(started);
    expect(started.err).toContain("warning MANX_UPSTREAM_DOWN");
    expect(started.err).toContain("ECONNREFUSED");
    started.interrupt();
    expect(await started.done).toBe(0);
  });

  it("tells at the start of an access log that cannot be written", async () => {
    const flags = ["--upstream", "http://127.0.0.1:9", "--port", "0", "--rehearsal", "0"];
    const started = run(...flags, "--access-log", "/proc/no/such/place.jsonl");
    await says(started, "gateway: http");
    await says(started, "MANX_LOG_UNWRITABLE");
    expect(started.err).toContain("/proc/no/such/place.jsonl");
    started.interrupt();
    expect(await started.done).toBe(0);
  });

  it("translates for an upstream whose format is said", async () => {
    const paths: (string | undefined)[] = [];
    const message = { role: "assistant", content: "Hello" };
    const server = createServer((request, response) => {
      paths.push(request.url);
      response.setHeader("content-type", "application/json");
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, choices }));
    });
    open.push(() => close(server, { cutOpen: true }));
    const upstream = await listen(server, { port: 0 });
    const more = ["--port", "0", "--rehearsal", "0"];
    const started = run("--upstream", upstream, "--format", "openai", ...more);
    const url = await ready(started);
    const asked = { role: "user", content: "hi" };
    const body = JSON.stringify({ model: "m", max_tokens: 5, messages: [asked] });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/v1/messages`, { method: "POST", headers, body });
    expect(await answer.json()).toMatchObject({ content: [{ type: "text", text: "Hello" }] });
    expect(paths).toEqual(["/v1/chat/completions"]);
    started.interrupt();
    expect(await started.done).toBe(0);
  });

  it("shows every limit in effect, those of a policy by its name", async () => {
    const flags = ["--upstream", "http://127.0.0.1:9", "--port", "0", "--timeout-gap", "7s"];
    const started = run(...flags, "--verbose");
    await ready(started);
    for (const line of [
      "writeUs 120000000",
      "default: connectUs 10000000",
      "default: lifeGapUs 7000000",
      "default: thinkingGapUs 7000000",
    ]) {
      expect(started.err).toContain(`\n  ${line}\n`);
    }
    started.interrupt();
    expect(await started.done).toBe(0);
  });

  it.each([
    [["--upstreem", "http://x"], "MANX_FLAG_UNKNOWN", 'did you mean "--upstream"?'],
    [[], "MANX_FLAG_MISSING", "--upstream"],
    [["--upstream", "localhost:8000"], "MANX_CONFIG_VALUE", "http: or https:"],
    [["--upstream", "http://user:secret@x"], "MANX_CONFIG_VALUE", "no user or password"],
    [["--upstream", "http://x", "--idle", "120"], "MANX_DURATION", "--idle"],
    [["--upstream", "http://x", "--port", "70000"], "MANX_FLAG_VALUE", "--port"],
    [["--upstream", "http://x", "--body-limit", "32"], "MANX_FLAG_VALUE", "--body-limit"],
    [["--upstream", "http://x", "--connections", "0"], "MANX_FLAG_VALUE", "--connections"],
  ])("refuses %j with %s", async (argv, code, detail) => {
    const started = run(...argv);
    expect(await started.done).toBe(2);
    expect(started.err).toContain(`error ${code}`);
    expect(started.err).toContain(detail);
    expect(started.err).not.toContain("secret@");
  });

  it("names the port that is in use", async () => {
    const port = new URL(await upstreamUrl()).port;
    const started = run("--upstream", "http://127.0.0.1:9", "--port", port);
    expect(await started.done).toBe(2);
    expect(started.err).toContain(`error MANX_PORT_IN_USE`);
    expect(started.err).toContain(`127.0.0.1:${port}`);
  });

  it("follows the file of keys to where a new configuration says that it is", async () => {
    const folder = mkdtempSync(join(tmpdir(), "manx-cli-gateway-"));
    const file = join(folder, "manx.config.jsonc");
    const upstreams = [{ name: "u", url: await upstreamUrl(), format: "any" }];
    const name = (keys: string): void => {
      const gateway = { listen: { port: 0 }, upstreams, keys: { source: "file", path: keys } };
      writeFileSync(file, JSON.stringify({ gateway }));
    };
    const write = (keys: string, ...records: object[]): void => {
      const text = JSON.stringify({ version: 1, keys: records });
      writeFileSync(join(folder, keys), text, { mode: 0o600 });
    };
    const { key, id, hash } = newKey((count) => randomBytes(count));
    write("old.json");
    write("new.json");
    name("old.json");
    const started = run("--config", file);
    const url = await ready(started);
    const status = async (): Promise<number> =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status()).toBe(401);
    name("new.json");
    await says(started, "read again; changed keys.path");
    write("new.json", { id, hash });
    for (let i = 0; i < 800 && (await status()) !== 200; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await status()).toBe(200);
    started.interrupt();
    expect(await started.done).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it("runs by a file, by the new one when it changes, and by the old one when that is broken", async () => {
    const folder = mkdtempSync(join(tmpdir(), "manx-cli-gateway-"));
    const file = join(folder, "manx.config.jsonc");
    const write = (models: unknown): void => {
      const upstreams = [{ name: "u", url: upstream, format: "any" }];
      writeFileSync(file, JSON.stringify({ gateway: { listen: { port: 0 }, upstreams, models } }));
    };
    const upstream = await upstreamUrl();
    write([{ name: "one", targets: ["u"] }]);
    const started = run("--config", file);
    const url = await ready(started);
    const names = async (): Promise<string[]> => {
      const listed = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
      return listed.data.map(({ id }) => id);
    };
    expect(await names()).toEqual(["one"]);
    write([{ name: "two", targets: ["u"] }]);
    await says(started, "read again; changed models.one, models.two\n");
    expect(await names()).toEqual(["two"]);
    writeFileSync(file, '{"gateway": {"upstreems": []}}');
    await says(started, "runs on as before");
    expect(started.err).toContain("gateway.upstreams is missing");
    expect(await names()).toEqual(["two"]);
    started.interrupt();
    expect(await started.done).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it.each([
    [["--config", "none.jsonc"], "MANX_FILE_UNREADABLE", "none.jsonc"],
    [["--config", "x", "--upstream", "http://x"], "MANX_FLAG_VALUE", "both"],
    [["--config", "x", "--idle", "3s"], "MANX_FLAG_VALUE", "--idle"],
  ])("refuses %j with %s", async (argv, code, detail) => {
    const started = run(...argv);
    expect(await started.done).toBe(2);
    expect(started.err).toContain(`error ${code}`);
    expect(started.err).toContain(detail);
  });
});

async function says(started: Run, text: string): Promise<void> {
  for (let i = 0; i < 1_000 && !started.err.includes(text); i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(started.err).toContain(text);
}
