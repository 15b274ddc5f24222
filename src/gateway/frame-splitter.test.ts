import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseDecoder } from "../stream/index.ts";
import { FrameSplitter, framesOf } from "./frame-splitter.ts";

/** Streams of lines with any line ends, empty lines among them. */
const streams = fc
  .array(
    fc.tuple(
      fc.constantFrom("data: é", "event: x", ": ping", "", "", "data:"),
      fc.constantFrom("\n", "\r\n", "\r"),
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((lines) => Buffer.from(lines.map(([line, end]) => line + end).join("")));
const cuts = fc.array(fc.nat(400), { maxLength: 20 });

function pushed(splitter: FrameSplitter, bytes: Buffer, at: readonly number[]): Buffer[] {
  const sorted = [...new Set(at.map((one) => one % (bytes.length + 1)))].sort((a, b) => a - b);
  const out: Buffer[] = [];
  let from = 0;
  for (const end of [...sorted, bytes.length]) {
    out.push(splitter.push(bytes.subarray(from, end)));
    from = end;
  }
  return out;
}

function events(parts: readonly Buffer[]): number {
  const decoder = new SseDecoder();
  return parts.flatMap((part) => decoder.push(part)).filter(({ kind }) => kind === "event").length;
}

describe("frames", () => {
  it("come out whole and in order, the same bytes, wherever the reads part them", () => {
    fc.assert(
      fc.property(streams, cuts, (bytes, at) => {
        const splitter = new FrameSplitter(1_000_000);
        const parts = pushed(splitter, bytes, at);
        const out = Buffer.concat(parts);
        // All that a client could have made an event of is out, and what follows begins a frame of its own.
        const next = new SseDecoder();
        const seen = next.push(Buffer.concat([out, Buffer.from("data: next\n\n")]));
        expect(seen.filter(({ kind }) => kind === "event")).toHaveLength(events([bytes]) + 1);
        expect(seen.at(-1)).toEqual({ kind: "event", event: "", data: "next" });
        expect(Buffer.concat([out, splitter.take()])).toEqual(bytes);
      }),
      { numRuns: 2_000 },
    );
  });

  it("are told apart one by one", () => {
    fc.assert(
      fc.property(streams, (bytes) => {
        const parts = framesOf(bytes);
        expect(Buffer.concat(parts)).toEqual(bytes);
        for (const part of parts) expect(events([part])).toBeLessThanOrEqual(1);
        expect(parts.reduce((sum, part) => sum + events([part]), 0)).toBe(events([bytes]));
      }),
      { numRuns: 1_000 },
    );
  });

  it("that are larger than may be held go out in parts, and say so", () => {
    const splitter = new FrameSplitter(10);
    expect(splitter.push(Buffer.from("data: 12")).length).toBe(0);
    expect(splitter.push(Buffer.from("345678")).toString()).toBe("data: 12345678");
    expect(splitter.isSpilled).toBe(true);
    expect(splitter.push(Buffer.from("\n\ndata")).toString()).toBe("\n\n");
    expect(splitter.isSpilled).toBe(false);
  });
});
