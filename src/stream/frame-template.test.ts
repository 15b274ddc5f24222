/** What a template says of a frame is what parsing says, whatever the frame, its framing and the cuts between reads. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createDecoder, type StreamEvent, type StreamFormat, StreamObserver } from "./index.ts";

const UTF8 = new TextEncoder();

interface Wire {
  readonly frames: readonly string[];
  /** Of the whole text, as shares of it. */
  readonly cuts: readonly number[];
}

function reads({ frames, cuts }: Wire): Uint8Array[] {
  const bytes = UTF8.encode(frames.join(""));
  const places = cuts.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.slice(from, places[i] ?? bytes.length));
}

function told(events: readonly StreamEvent[]): object[] {
  return events
    .filter(({ type }) => type !== "unknown")
    .map(({ frame: _, atUs: __, ...rest }) => rest);
}

function decoded(format: StreamFormat, wire: Wire): object[] {
  const decoder = createDecoder(format);
  const events = reads(wire).flatMap((read) => decoder.push(read, 0));
  return told([...events, ...decoder.end(0)]);
}

/** Nothing is ever learnt from a neighbour: after each frame comes one that makes any template be dropped. */
function parsed(format: StreamFormat, { frames }: Wire): object[] {
  const decoder = createDecoder(format);
  const events: StreamEvent[] = [];
  for (const frame of frames) {
    events.push(...decoder.push(UTF8.encode(frame), 0));
    events.push(...decoder.push(UTF8.encode("\n\ndata: {}\n\n"), 0));
  }
  return told([...events, ...decoder.end(0)]);
}

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(" so", "a", "token 7", "é", "不思", "\ud83d\ude00") },
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom('"', "\\", "\n", "content", '","x":"', ":", ",", "{", "", "\ufeffx", "\u2028"),
  fc.constantFrom("x".repeat(255), "x".repeat(256), "x".repeat(257), `${"x".repeat(255)}\n`),
);

/** JSON as servers write it: with what may be escaped as it is, or not. */
function written(value: object, isAscii: boolean): string {
  const json = JSON.stringify(value);
  if (!isAscii) return json;
  return json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const chatData = fc
  .record({
    said: text,
    name: fc.constantFrom("content", "content", "content", "reasoning_content", "refusal", "x"),
    finish: fc.constantFrom(null, null, null, null, "stop"),
    choice: fc.constantFrom(0, 0, 0, 1),
    usage: fc.option(fc.record({ completion_tokens: fc.nat(9) }), { freq: 6 }),
    filler: fc.constantFrom(undefined, undefined, "", "x9", " so", '"'),
    isAscii: fc.boolean(),
  })
  .map(({ said, name, finish, choice, usage, filler, isAscii }) => {
    const choices = [{ index: choice, delta: { [name]: said }, finish_reason: finish }];
    const chunk = { id: "c", model: "m", choices, obfuscation: filler };
    return written(usage === null ? chunk : { ...chunk, usage }, isAscii);
  });

const messagesData = fc
  .record({
    said: text,
    type: fc.constantFrom("text_delta", "text_delta", "thinking_delta"),
    index: fc.constantFrom(0, 0, 1),
    isAscii: fc.boolean(),
  })
  .map(({ said, type, index, isAscii }) => {
    const delta = type === "text_delta" ? { type, text: said } : { type, thinking: said };
    return written({ type: "content_block_delta", index, delta }, isAscii);
  });

const responsesData = fc
  .record({
    said: text,
    type: fc.constantFrom("output_text", "output_text", "reasoning_summary_text", "refusal"),
    index: fc.constantFrom(1, 1, 2),
    number: fc.oneof(fc.nat(12), fc.constantFrom(-1, 1.5, 1e21, 10 ** 15)),
    filler: fc.constantFrom(undefined, "x", "xyz"),
  })
  .map(({ said, type, index, number, filler }) => {
    const fields = { output_index: index, delta: said, obfuscation: filler };
    return written({ type: `response.${type}.delta`, sequence_number: number, ...fields }, false);
  });

/** Few ways in a run, so that frames are often alike. */
function framed(data: fc.Arbitrary<string>): fc.Arbitrary<Wire> {
  const way = fc.record({
    line: fc.constantFrom("\n", "\n", "\n", "\r\n", "\r"),
    before: fc.constantFrom("", "", "", "event: delta", "id: 7", ": hi", "data:"),
    after: fc.constantFrom("", "", "", ": bye", "retry: 1", "event: content_block_delta"),
    gap: fc.constantFrom("", "", "", "\n", ": ping\n", ": ping\n\n", "event: lost\n\n"),
  });
  const frame = fc.tuple(data, way, fc.nat(4)).map(([json, way, odd]) => ({ json, way, odd }));
  return fc
    .record({
      usual: way,
      frames: fc.array(frame, { maxLength: 14 }),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
    })
    .map(({ usual, frames, cuts }) => ({
      cuts,
      frames: frames.map(({ json, way, odd }) => {
        const { line, before, after, gap } = odd === 0 ? way : usual;
        const lines = [before, `data: ${json}`, after].filter((one) => one !== "");
        return `${lines.join(line)}${line}${line}${gap}`;
      }),
    }));
}

const WIRES: readonly (readonly [StreamFormat, fc.Arbitrary<Wire>])[] = [
  ["openai-chat", framed(chatData)],
  ["anthropic-messages", framed(messagesData)],
  ["openai-responses", framed(responsesData)],
];

describe("a frame that is like the one before it", () => {
  it.each(WIRES)("gives the events of a parsed one (%s)", (format, wires) => {
    fc.assert(
      fc.property(wires, (wire) => {
        expect(decoded(format, wire)).toEqual(parsed(format, wire));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(WIRES)("gives the same figures to who keeps no text (%s)", (format, wires) => {
    fc.assert(
      fc.property(wires, (wire) => {
        const listening = new StreamObserver(format, 0);
        const reading = new StreamObserver(createDecoder(format), 0);
        for (const [at, read] of reads(wire).entries()) {
          listening.push(read, at * 700_000);
          reading.push(read, at * 700_000);
          expect(seen(listening)).toEqual(seen(reading));
        }
        expect(listening.end(9_000_000)).toBe(reading.end(9_000_000));
        expect(seen(listening)).toEqual(seen(reading));
      }),
      { numRuns: 1_000 },
    );
  });

  const chat = (i: number): object => ({ choices: [{ index: 0, delta: { content: `t${i}` } }] });
  const response = { type: "response.output_text.delta", output_index: 0 };
  it.each([
    ["openai-chat", "\n", chat],
    ["openai-chat", "\r\n", chat],
    ["openai-chat", "\n", (i: number) => ({ ...chat(i), obfuscation: "x".repeat(i % 4) })],
    ["openai-chat", "\n", (i: number) => ({ choices: [{ delta: { reasoning: `t${i}` } }] })],
    [
      "openai-responses",
      "\n",
      (i: number) => ({ ...response, sequence_number: i, delta: `t${i}` }),
    ],
    [
      "anthropic-messages",
      "\n",
      (i: number) => ({
        type: "content_block_delta",
        delta: { type: "text_delta", text: `\n${i}` },
      }),
    ],
  ] as [StreamFormat, string, (i: number) => object][])(
    "is not parsed (%s, %j, %#)",
    (format, line, data) => {
      const frames = Array.from(
        { length: 20 },
        (_, i) =>
          `event: x${line}data: ${JSON.stringify(data(i)).replace("\\n0", "0")}${line}${line}`,
      );
      const parse = vi.spyOn(JSON, "parse");
      const observer = new StreamObserver(format, 0);
      for (const [i, frame] of frames.entries()) {
        const bytes = UTF8.encode(frame);
        // Within the first line, or after it.
        const cut = i % 3 === 0 ? 4 : bytes.indexOf(0x64);
        observer.push(bytes.subarray(0, cut), 0);
        observer.push(bytes.subarray(cut), 0);
      }
      const documents = parse.mock.calls.filter(([text]) => text.startsWith("{"));
      parse.mockRestore();
      expect(documents).toHaveLength(1);
      expect(observer.metrics.chunks).toBe(20);
    },
  );

  it.each(["a", "\\u0061"])("is not taken where nobody can tell which text was read (%s)", (a) => {
    const frame = (x: string): string =>
      `data: {"choices":[{"x":"${x}","delta":{"content":"${a}"}}]}\n\n`;
    const texts = decoded("openai-chat", { frames: [frame("a"), frame("b")], cuts: [] });
    const delta = { type: "text-delta", choice: 0, text: "a" };
    expect(texts.slice(0, 2)).toEqual([delta, delta]);
  });

  it.each(["\t", "\u0000", "\\x", "\\u12", "\\"])(
    "is not taken where it is no JSON (%j)",
    (wrong) => {
      const frames = ["a", "b", `c${wrong}`].map(
        (said) => `data: {"choices":[{"delta":{"content":"${said}"}}]}\n\n`,
      );
      const events = decoded("openai-chat", { frames, cuts: [] });
      expect(events[2]).toMatchObject({ type: "fault", code: "frame-json" });
    },
  );

  it.each([
    ["sequence_number", "1", "2", "text-delta"],
    ["sequence_number", "9", "10", "text-delta"],
    ["sequence_number", "1", "02", "fault"],
    ["sequence_number", "1", "", "fault"],
    ["sequence_number", "1", '"2"', "text-delta"],
    ["obfuscation", '"x"', '"yz"', "text-delta"],
    ["obfuscation", '"x"', '"\t"', "fault"],
    ["obfuscation", '"x"', "2", "text-delta"],
  ])("may differ in %s, from %s to %s, and give a %s", (name, before, now, type) => {
    const frame = (said: string, value: string): string =>
      `data: {"${name}":${value},"type":"response.output_text.delta","delta":"${said}"}\n\n`;
    const frames = [frame("a", before), frame("b", now)];
    expect(decoded("openai-responses", { frames, cuts: [] })[1]).toMatchObject({ type });
  });

  it("counts what an escape stands for, not what it is written with", () => {
    const frames = ["word", "\\n\\u0020\\ud83d\\ude00", "words"].map(
      (said) => `data: {"choices":[{"delta":{"content":"${said}"}}]}\n\n`,
    );
    const usage = 'data: {"choices":[],"usage":{"completion_tokens":13}}\n\n';
    const observer = new StreamObserver("openai-chat", 0);
    for (const [at, frame] of [...frames, usage].entries()) observer.push(UTF8.encode(frame), at);
    expect(observer.metrics).toMatchObject({ tokens: 13, spreadBy: "characters" });
    // Four, four and five.
    expect(observer.metrics.itlUs).toHaveLength(9);
  });

  it("is not parsed in a read of many", () => {
    const frames = Array.from({ length: 200 }, (_, i) => `data: ${JSON.stringify(chat(i))}\n\n`);
    const parse = vi.spyOn(JSON, "parse");
    const events = createDecoder("openai-chat").push(UTF8.encode(frames.join("")), 0);
    const parses = parse.mock.calls.length;
    parse.mockRestore();
    expect(parses).toBe(1);
    expect(events.map((event) => event.type === "text-delta" && event.text)).toEqual(
      frames.map((_, i) => `t${i}`),
    );
  });

  it("is not what is left of a frame over the limit", () => {
    const frame = `event: x\ndata: ${JSON.stringify(chat(1))}\n\n`;
    const decoder = createDecoder("openai-chat", { frameBytesMax: 600 });
    for (let i = 0; i < 2; i += 1) expect(decoder.push(UTF8.encode(frame), 0)).toHaveLength(1);
    decoder.push(UTF8.encode("event: x\n"), 0);
    const spilled = decoder.push(UTF8.encode("data: ".padEnd(700)), 0);
    expect(spilled).toMatchObject([{ type: "fault", code: "frame-size" }]);
    expect(decoder.push(UTF8.encode(frame.slice(9)), 0)).toEqual([]);
    expect(decoder.push(UTF8.encode(frame), 0)).toHaveLength(1);
  });

  it("is read like any other beyond the limit of a frame", () => {
    const frame = (said: string): Uint8Array =>
      UTF8.encode(`data: {"choices":[{"delta":{"content":"${said}"}}]}\n\n`);
    const decoder = createDecoder("openai-chat", { frameBytesMax: 60 });
    for (const short of ["a", "b"]) expect(decoder.push(frame(short), 0)).toHaveLength(1);
    const long = decoder.push(frame("x".repeat(30)), 0);
    expect(long).toMatchObject([{ type: "fault", code: "frame-size" }]);
  });
});

function seen(observer: StreamObserver): object {
  const { hasContent, hasProgress, hasOutput, hasVisible, isThinking, firstOutputUs } = observer;
  const flags = { hasContent, hasProgress, hasOutput, hasVisible, isThinking, firstOutputUs };
  return { ...flags, metrics: observer.metrics, completion: observer.completion };
}
