import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode } from "../../test/support/wire-text.ts";
import { encodeChatChunk } from "./chat-encoder.ts";
import type { StreamEvent, StreamEventBody } from "./stream-event.ts";
import { USAGE_UNKNOWN } from "./token-usage.ts";

const HEAD = { id: "x", model: "m", createdS: 1_700_000_000 };
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 10 });

const said: fc.Arbitrary<StreamEventBody> = fc.oneof(
  text.map((one) => ({ type: "text-delta", choice: 0, text: one }) as const),
  text.map((one) => ({ type: "reasoning-delta", choice: 0, text: one, redacted: false }) as const),
  text.map((one) => ({ type: "refusal-delta", choice: 0, text: one }) as const),
  fc.constant({ type: "ping" } as const),
);

function called(call: number): StreamEventBody[] {
  const shared = { choice: 0, call };
  const known = { id: `c${call}`, name: "get", idGenerated: false, byServer: false };
  return [
    { type: "tool-start", ...shared, ...known },
    { type: "tool-delta", ...shared, json: '{"a"' },
    { type: "tool-delta", ...shared, json: ":1}" },
  ];
}

function withoutStamp({ frame: _frame, atUs: _atUs, ...body }: StreamEvent): object {
  return body;
}

describe("encodeChatChunk", () => {
  it("writes what the decoder reads back", () => {
    fc.assert(
      fc.property(
        fc.array(said, { minLength: 1 }),
        fc.nat(2),
        fc.nat(100),
        (some, calls, tokens) => {
          const reason = calls > 0 ? ("tool_calls" as const) : ("stop" as const);
          const usage = {
            ...USAGE_UNKNOWN,
            inputTokens: 3,
            outputTokens: tokens,
            reasoningTokens: 1,
          };
          const events: StreamEventBody[] = [
            { type: "response-start", id: HEAD.id, model: HEAD.model },
            ...some,
            ...Array.from({ length: calls }, (_, call) => called(call)).flat(),
            { type: "finish", choice: 0, reason, rawReason: reason },
            { type: "usage", usage },
            { type: "done" },
          ];
          const wire = events.map((event) => encodeChatChunk(HEAD, event)).join("");
          const read = decode("openai-chat", wire).events.filter((one) => one.type !== "tool-end");
          expect(read.map(withoutStamp)).toEqual(events);
        },
      ),
    );
  });

  it("writes keys in one order", () => {
    const chunk = encodeChatChunk(HEAD, { type: "text-delta", choice: 0, text: "a" });
    expect(chunk).toBe(
      'data: {"id":"x","object":"chat.completion.chunk","created":1700000000,"model":"m",' +
        '"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n',
    );
  });

  it("claims nothing that is not known", () => {
    const unknown = encodeChatChunk(HEAD, { type: "usage", usage: USAGE_UNKNOWN });
    expect(unknown).toContain('"usage":{}');
    const finish = { type: "finish", choice: 0, reason: "other", rawReason: "novel" } as const;
    expect(encodeChatChunk(HEAD, finish)).toContain('"finish_reason":"novel"');
    expect(encodeChatChunk(HEAD, { type: "reasoning-signature", choice: 0, signature: "s" })).toBe(
      "",
    );
  });
});
