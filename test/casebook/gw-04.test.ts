/** GW-04 — `overloaded_error` after content has begun (reading and telling it; the gateway's half is live). */
import { describe, expect, it } from "vitest";
import { encodeChatChunk } from "../../src/stream/index.ts";
import { StreamTranslator } from "../../src/translate/index.ts";
import { bytesOf, chatWire, decode, messagesWire, typesIn } from "../support/wire-text.ts";

const WIRE = messagesWire(
  {
    type: "message_start",
    message: { id: "msg_1", model: "m", usage: { input_tokens: 3 } },
  } as never,
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as never,
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "The " } } as never,
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "answer" } } as never,
  { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } as never,
);
const HEAD = { id: "msg_1", model: "m", createdS: 0 };

describe("GW-04: an error after content has begun", () => {
  it("ends the response as an error with the status that it would have had", () => {
    const { text, completion, events } = decode("anthropic-messages", WIRE);
    expect(text).toBe("The answer");
    expect(completion.state).toBe("error");
    expect(completion.error).toMatchObject({
      errorType: "overloaded_error",
      message: "Overloaded",
      status: 529,
    });
    expect(completion.reason).toBeNull();
    expect(typesIn(events).slice(-1)).toEqual(["error"]);
  });

  it("becomes one error frame of chat, with no end that claims success", () => {
    const { events } = decode("anthropic-messages", WIRE);
    const chat = events.map((event) => encodeChatChunk(HEAD, event)).join("");
    expect(
      chat.endsWith(
        'data: {"error":{"message":"Overloaded","type":"overloaded_error","code":529}}\n\n',
      ),
    ).toBe(true);
    expect(chat).not.toContain("[DONE]");
    expect(chat).not.toContain('"stop"');
    expect(decode("openai-chat", chat).completion).toMatchObject({
      state: "error",
      error: { errorType: "overloaded_error", status: 529 },
    });
  });

  it.each([
    ["openai-chat", /\ndata: \{"error":\{"message":"Overloaded"[^\n]*\n\n$/],
    ["openai-responses", /\nevent: response.failed\ndata: [^\n]*"message":"Overloaded"[^\n]*\n\n$/],
  ] as const)("is the last word in the dialect of %s", (to, lastFrame) => {
    const translator = new StreamTranslator("anthropic-messages", to, { id: "gen" });
    const pushed = translator.push(bytesOf(WIRE), 0);
    const { bytes, isComplete } = translator.end(0);
    const wire = new TextDecoder().decode(Buffer.concat([pushed, bytes]));
    expect(isComplete).toBe(false);
    expect(wire).toMatch(lastFrame);
    expect(wire).not.toMatch(/\[DONE\]|"finish_reason":"|response.completed/);
    expect(decode(to, wire).text).toBe("The answer");
  });

  it("is an error event to Anthropic's client, whoever said it", () => {
    const said = chatWire(
      { id: "x", choices: [{ index: 0, delta: { content: "The answer" } }] },
      { error: { message: "Overloaded", type: "server_error", code: 503 } },
    );
    const translator = new StreamTranslator("openai-chat", "anthropic-messages", { id: "gen" });
    const wire = new TextDecoder().decode(translator.push(bytesOf(said), 0));
    expect(
      wire.endsWith(
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      ),
    ).toBe(true);
    expect(translator.end(0)).toEqual({ bytes: new Uint8Array(0), isComplete: false });
  });

  it.each([
    [{ error: { message: "slow down", type: "rate_limit_error", code: null } }, 429],
    [{ error: { message: "gone", code: 503 } }, 503],
    [{ error: "out of memory" }, null],
    [{ object: "error", message: "too long", type: "BadRequestError", code: 400 }, 400],
  ])("is known on the chat wire as %j", (frame, status) => {
    const { completion } = decode("openai-chat", chatWire(frame));
    expect(completion.state).toBe("error");
    expect(completion.error?.status).toBe(status);
  });

  it("is known by its event's name, even if its data is no JSON", () => {
    const { completion } = decode("openai-chat", "event: error\ndata: upstream died\n\n");
    expect(completion.error).toMatchObject({ message: "upstream died", status: null });
  });
});
