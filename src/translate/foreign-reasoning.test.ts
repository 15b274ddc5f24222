import { describe, expect, it } from "vitest";
import { keepOwnReasoning } from "./foreign-reasoning.ts";

const text = { type: "text", text: "x" };
const thinking = (signature: string): object => ({ type: "thinking", thinking: "hm", signature });

describe("keepOwnReasoning", () => {
  it("leaves out what Anthropic has not signed, and nothing else", () => {
    const own = { role: "assistant", content: [thinking("SIG"), text] };
    const foreign = [thinking("manx.openai.encrypted:ENC"), thinking(""), text];
    const body = { model: "m", messages: [own, { role: "assistant", content: foreign }] };
    const before = structuredClone(body);
    expect(keepOwnReasoning(body, "anthropic-messages")).toEqual({
      body: { model: "m", messages: [own, { role: "assistant", content: [text] }] },
      dropped: 2,
    });
    expect(body).toEqual(before);
  });

  it("leaves out a message that was nothing else", () => {
    const messages = [{ role: "assistant", content: [thinking("")] }, { role: "user" }];
    expect(keepOwnReasoning({ messages }, "anthropic-messages")).toEqual({
      body: { messages: [{ role: "user" }] },
      dropped: 1,
    });
  });

  it("leaves out what OpenAI has not encrypted", () => {
    const item = (encrypted_content?: string): object => ({ type: "reasoning", encrypted_content });
    const input = [item("ENC"), item(), item("manx.anthropic.signature:SIG")];
    expect(keepOwnReasoning({ input }, "openai-responses")).toEqual({
      body: { input: input.slice(0, 2) },
      dropped: 1,
    });
  });

  it.each([
    ["anthropic-messages", { messages: [{ content: "x" }, 3, { content: [thinking("S")] }] }],
    ["openai-responses", { input: "Hi" }],
    ["openai-chat", { messages: [{ content: [thinking("")] }] }],
    ["anthropic-messages", "no object"],
  ] as const)("gives %s the same object if there is nothing to do", (format, body) => {
    expect(keepOwnReasoning(body, format).body).toBe(body);
  });
});
