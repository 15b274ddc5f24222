/** GW-01 — Result changes with where the bytes are cut (CRLF, CR, UTF-8). */
import { describe, expect, it } from "vitest";
import { SseDecoder, type SseFrame } from "../../src/stream/index.ts";
import { bytesOf, decode, everyByte } from "../support/wire-text.ts";

const WITH_CRLF = 'data: {"t":\r\ndata: "naïve 日本🙂"}\r\n\r\n';
const DATA = '{"t":\n"naïve 日本🙂"}';
const STREAMS = [
  ["CRLF", WITH_CRLF],
  ["LF", WITH_CRLF.replaceAll("\r\n", "\n")],
  ["CR", WITH_CRLF.replaceAll("\r\n", "\r")],
] as const;

function frames(bytes: Uint8Array, cuts: readonly number[]): SseFrame[] {
  const decoder = new SseDecoder();
  const all: SseFrame[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    all.push(...decoder.push(bytes.subarray(from, cut)));
    from = cut;
  }
  expect(decoder.end()).toBe(0);
  return all;
}

describe.each(STREAMS)("GW-01: line ends of %s", (_, text) => {
  const bytes = bytesOf(text);
  const expected = [{ kind: "event", event: "", data: DATA }];

  it("give one event whole, at every cut in two, and byte by byte", () => {
    expect(frames(bytes, [])).toEqual(expected);
    for (let cut = 0; cut <= bytes.length; cut += 1) expect(frames(bytes, [cut])).toEqual(expected);
    expect(frames(bytes, everyByte(bytes))).toEqual(expected);
    expect(JSON.parse(DATA)).toEqual({ t: "naïve 日本🙂" });
  });
});

describe("GW-01 (d): an end inside a character", () => {
  it("is an incomplete stream and shows no replacement character", () => {
    const bytes = bytesOf(WITH_CRLF);
    const cut = bytes.indexOf(0xf0) + 2;
    const { events, completion } = decode("openai-chat", bytes.subarray(0, cut));
    expect(completion).toMatchObject({ state: "incomplete", tailBytes: cut - 1 });
    expect(JSON.stringify(events)).not.toContain("\ufffd");
    expect(events.map((event) => event.type)).toEqual(["fault"]);
  });
});
