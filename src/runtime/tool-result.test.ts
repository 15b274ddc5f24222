import { describe, expect, it } from "vitest";
import { FINISH, runtimeWorld } from "../../test/support/runtime-world.ts";
import { delta } from "../../test/support/wire-text.ts";
import type { DecodableFormat } from "../stream/index.ts";

const ARGS = '{"q":"a"}';

/** The same call in the form of each wire: a tool that answers, then one that does not exist. */
const WIRES: ReadonlyArray<readonly [DecodableFormat, readonly object[], readonly object[]]> = [
  [
    "openai-chat",
    [
      delta({ tool_calls: [{ index: 0, id: "A", function: { name: "get", arguments: ARGS } }] }),
      delta({ tool_calls: [{ index: 1, id: "B", function: { name: "gone", arguments: "{}" } }] }),
      FINISH,
    ],
    [
      { role: "tool", tool_call_id: "A", content: "get is done" },
      {
        role: "tool",
        tool_call_id: "B",
        content: 'error: there is no tool "gone"',
      },
    ],
  ],
  [
    "openai-responses",
    [
      { type: "response.created", response: { id: "r" } },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", id: "i", call_id: "A", name: "get" },
      },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: ARGS },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "function_call", id: "i", call_id: "A", name: "get", arguments: ARGS },
      },
      { type: "response.completed", response: { id: "r" } },
    ],
    [{ type: "function_call_output", call_id: "A", output: "get is done" }],
  ],
  [
    "anthropic-messages",
    [
      { type: "message_start", message: { id: "m" } },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "A", name: "get", input: {} },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: ARGS },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ],
    [
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "A", content: "get is done" }],
      },
    ],
  ],
  [
    "gemini",
    [
      {
        candidates: [{ content: { parts: [{ functionCall: { name: "get", args: { q: "a" } } }] } }],
        responseId: "r",
      },
      {
        candidates: [
          {
            content: { parts: [{ functionCall: { id: "B", name: "gone" } }] },
            finishReason: "STOP",
          },
        ],
      },
    ],
    [
      {
        role: "user",
        parts: [
          { functionResponse: { name: "get", response: { output: "get is done" } } },
          {
            functionResponse: {
              id: "B",
              name: "gone",
              response: { error: 'error: there is no tool "gone"' },
            },
          },
        ],
      },
    ],
  ],
];

describe("a call", () => {
  it.each(WIRES)(
    "of %s starts before its message ends, and is answered in that wire's form",
    async (format, frames, messages) => {
      const world = runtimeWorld();
      const step = world.turn([world.timed("get", 5)]).step(format);
      const startedAfter: number[] = [];
      for (const [i, frame] of frames.entries()) {
        const before = world.runs.length;
        step.chunk(frame);
        if (world.runs.length > before) startedAfter.push(i);
      }
      step.end();
      await world.clock.run();
      expect(startedAfter).toHaveLength(1);
      expect(startedAfter[0]).toBeLessThan(frames.length - 1);
      expect(world.runs[0]?.args).toEqual({ q: "a" });
      expect(await step.messages()).toEqual(messages);
    },
  );
});
