/**
 * The same over the official client of Anthropic. Against the twin it goes through the gateway, which translates:
 *
 *     npx manx engine --port 8000
 *     npx manx gateway --config examples/anthropic/manx.config.jsonc
 *     (or set ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY and MODEL)
 *     npx tsx examples/anthropic/index.ts
 */
import Anthropic from "@anthropic-ai/sdk";
import { runMessages } from "manx/anthropic";
import { Turn, tool } from "manx/runtime";
import { z } from "zod";

const search = tool({
  name: "search",
  description: "Looks something up.",
  effect: "pure",
  input: z.object({ query: z.string() }),
  run: ({ query }) => `Nothing is known about ${query}.`,
});

const client = new Anthropic({
  baseURL: process.env.ANTHROPIC_BASE_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.ANTHROPIC_API_KEY ?? "none",
  // What the twin is to call, since it has no mind of its own; nobody else reads it.
  defaultHeaders: {
    "x-manx-script": JSON.stringify({
      output_tokens: 12,
      tool_calls: [{ name: "search", arguments: { query: "tails of cats" } }],
      calls_once: true,
    }),
  },
});

const model = process.env.MODEL ?? "llama-3.1-8b";
const messages = [{ role: "user" as const, content: "Why has a Manx cat no tail?" }];
const turn = new Turn({ tools: [search], deadline: "30s" });
const run = runMessages(client, { model, max_tokens: 200, messages }, { turn, stepsMax: 4 });

for await (const text of run) process.stdout.write(text);

const { ended, steps, results, usage } = await run.result();
await turn.close();
console.log(`\n${ended} after ${steps} steps, ${usage.outputTokens} tokens`);
for (const { name, status, times } of results) {
  console.log(`${name}: ${status}, started ${times.headStartUs} µs before the end of its message`);
}
