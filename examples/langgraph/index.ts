/**
 * A graph of LangGraph.js whose tools run with bounds and deadlines of their own, and never throw.
 *
 *     npx manx engine --port 8000        (or set OPENAI_BASE_URL, OPENAI_API_KEY and MODEL)
 *     npx tsx examples/langgraph/index.ts
 */
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { manxToolNode } from "manx/langgraph";
import { tool } from "manx/runtime";
import OpenAI from "openai";
import { z } from "zod";

const search = tool({
  name: "search",
  effect: "pure",
  input: z.object({ query: z.string() }),
  deadline: "5s",
  run: ({ query }) => `Nothing is known about ${query}.`,
});

// What the twin is to call, since it has no mind of its own; nobody else reads it.
const tool_calls = ["tails", "cats"].map((query) => ({ name: "search", arguments: { query } }));
const client = new OpenAI({
  baseURL: process.env.OPENAI_BASE_URL ?? "http://127.0.0.1:8000/v1",
  apiKey: process.env.OPENAI_API_KEY ?? "none",
  defaultHeaders: {
    "x-manx-script": JSON.stringify({ output_tokens: 12, tool_calls, calls_once: true }),
  },
});

/** Any chat model of LangChain does as well; this one needs no further package. */
async function callModel({ messages }: typeof MessagesAnnotation.State) {
  const isAnswered = messages.at(-1)?.type === "tool";
  const { choices } = await client.chat.completions.create({
    model: process.env.MODEL ?? "llama-3.1-8b",
    messages: [{ role: isAnswered ? "tool" : "user", content: messages.at(-1)!.text } as never],
  });
  const { content, tool_calls: calls = [] } = choices[0]!.message;
  const asked = calls.flatMap(({ id, ...call }) =>
    call.type === "function"
      ? [{ id, name: call.function.name, args: JSON.parse(call.function.arguments) }]
      : [],
  );
  return { messages: [new AIMessage({ content: content ?? "", tool_calls: asked })] };
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", callModel)
  .addNode("tools", manxToolNode([search], { deadline: "10s", limits: { concurrency: 4 } }))
  .addEdge("__start__", "model")
  .addConditionalEdges("model", ({ messages }) =>
    (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__",
  )
  .addEdge("tools", "model")
  .compile();

const { messages } = await graph.invoke({ messages: [new HumanMessage("Why no tail?")] });
for (const message of messages) console.log(`${message.type}: ${message.text}`);
