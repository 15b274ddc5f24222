/** GW-02 — Comment lines, no space after `data:`, unknown fields, sloppy [DONE]. */
import { describe, expect, it } from "vitest";
import { isOutput, isProgress, SseDecoder } from "../../src/stream/index.ts";
import { bytesOf, decode, everyByte, typesIn } from "../support/wire-text.ts";

const WIRE = [
  ': keep-alive\n\n:\n\ndata:{"choices":[{"index":0,"delta":{"content":"A"}}]}\n\n',
  "event: message\nid: 7\nretry: 3000\nfoo: bar\n",
  'data: {"choices":[{"index":0,"delta":{"content":"B"},"finish_reason":"stop"}]}\n\n',
  "data:\n\ndata: [DONE] \n\n",
].join("");

describe("GW-02: sloppy framing", () => {
  it.each(["whole", "byte by byte"])("read %s says AB, stop, done, without a fault", (pieces) => {
    const bytes = bytesOf(WIRE);
    const cuts = pieces === "whole" ? [] : everyByte(bytes);
    const { text, completion, events } = decode("openai-chat", bytes, cuts);
    expect(text).toBe("AB");
    expect(completion).toMatchObject({ state: "complete", reason: "stop", faults: 0, error: null });
    expect(completion.terminalMissing).toBe(false);
    expect(typesIn(events)).toEqual([
      "ping",
      "ping",
      "text-delta",
      "text-delta",
      "finish",
      "ping",
      "done",
    ]);
  });

  it("has comments that are neither output nor progress", () => {
    const comments = decode("openai-chat", WIRE).events.filter((event) => event.type === "ping");
    expect(comments).toHaveLength(3);
    for (const event of comments)
      expect([isOutput(event), isProgress(event)]).toEqual([false, false]);
  });

  it("loses exactly one space behind the colon", () => {
    const [frame] = new SseDecoder().push(bytesOf("data:  x\n\n"));
    expect(frame).toEqual({ kind: "event", event: "", data: " x" });
  });
});
