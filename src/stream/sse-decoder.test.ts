import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseDecoder, type SseFrame } from "./sse-decoder.ts";

const UTF8 = new TextEncoder();

function decode(bytes: Uint8Array, cuts: readonly number[] = [], limit?: number) {
  const decoder = new SseDecoder(limit);
  const frames: SseFrame[] = [];
  let from = 0;
  // A caller may reuse its buffer: each read is a copy that is wiped afterwards.
  for (const cut of [...cuts, bytes.length]) {
    const read = bytes.slice(from, cut);
    frames.push(...decoder.push(read));
    read.fill(0x21);
    from = cut;
  }
  return { frames, tailBytes: decoder.end() };
}

function decodeText(text: string, limit?: number) {
  return decode(UTF8.encode(text), [], limit);
}

/** Lines that mean something, and lines that look as if they did. */
const line = fc.oneof(
  fc.constantFrom("", "", "data", "data:", "data: ", "event: x", "event", ":", ": hi", "id: 7"),
  fc.constantFrom("data:  two", "datum: 1", "data : 2", " data: 3", "retry: 10", "\ufeffdata: 4"),
  fc
    .string({ unit: "binary", maxLength: 12 })
    .map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
);
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
const wire = fc
  .array(fc.tuple(line, lineEnd), { maxLength: 30 })
  .map((lines) => lines.flat().join(""));

/** WHATWG HTML, 9.2.6, step by step; knows nothing of reads and limits. */
function byTheStandard(text: string): SseFrame[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  // What follows the last line end is no line.
  lines.pop();
  const frames: SseFrame[] = [];
  let [event, data] = ["", ""];
  for (const one of lines) {
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(one) ?? [];
    if (one === "") {
      if (data !== "") frames.push({ kind: "event", event, data: data.slice(0, -1) });
      [event, data] = ["", ""];
    } else if (field === "") frames.push({ kind: "comment", comment: value });
    else if (field === "event") event = value;
    else if (field === "data") data += `${value}\n`;
  }
  return frames;
}

describe("SseDecoder", () => {
  it("gives the same frames and the same tail at every cut", () => {
    fc.assert(
      fc.property(wire, fc.boolean(), (text, hasMark) => {
        const bytes = UTF8.encode(hasMark ? `\ufeff${text}` : text);
        const whole = decode(bytes);
        const each = Array.from(bytes, (_, i) => i).slice(1);
        expect(decode(bytes, each)).toEqual(whole);
        for (const cut of each) expect(decode(bytes, [cut])).toEqual(whole);
      }),
      { numRuns: 150 },
    );
  });

  it("gives the same text at every cut of bytes that are no UTF-8", () => {
    const rough = fc.uint8Array({ maxLength: 24 });
    fc.assert(
      fc.property(rough, (noise) => {
        const bytes = new Uint8Array([...UTF8.encode("data: "), ...noise, 10, 10]);
        const whole = decode(bytes);
        for (let cut = 0; cut <= bytes.length; cut += 1)
          expect(decode(bytes, [cut])).toEqual(whole);
      }),
    );
  });

  it("agrees with the standard, written down plainly for a whole text", () => {
    fc.assert(
      fc.property(wire, fc.boolean(), (text, hasMark) => {
        const marked = hasMark ? `\ufeff${text}` : text;
        expect(decodeText(marked).frames).toEqual(byTheStandard(marked));
      }),
      { numRuns: 500 },
    );
  });

  it("ends a frame at a lone CR at once, not with the next read", () => {
    expect(decodeText("data: a\r\r").frames).toHaveLength(1);
  });

  it.each([
    ["nothing", "", 0],
    ["a whole frame", "data: a\n\n", 0],
    ["a line without its end", "data: a", 7],
    ["a line without its blank line", "data: a\n", 8],
    ["an event's name alone", "event: error\n", 13],
    ["half a comment", ": a", 3],
  ])("tells the size of an unfinished frame: %s", (_, text, tailBytes) => {
    const { frames, tailBytes: got } = decodeText(text);
    expect(got).toBe(tailBytes);
    expect(frames).toHaveLength(text === "data: a\n\n" ? 1 : 0);
  });

  it("skips a frame over the limit, says so once, and reads the next one", () => {
    const long = "x".repeat(40);
    const forms = [
      `data: ${long}\n\n`,
      `data: ${long}`.concat("\ndata: more\n\n"),
      `${"data: 12345\n".repeat(5)}\n`,
      `event: ${long}\ndata: a\n\n`,
    ];
    for (const form of forms) {
      const bytes = UTF8.encode(`${form}data: b\n\n`);
      const expected = [
        { kind: "oversize", limitBytes: 32 },
        { kind: "event", event: "", data: "b" },
      ];
      for (let cut = 0; cut <= bytes.length; cut += 1) {
        expect(decode(bytes, [cut], 32).frames, `${form} at ${cut}`).toEqual(expected);
      }
      const each = Array.from(bytes, (_, i) => i).slice(1);
      expect(decode(bytes, each, 32).frames).toEqual(expected);
    }
  });

  it("takes a frame of exactly the limit", () => {
    const text = `data: ${"x".repeat(25)}\n\n`;
    expect(decodeText(text, 32).frames).toHaveLength(1);
    expect(decodeText(text, 31).frames).toMatchObject([{ kind: "oversize" }]);
  });

  it("reads a long line in small pieces in linear time", () => {
    // Byte by byte this is 1 MiB; anything that looks back at what it holds takes minutes.
    const bytes = UTF8.encode(`data: ${"x".repeat(1024 * 1024)}\n\n`);
    const decoder = new SseDecoder();
    let frames = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      frames += decoder.push(bytes.subarray(at, at + 1)).length;
    }
    expect(frames).toBe(1);
  });
});
