import { describe, expect, it } from "vitest";
import { decode } from "../../test/support/wire-text.ts";
import type { StreamFormat } from "./stream-decoder.ts";
import { createEncoder } from "./stream-encoder.ts";
import type { StreamEventBody } from "./stream-event.ts";

const OPTIONS = { id: "gen", model: null, createdS: 1, includeUsage: false };

function write(format: StreamFormat, ...events: readonly StreamEventBody[]): string {
  const encoder = createEncoder(format, OPTIONS);
  return events.map((event) => encoder.encode(event)).join("");
}

function thought(text: string): StreamEventBody {
  return { type: "reasoning-delta", choice: 0, text, redacted: false };
}

const text: StreamEventBody = { type: "text-delta", choice: 0, text: "x" };
const nextThought: StreamEventBody = { type: "block-start", kind: "reasoning" };
const signed: StreamEventBody = { type: "reasoning-signature", choice: 0, signature: "S" };

describe("createEncoder", () => {
  it("names the formats that it knows", () => {
    expect(() => createEncoder("openai" as StreamFormat, OPTIONS)).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN" }),
    );
  });

  it.each(["openai-chat", "openai-responses", "anthropic-messages"] as const)(
    "%s writes nothing after an end, and a head before any word",
    (format) => {
      const done: StreamEventBody = { type: "done" };
      const whole = write(format, text, done);
      expect(write(format, text, done, text, done)).toBe(whole);
      expect(decode(format, whole)).toMatchObject({ text: "x", completion: { state: "complete" } });
      expect(decode(format, whole).events[0]).toMatchObject({ type: "response-start" });
    },
  );
});

describe("parts of reasoning", () => {
  it("are parted by an empty line in chat, and only where one follows", () => {
    const wire = write(
      "openai-chat",
      nextThought,
      thought("a"),
      nextThought,
      thought("b"),
      nextThought,
      text,
    );
    const said = decode("openai-chat", wire).events.map((one) =>
      one.type === "reasoning-delta" ? one.text : "",
    );
    expect(said.join("")).toBe("a\n\nb");
  });

  it("are blocks of their own for Anthropic, each with its signature", () => {
    const wire = write(
      "anthropic-messages",
      nextThought,
      thought("a"),
      signed,
      nextThought,
      signed,
    );
    expect(wire.match(/"type":"thinking"/g)).toHaveLength(2);
    expect(wire.match(/signature_delta/g)).toHaveLength(2);
  });
});

describe("a response that grows without end", () => {
  it("fails at the limit of what it can repeat at its end", () => {
    const encoder = createEncoder("openai-responses", OPTIONS);
    const piece: StreamEventBody = { ...text, text: "x".repeat(4 * 1024 * 1024) };
    const frames = Array.from({ length: 9 }, () => encoder.encode({ ...piece }));
    expect(frames.slice(0, 8).join("")).not.toContain("response.failed");
    expect(frames[8]).toContain("response.failed");
    expect(encoder.encode({ type: "done" })).toBe("");
  });

  it("fails at the limit of its items", () => {
    const encoder = createEncoder("openai-responses", OPTIONS);
    let wire = "";
    for (let i = 0; i < 4_200; i += 1)
      wire = encoder.encode(i % 2 === 0 ? text : thought("h")) || wire;
    expect(wire).toContain("response.failed");
  });
});
