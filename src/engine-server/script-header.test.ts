/** The script of an answer as a header, and calls that are not made once more behind their results. */
import { describe, expect, it } from "vitest";
import { parseChatRequest } from "./call-request.ts";
import { withScript } from "./script-header.ts";

const messages = [{ role: "user", content: "go" }];
const calls = [{ name: "search", arguments: { q: "a" } }];

describe("x-manx-script", () => {
  it("says what the body's field says, which comes before it", () => {
    const header = JSON.stringify({ output_tokens: 7, tool_calls: calls });
    const body = withScript({ messages, manx: { output_tokens: 3 } }, header);
    expect(parseChatRequest(body)).toMatchObject({
      outputTokens: 3,
      toolCalls: [{ name: "search", arguments: '{"q":"a"}' }],
    });
    expect(withScript({ messages }, undefined)).toEqual({ messages });
  });

  it.each(["{", "[]", "7"])("that reads %s is refused by its name", (header) => {
    expect(() => withScript({ messages }, header)).toThrow(/x-manx-script/);
    expect(() => parseChatRequest(withScript({ messages }, '{"outputs": 1}'))).toThrow(/outputs/);
  });
});

describe("calls_once", () => {
  it("holds where the conversation ends in a result, and nowhere else", () => {
    const manx = { tool_calls: calls, calls_once: true };
    const result = { role: "tool", tool_call_id: "c", content: "found" };
    const said = (list: readonly object[], more = manx): number =>
      parseChatRequest({ messages: list, manx: more }).toolCalls.length;
    expect(said(messages)).toBe(1);
    expect(said([...messages, result])).toBe(0);
    expect(said([...messages, result, ...messages])).toBe(1);
    expect(said([...messages, result], { tool_calls: calls, calls_once: false })).toBe(1);
  });
});
