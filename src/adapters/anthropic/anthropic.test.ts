/** The loop over the official client of Anthropic, against a provider on loopback that says what it is told. */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { agentTools, closeProviders, provider } from "../../../test/support/agent-tools.ts";
import { Turn } from "../../runtime/index.ts";
import type { ScriptedProvider } from "../../testing/index.ts";
import { feed, runMessages } from "./index.ts";

closeProviders();

function clientOf({ url }: ScriptedProvider): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
}

const messages = [{ role: "user" as const, content: "go" }];
const params = { model: "m", max_tokens: 100, messages };
const search = { name: "search", args: { q: "cats" } };

describe("runMessages", () => {
  it("starts tools at the brace and sends signed thinking back as it came", async () => {
    const { tools, started } = agentTools();
    const thinking = { text: "hm", signature: "SIGNED" };
    const calls = [search, { name: "fail", args: { q: "x" } }];
    const server = await provider(
      { thinking, text: "Let me see.", calls, before: () => started },
      { text: "Cats." },
    );
    const turn = new Turn({ tools, deadline: "20s" });
    const result = await runMessages(clientOf(server), params, { turn }).result();
    expect(result).toMatchObject({ text: "Cats.", ended: "answered", steps: 2 });
    const [first, second] = server.asked.map((one) => one.body);
    expect(first.tools.map(({ name }: { name: string }) => name)).toEqual([
      "fail",
      "hang",
      "pay",
      "search",
    ]);
    expect(first.tools[3]).not.toHaveProperty("eager_input_streaming");
    expect(second.messages).toEqual([
      ...messages,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "SIGNED" },
          { type: "text", text: "Let me see." },
          { type: "tool_use", id: "call_1_0", name: "search", input: { q: "cats" } },
          { type: "tool_use", id: "call_1_1", name: "fail", input: { q: "x" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_1_0", content: '{"found":"cats"}' },
          {
            type: "tool_result",
            tool_use_id: "call_1_1",
            content: "error: out of order",
            is_error: true,
          },
        ],
      },
    ]);
  });

  it("goes on with a message that has only paused, and asks for eager arguments if it may", async () => {
    const server = await provider({ text: "Searching", finish: "pause" }, { text: "Found." });
    const { tools } = agentTools();
    const turn = new Turn({ tools });
    const run = runMessages(clientOf(server), params, { turn, eagerInput: true });
    expect(await run.result()).toMatchObject({ text: "Found.", ended: "answered", steps: 2 });
    expect(server.asked[0]!.body.tools[0].eager_input_streaming).toBe(true);
    expect(server.asked[1]!.body.messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "text", text: "Searching" }],
    });
  });

  it("rejects if the stream dies in an argument", async () => {
    const { tools, runs } = agentTools();
    const calls = [
      { name: "pay", args: { q: "a" } },
      { name: "search", args: '{"q":"ca' },
    ];
    const server = await provider({ calls, cut: true });
    const run = runMessages(clientOf(server), params, { turn: new Turn({ tools }) });
    await expect(run.result()).rejects.toThrow();
    expect(runs).toEqual([]);
  });

  it("works with a client that answers whole messages", async () => {
    const { tools, runs } = agentTools();
    const whole = [
      { content: [{ type: "tool_use", id: "t", name: "search", input: { q: "a" } }] },
      { content: [{ type: "text", text: "whole" }] },
    ];
    const client = {
      messages: {
        create: async () => {
          const { content } = whole.shift()!;
          const stop_reason = content[0]!.type === "text" ? "end_turn" : "tool_use";
          const usage = { input_tokens: 1, output_tokens: 2 };
          return { id: "x", type: "message", role: "assistant", content, stop_reason, usage };
        },
      },
    };
    const result = await runMessages(client, params, { turn: new Turn({ tools }) }).result();
    expect(result).toMatchObject({ text: "whole", ended: "answered", steps: 2 });
    expect(result.usage.outputTokens).toBe(4);
    expect(runs).toEqual(["search"]);
  });
});

describe("feed", () => {
  it("takes the SDK's helper stream, too", async () => {
    const { tools, started } = agentTools();
    const server = await provider({ calls: [search], before: () => started });
    const step = new Turn({ tools }).step("anthropic-messages");
    await feed(step, clientOf(server).messages.stream(params));
    expect((await step.results()).map(({ status }) => status)).toEqual(["ok"]);
  });
});
