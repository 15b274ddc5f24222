/** The node in a graph of LangGraph.js, and in the hand, with messages of LangChain. */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { agentTools } from "../../../test/support/agent-tools.ts";
import { runtimeWorld } from "../../../test/support/runtime-world.ts";
import { Turn } from "../../runtime/index.ts";
import { manxCallbacks, manxToolNode } from "./index.ts";

function asks(...calls: ReadonlyArray<readonly [name: string, args: object]>): AIMessage {
  const tool_calls = calls.map(([name, args], i) => ({ id: `c${i}`, name, args }));
  return new AIMessage({ content: "", tool_calls });
}

/** Streams these pieces. */
class ScriptedModel extends BaseChatModel {
  readonly #pieces: readonly AIMessageChunk[];

  constructor(pieces: readonly AIMessageChunk[]) {
    super({});
    this.#pieces = pieces;
  }

  override _llmType(): string {
    return "scripted";
  }

  override _generate(): Promise<ChatResult> {
    return Promise.reject(new Error("it streams"));
  }

  override async *_streamResponseChunks(
    _messages: unknown,
    _options: unknown,
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of this.#pieces) {
      const chunk = new ChatGenerationChunk({ message, text: "" });
      yield chunk;
      await runManager?.handleLLMNewToken("", undefined, undefined, undefined, undefined, {
        chunk,
      });
    }
  }
}

const human = new HumanMessage("go");

describe("manxToolNode", () => {
  it("answers each call in a graph, in order, and throws for none", async () => {
    const { tools } = agentTools();
    const said = [
      asks(["fail", { q: "x" }], ["search", { q: "cats" }], ["serch", {}], ["search", { q: 7 }]),
      new AIMessage("done"),
    ];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", () => ({ messages: [said.shift()!] }))
      .addNode("tools", manxToolNode(tools))
      .addEdge("__start__", "model")
      .addConditionalEdges("model", ({ messages }) =>
        (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__",
      )
      .addEdge("tools", "model")
      .compile();
    const { messages } = await graph.invoke({ messages: [human] });
    const answers = messages.filter((one): one is ToolMessage => one instanceof ToolMessage);
    expect(answers.map(({ tool_call_id, status, text }) => [tool_call_id, status, text])).toEqual([
      ["c0", "error", "error: out of order"],
      ["c1", "success", '{"found":"cats"}'],
      ["c2", "error", expect.stringContaining('did the call mean "search"?')],
      ["c3", "error", expect.stringContaining("do not fit")],
    ]);
    expect(answers[1]!.artifact).toEqual({ found: "cats" });
    expect(messages.at(-1)!.text).toBe("done");
  });

  it("bounds what runs at once, and each call by its own deadline", async () => {
    const world = runtimeWorld();
    const tools = [
      world.timed("a", 10_000, { deadline: "50ms" }),
      world.timed("b", 100),
      world.timed("c", 100),
    ];
    const { clock } = world;
    const node = manxToolNode(tools, { clock, limits: { concurrency: 1 } });
    const running = node({ messages: [asks(["a", {}], ["b", {}], ["c", {}])] });
    await clock.run();
    const { messages } = await running;
    expect(world.runs.map(({ name, atMs }) => [name, atMs])).toEqual([
      ["a", 0],
      ["b", 50],
      ["c", 150],
    ]);
    expect(messages!.map((one) => (one as ToolMessage).status)).toEqual([
      "error",
      "success",
      "success",
    ]);
  });

  it("leaves answered calls alone, takes bare lists and single calls, and messages that ask for nothing", async () => {
    const { tools, runs } = agentTools();
    const node = manxToolNode(tools);
    const answered = new ToolMessage({ tool_call_id: "c0", content: "had" });
    const two = asks(["search", { q: "a" }], ["search", { q: "b" }]);
    expect(await idsOf(node([human, two, answered]))).toEqual(["c1"]);
    expect(await idsOf(node({ lg_tool_call: two.tool_calls![0] }))).toEqual(["c0"]);
    for (const state of [[], [human], { messages: [new AIMessage("hi")] }, {}, undefined]) {
      expect(await idsOf(node(state))).toEqual([]);
    }
    expect(runs).toEqual(["search", "search"]);
  });

  it("runs nothing of a message that was cut at its length", async () => {
    const { tools, runs } = agentTools();
    const message = asks(["pay", { q: "a" }]);
    message.response_metadata = { finish_reason: "length" };
    const { messages } = await manxToolNode(tools)([message]);
    expect((messages![0] as ToolMessage).text).toContain("cut at its length limit");
    expect(runs).toEqual([]);
  });

  it("stops when the graph is called off", async () => {
    const { tools, started } = agentTools();
    const gone = new AbortController();
    const running = manxToolNode(tools)([asks(["hang", { q: "a" }])], { signal: gone.signal });
    await started;
    gone.abort(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    const late = manxToolNode(tools)([asks(["hang", { q: "a" }])], { signal: gone.signal });
    await expect(late).rejects.toThrow("gone");
  });
});

describe("manxCallbacks", () => {
  it("have tools start while the model streams, once", async () => {
    const { tools, runs } = agentTools();
    const turn = new Turn({ tools });
    const piece = (args: string, name?: string): AIMessageChunk =>
      new AIMessageChunk({
        content: "",
        tool_call_chunks: [{ index: 0, args, ...(name !== undefined && { name, id: "c0" }) }],
      });
    const model = new ScriptedModel([piece('{"q":', "search"), piece('"cats"}')]);
    const runsAtEnd: string[][] = [];
    const watch = { handleLLMEnd: () => void runsAtEnd.push([...runs]), awaitHandlers: true };
    const callbacks = [watch, manxCallbacks(turn)];
    const message = await model.invoke([human], { callbacks });
    expect(runsAtEnd).toEqual([["search"]]);
    const { messages } = await manxToolNode(tools, { turn })({ messages: [human, message] });
    expect((messages![0] as ToolMessage).text).toBe('{"found":"cats"}');
    expect(runs).toEqual(["search"]);
    expect(turn.counts.early).toBe(1);
  });

  it("take back what began if the model's stream fails", async () => {
    const { tools, runs } = agentTools();
    const turn = new Turn({ tools });
    const handler = manxCallbacks(turn);
    const chunk = {
      message: { tool_call_chunks: [{ index: 0, id: "h", name: "hang", args: '{"q":"a"}' }] },
    };
    handler.handleLLMNewToken("", {}, "r", undefined, undefined, { chunk });
    expect(runs).toEqual(["hang"]);
    handler.handleLLMError(new Error("cut"), "r");
    await turn.close();
    expect(turn.running).toBe(0);
  });
});

async function idsOf(run: Promise<Record<string, object[]>>): Promise<string[]> {
  return (await run).messages!.map((one) => (one as ToolMessage).tool_call_id);
}
