/** The parts of guardrails without a socket: what is text, what a pattern may cost, how a refused answer ends. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { argumentsText, isSurelyCheap, requestText, textOf } from "../../policy/index.ts";
import { createDecoder, createEncoder, type StreamFormat } from "../../stream/index.ts";
import { framesOf } from "../frame-splitter.ts";
import { wholeText } from "./answer-pieces.ts";
import { PatternChecker } from "./pattern-checker.ts";
import { RefusedStream, refusedWhole } from "./refused-answer.ts";

const NOBODY = { credentials: [], hidesKey: false };

describe("a pattern", () => {
  it("runs free only if its worst case is small", () => {
    const cheap = ["\\b\\d{4}( ?\\d{4}){3}\\b", "secret", "ignore (all|previous)", "\\p{L}{2,5}"];
    const dear = [
      "(a+)+$",
      "\\s+x",
      "(a|a)*",
      ".{0,9}.{0,9}.{0,9}.{0,9}.{0,9}",
      "(x?){40}",
      "(a)\\1",
    ];
    expect(cheap.filter((one) => !isSurelyCheap(one))).toEqual([]);
    expect(dear.filter(isSurelyCheap)).toEqual([]);
  });

  it("flags, is unsure, finds nothing, or fails in time", () => {
    const verdict = (
      pattern: string,
      text: string,
      onMatch: "flag" | "unsure" = "flag",
    ): string => {
      let got = "none";
      const checker = new PatternChecker({ patterns: [pattern], onMatch, budgetUs: 300_000 });
      checker.check(text, NOBODY, (one) => {
        got = one;
      });
      return got;
    };
    expect(verdict("card", "a card")).toBe("flag");
    expect(verdict("card", "a card", "unsure")).toBe("unsure");
    expect(verdict("card", "a cat")).toBe("clean");
    expect(verdict("\\bcar+d\\b", "a card")).toBe("flag");
    expect(verdict("^(a+)+$", `${"a".repeat(50)}!`)).toBe("failed");
    // What failed once does not stick.
    expect(verdict("^(a+)+$", "aa")).toBe("flag");
  });
});

describe("text", () => {
  it("of a request is what has come since the model spoke", () => {
    const messages = [
      { role: "system", content: "rules" },
      { role: "user", content: "first" },
      { role: "assistant", content: "answer", tool_calls: [{ id: "call_1", type: "function" }] },
      { role: "tool", tool_call_id: "call_1", content: "found" },
      { role: "user", content: [{ type: "text", text: "second" }] },
    ];
    expect(requestText({ messages }, "new")).toBe("found\nsecond");
    expect(requestText({ messages }, "all")).toBe("rules\nfirst\nanswer\nfound\nsecond");
    // What the caller puts into the model's mouth is the caller's.
    const begun = [...messages, { role: "assistant", content: "Sure" }];
    expect(requestText({ messages: begun }, "new")).toBe("found\nsecond\nSure");
    expect(requestText({ messages: messages.slice(1, 2) }, "new")).toBe("first");
    expect(requestText({ system: "rules", messages: messages.slice(1, 2) }, "all")).toBe(
      "rules\nfirst",
    );
    const input = [
      { type: "message", role: "user", content: "first" },
      { type: "function_call", name: "f", arguments: "{}" },
      { type: "function_call_output", output: "found" },
    ];
    expect(requestText({ input }, "new")).toBe("found");
    expect(requestText({ input: "only" }, "new")).toBe("only");
    expect(requestText({ prompt: ["one", "two"] }, "new")).toBe("one\ntwo");
  });

  it("is borne whatever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(typeof requestText(value, "new")).toBe("string");
        expect(typeof textOf(value)).toBe("string");
      }),
    );
  });

  it("leaves out pictures and names, but no text document", () => {
    const parts = [
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBOR" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "the text" } },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBOR" } },
      { type: "text", text: "data: is what it says" },
    ];
    expect(textOf(parts)).toBe("the text\ndata: is what it says");
  });

  it("of a call's arguments is what the tool will see, whatever escapes hide it", () => {
    const said = argumentsText("pay", '{"id":"\\u0034111","to":{"n":[1,true]}}');
    for (const part of ["pay", "4111", "id", "1", "true"]) expect(said).toContain(part);
    expect(argumentsText("pay", '{"broken')).toContain('{"broken');
    const answer = { content: [{ type: "tool_use", id: "toolu_1", input: { data: "4111" } }] };
    expect(wholeText(Buffer.from(JSON.stringify(answer)), "messages")).toBe("data\n4111");
    expect(wholeText(Buffer.from("no JSON"), "messages")).toBeUndefined();
  });
});

describe("a refused stream", () => {
  const formats: StreamFormat[] = ["openai-chat", "anthropic-messages", "openai-responses"];

  it.each(formats)("of %s ends well-formed and as filtered, after any of its frames", (format) => {
    const encoder = createEncoder(format, {
      ...{ id: "r1", model: "m", createdS: 5, includeUsage: true },
    });
    const frames = framesOf(
      Buffer.from(
        encoder.encode({ type: "response-start", id: "r1", model: "m" }) +
          encoder.encode({ type: "text-delta", choice: 0, text: "Once" }) +
          encoder.encode({ type: "text-delta", choice: 0, text: " upon" }),
      ),
    );
    for (let released = 1; released <= frames.length; released += 1) {
      const refused = new RefusedStream(format);
      const out = frames.slice(0, released);
      for (const frame of out) refused.note(frame);
      const decoder = createDecoder(format);
      const last = refused.end(undefined);
      expect(last).toBeDefined();
      const all = Buffer.concat([...out, last!]);
      const count = (word: string): number => all.toString().split(`"${word}"`).length;
      expect(count("content_block_stop")).toBe(count("content_block_start"));
      decoder.push(all, 0);
      decoder.end(1);
      const { reason, id, faults, error } = decoder.completion;
      expect([reason, faults, error]).toEqual(["content_filter", 0, null]);
      expect(id).toContain("r1");
    }
  });

  it("of a chat that speaks in its first chunk is named by it, without its words", () => {
    const refused = new RefusedStream("openai-chat");
    expect(refused.end(undefined)).toBeUndefined();
    const first = Buffer.from(
      'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"bad"}}]}\n\n',
    );
    const last = refused.end(first)!.toString();
    expect(last).toContain('"id":"c"');
    expect(last).toContain("content_filter");
    expect(last).not.toContain("bad");
  });
});

describe("a refused stream of legacy completions", () => {
  it("finishes with a text, as its chunks have one", () => {
    const refused = new RefusedStream("openai-chat");
    refused.note(
      Buffer.from('data: {"id":"c","choices":[{"index":0,"text":"a","finish_reason":null}]}\n\n'),
    );
    const last = refused.end(undefined)!.toString();
    expect(last).toContain('"text":""');
    expect(last).toContain('"finish_reason":"content_filter"');
    expect(last).not.toContain("delta");
  });
});

describe("a refused whole answer", () => {
  it.each([
    ["chat/completions", { choices: [{ index: 0, message: { content: "bad" } }], usage: { a: 1 } }],
    ["completions", { choices: [{ index: 0, text: "bad" }], usage: { a: 1 } }],
    ["messages", { content: [{ type: "text", text: "bad" }], usage: { a: 1 } }],
    ["responses", { output: [{ content: [{ text: "bad" }] }], usage: { a: 1 } }],
  ])("of %s keeps its envelope and loses its words", (route, answer) => {
    const made = refusedWhole(Buffer.from(JSON.stringify(answer)), route)!.toString();
    expect(made).not.toContain("bad");
    expect(made).toMatch(/content_filter|refusal/);
    expect(JSON.parse(made).usage).toEqual({ a: 1 });
    expect(refusedWhole(Buffer.from("no JSON"), route)).toBeUndefined();
  });
});
