import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineGate } from "./line-gate.ts";

function run(parts: readonly Buffer[], end: "flush" | "drop"): Buffer[] {
  const gate = new LineGate<Buffer>();
  const out: Buffer[] = [];
  const keep = (part: Buffer): void => {
    out.push(part);
  };
  for (const part of parts) gate.push(part, keep);
  if (end === "flush") gate.flush(keep);
  else gate.drop();
  return out;
}

const text = fc
  .array(fc.constantFrom("data: {}", "\n", "\r\n", "\r", "é", ": ping", "x"), { maxLength: 40 })
  .map((parts) => Buffer.from(parts.join("")));

describe("LineGate", () => {
  it("lets every byte through once and in order, wherever the stream is cut into reads", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 20 }), (whole, cuts) => {
        const out = run(cutAt(whole, cuts), "flush");
        expect(Buffer.concat(out).equals(whole)).toBe(true);
      }),
    );
  });

  it("keeps exactly the unfinished last line back", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 20 }), (whole, cuts) => {
        const out = Buffer.concat(run(cutAt(whole, cuts), "drop"));
        const lines = whole.toString("latin1").match(/^[\s\S]*[\r\n]/)?.[0] ?? "";
        expect(out.toString("latin1")).toBe(lines);
      }),
    );
  });

  it("does not copy or hold a read that ends with a line end", () => {
    const chunk = Buffer.from("data: 1\n\ndata: 2\n\n");
    expect(run([chunk], "drop")[0]).toBe(chunk);
  });

  it("lets a line beyond its bound through in parts, and knows that nothing can follow then", () => {
    const gate = new LineGate<Buffer>();
    let outBytes = 0;
    for (let i = 0; i < 20; i += 1) {
      gate.push(Buffer.alloc(64 * 1024, "x"), (part) => {
        outBytes += part.length;
      });
    }
    expect(outBytes).toBeGreaterThanOrEqual(1024 * 1024);
    expect(gate.atLineEnd).toBe(false);
    gate.push(Buffer.from("\n"), () => undefined);
    expect(gate.atLineEnd).toBe(true);
  });
});

function cutAt(whole: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.filter((cut) => cut < whole.length)].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => whole.subarray(from, places[i] ?? whole.length));
}
