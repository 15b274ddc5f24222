/** Agents that ask, run the calls of the message and ask again: as their libraries do it, and with Manx in them. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { tool as aiTool, stepCountIs, streamText, type ToolSet, wrapLanguageModel } from "ai";
import OpenAI from "openai";
import { z } from "zod";
import { manxMiddleware, manxTools } from "../../src/adapters/ai/index.ts";
import { runMessages } from "../../src/adapters/anthropic/index.ts";
import { runChat } from "../../src/adapters/openai/index.ts";
import { type Tool, Turn, tool } from "../../src/runtime/index.ts";

export interface Task {
  readonly url: string;
  readonly names: readonly string[];
  /** What each tool does. */
  readonly work: (name: string) => Promise<string>;
}

export type Contestant = (task: Task) => Promise<void>;

const input = z.object({ q: z.string() });
const PROMPT = "go";
const messages = [{ role: "user" as const, content: PROMPT }];

function manxToolsOf({ names, work }: Task): Tool[] {
  return names.map((name) => tool({ name, effect: "pure", input, run: () => work(name) }));
}

function openAi({ url }: Task): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
}

function anthropic({ url }: Task): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
}

function aiModel({ url }: Task) {
  return createOpenAICompatible({ name: "mock", baseURL: `${url}/v1` })("m");
}

async function anthropicRunner(task: Task, runToolsEagerly: boolean): Promise<void> {
  const runner = anthropic(task).beta.messages.toolRunner({
    model: "m",
    max_tokens: 100,
    messages,
    tools: task.names.map((name) => ({
      type: "custom" as const,
      name,
      input_schema: { type: "object" as const },
      parse: (value: unknown) => value,
      run: () => task.work(name),
    })),
    stream: true,
    runToolsEagerly,
  });
  for await (const message of runner) for await (const _ of message);
}

/** @returns the calls of a message of the chat wire, read to its end. */
async function readCalls(client: OpenAI): Promise<{ id: string; name: string; args: object }[]> {
  const stream = await client.chat.completions.create({ model: "m", messages, stream: true });
  const calls: { id: string; name: string; json: string }[] = [];
  for await (const { choices } of stream) {
    for (const { index, id, function: named } of choices[0]?.delta.tool_calls ?? []) {
      calls[index] ??= { id: id!, name: named!.name!, json: "" };
      calls[index].json += named?.arguments ?? "";
    }
  }
  return calls.map(({ id, name, json }) => ({ id, name, args: JSON.parse(json) as object }));
}

async function plain(task: Task, isParallel: boolean): Promise<void> {
  const client = openAi(task);
  const calls = await readCalls(client);
  if (isParallel) await Promise.all(calls.map(({ name }) => task.work(name)));
  else for (const { name } of calls) await task.work(name);
  await readCalls(client);
}

export const CONTESTANTS: Readonly<Record<string, Contestant>> = {
  "Manx in the Anthropic SDK": async (task) => {
    const turn = new Turn({ tools: manxToolsOf(task) });
    await runMessages(
      anthropic(task),
      { model: "m", max_tokens: 100, messages },
      { turn },
    ).result();
    await turn.close();
  },
  "Manx in the OpenAI SDK": async (task) => {
    const turn = new Turn({ tools: manxToolsOf(task) });
    await runChat(openAi(task), { model: "m", messages }, { turn }).result();
    await turn.close();
  },
  "Manx in the AI SDK 6": async (task) => {
    const turn = new Turn({ tools: manxToolsOf(task) });
    const model = wrapLanguageModel({ model: aiModel(task), middleware: manxMiddleware(turn) });
    const tools = await manxTools(turn);
    await streamText({ model, tools, prompt: PROMPT, stopWhen: stepCountIs(3) }).consumeStream();
    await turn.close();
  },
  "Anthropic SDK, runToolsEagerly": (task) => anthropicRunner(task, true),
  "Anthropic SDK": (task) => anthropicRunner(task, false),
  "AI SDK 6, streamText": async (task) => {
    const entries = task.names.map((name) => {
      return [name, aiTool({ inputSchema: input, execute: () => task.work(name) })];
    });
    const tools = Object.fromEntries(entries) as ToolSet;
    const model = aiModel(task);
    await streamText({ model, tools, prompt: PROMPT, stopWhen: stepCountIs(3) }).consumeStream();
  },
  "LangGraph.js, ToolNode": async (task) => {
    const client = openAi(task);
    const tools = task.names.map((name) => {
      return langChainTool(() => task.work(name), { name, description: name, schema: input });
    });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async () => ({
        messages: [new AIMessage({ content: "", tool_calls: await readCalls(client) })],
      }))
      .addNode("tools", new ToolNode(tools))
      .addEdge("__start__", "model")
      .addConditionalEdges("model", ({ messages: said }) =>
        (said.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__",
      )
      .addEdge("tools", "model")
      .compile();
    await graph.invoke({ messages: [new HumanMessage(PROMPT)] });
  },
  "plain code, parallel": (task) => plain(task, true),
  "plain code, serial": (task) => plain(task, false),
};
