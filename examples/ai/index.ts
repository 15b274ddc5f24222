/**
 * The AI SDK 6 with tools that start at the last brace of their arguments instead of at the end of the message.
 *
 *     npx manx engine --port 8000        (or set OPENAI_BASE_URL, OPENAI_API_KEY and MODEL)
 *     npx tsx examples/ai/index.ts
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { stepCountIs, streamText, wrapLanguageModel } from "ai";
import { manxMiddleware, manxTools } from "manx/ai";
import { Turn, tool } from "manx/runtime";
import { z } from "zod";

const search = tool({
  name: "search",
  description: "Looks something up.",
  effect: "pure",
  input: z.object({ query: z.string() }),
  run: ({ query }) => `Nothing is known about ${query}.`,
});

const provider = createOpenAICompatible({
  name: "twin",
  baseURL: process.env.OPENAI_BASE_URL ?? "http://127.0.0.1:8000/v1",
  apiKey: process.env.OPENAI_API_KEY ?? "none",
  // What the twin is to call, since it has no mind of its own; nobody else reads it.
  headers: {
    "x-manx-script": JSON.stringify({
      output_tokens: 12,
      tool_calls: [{ name: "search", arguments: { query: "tails of cats" } }],
      calls_once: true,
    }),
  },
});

const turn = new Turn({ tools: [search], deadline: "30s" });
const result = streamText({
  model: wrapLanguageModel({
    model: provider(process.env.MODEL ?? "llama-3.1-8b"),
    middleware: manxMiddleware(turn),
  }),
  tools: await manxTools(turn),
  prompt: "Why has a Manx cat no tail?",
  stopWhen: stepCountIs(4),
  abortSignal: turn.deadline.signal,
});

for await (const text of result.textStream) process.stdout.write(text);

const steps = await result.steps;
await turn.close();
console.log(`\n${await result.finishReason} after ${steps.length} steps`);
console.log(`${turn.counts.early} of ${turn.counts.started} tools started early`);
