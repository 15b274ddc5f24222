/** The examples as their readers run them: each a process of its own, against the live twin; and each of them short. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EngineServer } from "../src/engine-server/index.ts";
import { configuredGateway } from "./support/configured-gateway.ts";
import { startTwin, stopTwins } from "./support/live-twin.ts";
import { ROOT, readText } from "./support/source-tree.ts";

const MODEL = "llama-3.1-8b";
const LINES_MAX = 60;
const names = readdirSync(join(ROOT, "examples"));

let twin: EngineServer;

beforeAll(async () => {
  twin = await startTwin({}, { servedModel: MODEL });
});
afterAll(stopTwins);

/** @returns what it prints. */
function run(name: string, env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const script = join(ROOT, "examples", name, "index.ts");
    const child = spawn(process.execPath, ["--import", "tsx", script], {
      cwd: ROOT,
      env: { PATH: process.env.PATH, MODEL, ...env },
      timeout: 25_000,
    });
    let [out, errors] = ["", ""];
    child.stdout.on("data", (text) => (out += text));
    child.stderr.on("data", (text) => (errors += text));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${name} ended with ${code}: ${errors}`));
    });
  });
}

describe("examples", () => {
  it("are short, and each is named in the how-to", () => {
    expect(names.sort()).toEqual(["ai", "anthropic", "langgraph", "mcp", "openai"]);
    const page = readText("docs/how-to/adapters.md");
    for (const name of names) {
      const text = readFileSync(join(ROOT, "examples", name, "index.ts"), "utf8");
      expect(text.trimEnd().split("\n").length, name).toBeLessThan(LINES_MAX);
      expect(page).toContain(`../../examples/${name}/index.ts`);
    }
  });

  it("openai", async () => {
    const out = await run("openai", { OPENAI_BASE_URL: `${twin.url}/v1` });
    expect(out).toMatch(
      /answered after 2 steps, \d+ tokens\nsearch: ok, started [1-9]\d* µs before/,
    );
  });

  it("anthropic, through a gateway that translates, as its configuration has it", async () => {
    const section = readText("examples/anthropic/manx.config.jsonc");
    expect(section).toContain('"url": "http://127.0.0.1:8000", "format": "openai"');
    const { gateway } = await configuredGateway({
      upstreams: [{ name: "twin", url: twin.url, format: "openai" }],
      models: [{ name: MODEL, targets: [{ upstream: "twin", model: MODEL }] }],
    });
    const out = await run("anthropic", { ANTHROPIC_BASE_URL: gateway.url });
    expect(out).toMatch(/answered after 2 steps, \d+ tokens\nsearch: ok/);
  });

  it("ai", async () => {
    const out = await run("ai", { OPENAI_BASE_URL: `${twin.url}/v1` });
    expect(out).toMatch(/stop after 2 steps\n1 of 1 tools started early/);
  });

  it("langgraph", async () => {
    const out = await run("langgraph", { OPENAI_BASE_URL: `${twin.url}/v1` });
    const order = out.split("\n").map((line) => line.split(":")[0]);
    expect(order).toEqual(["human", "ai", "tool", "tool", "ai", ""]);
    expect(out).toContain(
      "tool: Nothing is known about tails.\ntool: Nothing is known about cats.",
    );
  });

  it("mcp", async () => {
    const out = await run("mcp", { OPENAI_BASE_URL: `${twin.url}/v1` });
    expect(out).toBe("tail_of: ok, A Manx has no tail.\nanswered\n");
  });
});
