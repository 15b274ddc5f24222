/** What is read off an answer without parsing it is what parsing finds. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorInJson, usageInJson } from "./json-answer.ts";

const tokens = fc.nat(200_000);
const chatUsage = fc.record({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  prompt_tokens_details: fc.record({ cached_tokens: tokens }),
});
const messagesUsage = fc.record({
  input_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  output_tokens: tokens,
});
const said = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom('"usage":{"prompt_tokens":7}', "\\", '"', "不".repeat(700), "x".repeat(5_000)),
);
const indent = fc.constantFrom(undefined, 1, "\t");
const after = fc.constantFrom({}, { service_tier: "default" }, { metadata: "m".repeat(3_000) });

describe("usageInJson", () => {
  it("finds the counts of a chat completion", () => {
    fc.assert(
      fc.property(said, chatUsage, after, indent, (content, usage, rest, space) => {
        const body = { id: "c", choices: [{ message: { content } }], usage, ...rest };
        expect(usageInJson(Buffer.from(JSON.stringify(body, null, space)))).toEqual({
          inputTokens: usage.prompt_tokens,
          outputTokens: usage.completion_tokens,
          cachedTokens: usage.prompt_tokens_details.cached_tokens,
        });
      }),
    );
  });

  it("finds the counts of a message, with what came from the cache and went there", () => {
    fc.assert(
      fc.property(said, messagesUsage, after, indent, (text, usage, rest, space) => {
        const body = { type: "message", content: [{ type: "text", text }], usage, ...rest };
        const read = usage.cache_read_input_tokens;
        const wrote = usage.cache_creation_input_tokens;
        expect(usageInJson(Buffer.from(JSON.stringify(body, null, space)))).toEqual({
          inputTokens: usage.input_tokens + read + wrote,
          outputTokens: usage.output_tokens,
          cachedTokens: read,
          ...(wrote > 0 && { writtenTokens: wrote }),
        });
      }),
    );
  });

  it("says nothing where there is none, however long the answer is", () => {
    for (const text of ["", "{}", '{"usage":null}', '{"usage":{"prompt_tokens":null}}']) {
      expect(usageInJson(Buffer.from(text))).toBeUndefined();
    }
    const data = Array.from({ length: 3_000 }, (_, i) => i / 7);
    expect(usageInJson(Buffer.from(JSON.stringify({ data })))).toBeUndefined();
  });

  it("passes a key over that has no count", () => {
    const details = { prompt_tokens_details: { prompt_tokens: null } };
    const body = { usage: { ...details, prompt_tokens: 5, completion_tokens: 6 } };
    expect(usageInJson(Buffer.from(JSON.stringify(body)))).toMatchObject({
      inputTokens: 5,
      outputTokens: 6,
    });
  });

  it("finds a key wherever it lies, across any windows of reading", () => {
    for (let after = 2_000; after < 2_100; after += 1) {
      const body = `{"usage":{"prompt_tokens":1,"completion_tokens":2},"x":"${"x".repeat(after)}"}`;
      expect(usageInJson(Buffer.from(body))).toMatchObject({ inputTokens: 1, outputTokens: 2 });
    }
  });
});

describe("errorInJson", () => {
  it.each([
    ['{"error":{"message":"no","type":"overloaded_error"}}', true],
    [' {\n"type":"error","error":{"type":"overloaded_error","message":"no"}}', true],
    ['{"error":null,"id":"c"}', false],
    ['{"type":"message","content":[]}', false],
    ['{"id":"c","error":{"message":"no"}}', false],
    ['["error"]', false],
    ["error", false],
    ["", false],
  ])("of %s", (text, isError) => {
    expect(errorInJson([Buffer.from(text)]) !== undefined).toBe(isError);
  });
});
