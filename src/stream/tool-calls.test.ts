import { describe, expect, it } from "vitest";
import { bytesOf, chatWire, delta } from "../../test/support/wire-text.ts";
import { createDecoder } from "./stream-decoder.ts";

describe("limits of tool calls", () => {
  const opening = (index: number): object =>
    delta({ tool_calls: [{ index, id: `c${index}`, function: { name: "get", arguments: "" } }] });
  const fragment = (index: number, json: string): object =>
    delta({ tool_calls: [{ index, function: { arguments: json } }] });

  function run(options: object, ...frames: readonly object[]) {
    const decoder = createDecoder("openai-chat", options);
    decoder.push(bytesOf(chatWire(...frames, delta({}, "tool_calls"), "[DONE]")), 0);
    return decoder.completion;
  }

  it("refuse a call too many, whose arguments end up in no other", () => {
    const completion = run(
      { toolCallsMax: 1 },
      opening(0),
      opening(1),
      fragment(1, '{"b":1}'),
      fragment(0, '{"a":1}'),
    );
    expect(completion.toolCalls).toMatchObject([{ argumentsText: '{"a":1}', problem: null }]);
    expect(completion.firstFault).toBe("tool-limit: more than 1 tool calls");
  });

  it("stop at the last character that fits, and the call is not run", () => {
    const fits = run({ argumentCharsMax: 7 }, opening(0), fragment(0, '{"a"'), fragment(0, ":1}"));
    expect(fits.toolCalls).toMatchObject([{ argumentsText: '{"a":1}', problem: null }]);
    const over = run({ argumentCharsMax: 6 }, opening(0), fragment(0, '{"a"'), fragment(0, ":1}"));
    expect(over.toolCalls[0]?.problem).toBe("its arguments are longer than the limit");
    expect(over.firstFault).toContain("tool-limit");
  });
});
