import { describe, expect, it } from "vitest";
import { chatWire, decode, delta, typesIn } from "../../test/support/wire-text.ts";
import type { StreamEventBody } from "./stream-event.ts";

describe("accents of the chat wire", () => {
  const cases: ReadonlyArray<
    readonly [string, readonly unknown[], readonly Partial<StreamEventBody>[]]
  > = [
    [
      "content in parts",
      [
        {
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
      ],
      [
        { type: "text-delta", text: "a" },
        { type: "text-delta", text: "b" },
      ],
    ],
    [
      "thinking in parts",
      [{ content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }] }] }],
      [{ type: "reasoning-delta", text: "a" }],
    ],
    [
      "both names of reasoning",
      [{ reasoning: "a", reasoning_content: "a" }],
      [{ type: "reasoning-delta", text: "a" }],
    ],
    ["a refusal", [{ content: null, refusal: "No" }], [{ type: "refusal-delta", text: "No" }]],
    [
      "the call of old",
      [
        { function_call: { name: "get", arguments: '{"a"' } },
        { function_call: { arguments: ":1}" } },
      ],
      [
        { type: "tool-start", name: "get", idGenerated: true },
        { type: "tool-delta", json: '{"a"' },
        { type: "tool-delta", json: ":1}" },
      ],
    ],
  ];

  it.each(cases)("%s", (_, deltas, expected) => {
    const { events } = decode(
      "openai-chat",
      chatWire(...deltas.map((one) => delta(one as object))),
    );
    expect(events.filter((one) => !["response-start", "fault"].includes(one.type))).toMatchObject(
      expected,
    );
  });

  it("a message instead of a delta, and the text of completions", () => {
    const message = { choices: [{ index: 0, message: { content: "a" } }] };
    expect(decode("openai-chat", chatWire(message)).text).toBe("a");
    expect(decode("openai-chat", chatWire({ choices: [{ text: "b" }] })).text).toBe("b");
  });
});

describe("fields of a form that cannot be read", () => {
  const good = delta({ content: "b" });

  it.each([
    ["choices", { choices: "x" }],
    ["choice", { choices: [5] }],
    ["choice index", { choices: [{ index: 128, delta: { content: "a" } }] }],
    ["choice index", { choices: [{ index: -1, delta: { content: "a" } }] }],
    ["tool call", delta({ tool_calls: [7] })],
    ["tool call index", delta({ tool_calls: [{ index: 0.5, function: { name: "get" } }] })],
    ["content part", delta({ content: ["a"] })],
  ])("are a fault of chat that names the %s, and the next frame is read", (field, frame) => {
    const { completion, text } = decode("openai-chat", chatWire(frame, good, "[DONE]"));
    expect(text).toBe("b");
    expect(completion).toMatchObject({
      state: "complete",
      faults: 1,
      firstFault: `frame-shape: ${field} cannot be read`,
    });
  });

  it("are none where a frame only says nothing", () => {
    const wire = chatWire({ id: "x" }, { choices: null }, { choices: [] }, { choices: [{}] }, good);
    const { completion, events } = decode("openai-chat", `${wire}${chatWire("[DONE]")}`);
    expect(completion.faults).toBe(0);
    expect(typesIn(events)).toEqual(["response-start", "unknown", "text-delta", "done"]);
  });
});
