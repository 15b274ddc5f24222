/** A message goes back as its provider wants it: with what only that provider has, and with no call that has no result. */
import { describe, expect, it } from "vitest";
import { delta } from "../../test/support/wire-text.ts";
import type { DecodableFormat } from "../stream/index.ts";
import { type Step, Turn, tool } from "./index.ts";

const search = tool<unknown, unknown>({
  name: "search",
  effect: "pure",
  input: (value) => value,
  run: () => "found",
});

function stepOf(format: DecodableFormat, ...chunks: readonly object[]): Step {
  const step = new Turn({ tools: [search] }).step(format);
  for (const chunk of chunks) step.chunk(chunk);
  step.end();
  return step;
}

function chatCall(index: number, more: object = {}): object {
  const call = { index, id: `c${index}`, type: "function", ...more };
  return delta({ tool_calls: [{ function: { name: "search", arguments: "{}" }, ...call }] });
}

describe("a chat message", () => {
  it("keeps text of every kind, reasoning and what a call was signed with, if it has calls", () => {
    const extra = { google: { thought_signature: "S" } };
    const said = [
      delta({ reasoning_content: "h" }),
      delta({ reasoning_content: "m", reasoning_details: [{ type: "x" }] }),
      // Alike but for their text: the decoder does not parse the later ones.
      ...["one ", "two ", "three "].map((content) => delta({ content })),
      delta({ content: [{ type: "text", text: "four" }] }),
      chatCall(0, { extra_content: extra }),
    ];
    expect(stepOf("openai-chat", ...said, delta({}, "tool_calls")).assistantMessage()).toEqual([
      {
        role: "assistant",
        content: "one two three four",
        reasoning_content: "hm",
        reasoning_details: [{ type: "x" }],
        tool_calls: [
          {
            id: "c0",
            type: "function",
            function: { name: "search", arguments: "{}" },
            extra_content: extra,
          },
        ],
      },
    ]);
    const answer = [delta({ reasoning: "hm" }), delta({ content: "a" }), delta({}, "stop")];
    expect(stepOf("openai-chat", ...answer).assistantMessage()).toEqual([
      { role: "assistant", content: "a" },
    ]);
  });

  it("names a call as its result does, once, also if the wire gave no id or one twice", async () => {
    const twice = { function: { name: "search", arguments: '{"a":1}' } };
    const calls = [
      delta({ tool_calls: [{ index: 0, id: "", ...twice }] }),
      delta({ tool_calls: [{ index: 1, id: "", ...twice }] }),
    ];
    const step = stepOf("openai-chat", ...calls, delta({}, "tool_calls"));
    const [message, ...results] = [...step.assistantMessage(), ...(await step.messages())] as {
      tool_calls?: { id: string }[];
      tool_call_id?: string;
    }[];
    expect(results).toHaveLength(2);
    expect(message!.tool_calls!.map(({ id }) => id)).toEqual(
      results.map((one) => one.tool_call_id),
    );
  });

  it.each([
    ["length", [{ role: "assistant", content: "so far" }]],
    ["content_filter", [{ role: "assistant", content: "so far" }]],
    [undefined, []],
  ])("that ended with %s has none of its calls", (reason, expected) => {
    const end = reason === undefined ? [] : [delta({}, reason)];
    const step = stepOf("openai-chat", delta({ content: "so far" }), chatCall(0), ...end);
    expect(step.assistantMessage()).toEqual(expected);
  });

  it("is none as long as it is open", () => {
    const step = new Turn({ tools: [search] }).step("openai-chat");
    step.chunk(delta({ content: "so far" }));
    expect(step.assistantMessage()).toEqual([]);
  });
});

describe("a messages message", () => {
  it("keeps blocks in order: redacted thinking, citations, and what the provider ran", () => {
    const block = (
      index: number,
      content_block: object,
      ...deltas: readonly object[]
    ): object[] => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((one) => ({ type: "content_block_delta", index, delta: one })),
      { type: "content_block_stop", index },
    ];
    const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
    const said = [
      { type: "message_start", message: { id: "m", usage: {} } },
      ...block(0, { type: "redacted_thinking", data: "R" }),
      ...block(
        1,
        { type: "server_tool_use", id: "s", name: "web_search", input: {} },
        { type: "input_json_delta", partial_json: '{"query":' },
        { type: "input_json_delta", partial_json: '"x"}' },
      ),
      ...block(2, found),
      ...block(
        3,
        { type: "text", text: "" },
        { type: "text_delta", text: "a" },
        { type: "text_delta", text: "b" },
        { type: "text_delta", text: "c" },
        { type: "citations_delta", citation: { cited_text: "q" } },
      ),
      ...block(4, { type: "text", text: "" }),
      ...block(5, { type: "tool_use", id: "t", name: "search", input: {} }),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ];
    expect(stepOf("anthropic-messages", ...said).assistantMessage()).toEqual([
      {
        role: "assistant",
        content: [
          { type: "redacted_thinking", data: "R" },
          { type: "server_tool_use", id: "s", name: "web_search", input: { query: "x" } },
          found,
          { type: "text", text: "abc", citations: [{ cited_text: "q" }] },
          { type: "tool_use", id: "t", name: "search", input: {} },
        ],
      },
    ]);
  });
});

describe("items of a response", () => {
  it("go back without reasoning that led to nothing", () => {
    const done = (output_index: number, item: object): object[] => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ];
    const reasoning = { type: "reasoning", id: "r", summary: [], encrypted_content: "E" };
    const call = { type: "function_call", id: "i", call_id: "c", name: "search", arguments: "{" };
    const text = {
      type: "message",
      id: "t",
      role: "assistant",
      content: [{ type: "output_text", text: "a" }],
    };
    const said = [...done(0, text), ...done(1, reasoning), ...done(2, call)];
    const cut = {
      type: "response.incomplete",
      response: { incomplete_details: { reason: "max_output_tokens" } },
    };
    expect(stepOf("openai-responses", ...said, cut).assistantMessage()).toEqual([text]);
    const whole = { type: "response.completed", response: { id: "x" } };
    expect(stepOf("openai-responses", ...said, whole).assistantMessage()).toEqual([
      text,
      reasoning,
      { ...call, arguments: "{}" },
    ]);
  });
});

describe("a Gemini message", () => {
  it("keeps the signatures of its parts and puts texts together", async () => {
    const chunk = (parts: readonly object[], finishReason?: string): object => ({
      candidates: [{ content: { parts }, ...(finishReason !== undefined && { finishReason }) }],
    });
    const signed = { functionCall: { name: "search", args: { q: 1 } }, thoughtSignature: "S" };
    const step = stepOf(
      "gemini",
      chunk([{ text: "think", thought: true }]),
      chunk([{ text: "a" }]),
      chunk([{ text: "b" }]),
      chunk([{ text: "c" }]),
      chunk([signed], "STOP"),
    );
    expect([...step.assistantMessage(), ...(await step.messages())]).toEqual([
      {
        role: "model",
        parts: [{ text: "think", thought: true }, { text: "abc" }, signed],
      },
      {
        role: "user",
        parts: [{ functionResponse: { name: "search", response: { output: "found" } } }],
      },
    ]);
  });
});

describe("the result of one call", () => {
  it("is there before those of all, but not before the message has ended well", async () => {
    const hang = tool<unknown, unknown>({
      name: "hang",
      effect: "pure",
      input: (value) => value,
      run: () => new Promise(() => {}),
    });
    const turn = new Turn({ tools: [search, hang] });
    const step = turn.step("openai-chat");
    step.chunk(chatCall(0));
    step.chunk(chatCall(1, { function: { name: "hang", arguments: "{}" } }));
    expect(step.result("c9")).toBeUndefined();
    let isThere = false;
    const first = step.result("c0")!.then((result) => {
      isThere = true;
      return result;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isThere).toBe(false);
    step.chunk(delta({}, "tool_calls"));
    step.end();
    expect((await first).text).toBe("found");
    expect((await step.result("c0")!).text).toBe("found");
    await turn.close();
    expect((await step.result("c1")!).status).toBe("cancelled");
  });
});
