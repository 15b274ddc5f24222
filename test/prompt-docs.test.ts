/** The code of docs/how-to/prompt-layout.md runs as it stands there, and its numbers are what there is. */
import { expect, it } from "vitest";
import * as root from "../src/index.ts";
import * as runtime from "../src/runtime/index.ts";
import { BREAK_ADVICE } from "../src/runtime/index.ts";
import { runCode, tsBlocks } from "./support/doc-code.ts";
import { promptWorld } from "./support/prompt-world.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/prompt-layout.md");
const [compiling, trying, keeping] = tsBlocks(page);

async function compile(): Promise<{ prompt: runtime.CompiledPrompt; sent: string[] }> {
  const sent: string[] = [];
  const prompt = await runCode(compiling!, "prompt", {
    ...runtime,
    tools: [{ name: "track", description: "Where an order is." }],
    rules: "Answer in one sentence. ".repeat(300),
    order: "A lamp.",
    messages: [],
    time: "2026-11-29T10:00:00Z",
    question: "Where is it?",
    send: async (json: string) => sent.push(json),
  });
  return { prompt: prompt as runtime.CompiledPrompt, sent };
}

it("compiles a prompt, and a simulated provider serves what was promised", async () => {
  const { prompt, sent } = await compile();
  expect(sent).toEqual([prompt.json]);
  expect(prompt.json.indexOf("2026-11-29")).toBeGreaterThan(prompt.json.indexOf("A lamp."));
  expect(prompt.findings).toEqual([]);
  const names = { ...runtime, ...root, prompt };
  const second = (await runCode(trying!, "second", names)) as runtime.SimulatedUsage;
  expect(second.readTokens).toBe(prompt.cacheableTokens);
  expect(second.readTokens).toBeGreaterThan(1_700);
});

it("primes and keeps it", async () => {
  const { prompt } = await compile();
  const posted: unknown[] = [];
  const keeper = (await runCode(keeping!, "keeper", {
    ...runtime,
    ...root,
    prompt,
    seed: 1,
    post: async (...all: unknown[]) => posted.push(all),
    usageOf: () => ({ readTokens: 0, writtenTokens: 1_900 }),
  })) as runtime.CacheKeeper;
  expect(keeper.report()).toMatchObject([
    { name: "support", state: "kept", calls: 1, arrivals: 1 },
  ]);
  expect(posted).toHaveLength(1);
  keeper.stop();
});

it("shows what the benchmark prints", () => {
  const figures = promptWorld({ conversations: 60, turns: 8, seed: 7 });
  for (const [layout, { hitShare, ttftMsP50, ttftMsP99, n }] of Object.entries(figures)) {
    const row = new RegExp(`^${layout} .*$`, "m").exec(page)![0];
    expect(row).toContain(`${(hitShare * 100).toFixed(1)} %`);
    for (const ms of [ttftMsP50, ttftMsP99]) expect(row).toContain(`${ms.toFixed(1)} ms`);
    expect(row).toContain(` ${n} `);
  }
});

it("names every cause, together with the page of the gateway", () => {
  const both = page + readText("docs/how-to/cache-marks.md");
  const own = ["cache_key_changed"];
  for (const cause of Object.keys(BREAK_ADVICE).filter((one) => !own.includes(one))) {
    expect(both).toContain(`\`${cause}\``);
  }
});
