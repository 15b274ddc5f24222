/**
 * An agent over the official client of OpenAI: tools start at the last brace of their arguments, one deadline over all.
 *
 *     npx manx engine --port 8000        (or set OPENAI_BASE_URL, OPENAI_API_KEY and MODEL)
 *     npx tsx examples/openai/index.ts
 */
import { runChat } from "manx/openai";
import { modelFetch, Turn, tool } from "manx/runtime";
import OpenAI from "openai";
import { z } from "zod";

const search = tool({
  name: "search",
  description: "Looks something up.",
  effect: "pure", // it may start while the model still writes
  input: z.object({ query: z.string() }),
  deadline: "5s",
  run: ({ query }) => `Nothing is known about ${query}.`,
});

const turn = new Turn({ tools: [search], deadline: "30s" });

const client = new OpenAI({
  baseURL: process.env.OPENAI_BASE_URL ?? "http://127.0.0.1:8000/v1",
  apiKey: process.env.OPENAI_API_KEY ?? "none",
  fetch: modelFetch({ turn }), // time-outs by phase, retries before content only, hedges if asked for
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
const run = runChat(client, { model, messages }, { turn, stepsMax: 4 });

for await (const text of run) process.stdout.write(text);

const { ended, steps, results, usage } = await run.result();
await turn.close();
console.log(`\n${ended} after ${steps} steps, ${usage.outputTokens} tokens`);
for (const { name, status, times } of results) {
  console.log(`${name}: ${status}, started ${times.headStartUs} µs before the end of its message`);
}
