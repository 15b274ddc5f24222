import { describe, expect, it } from "vitest";
import { nextSequenceNumber } from "./sequence-number.ts";

const of = (text: string): number | undefined => nextSequenceNumber(new TextEncoder().encode(text));

describe("nextSequenceNumber", () => {
  it("goes on from the last event that has one", () => {
    const event = (number: number) =>
      `event: x\ndata: {"type":"x","sequence_number":${number}}\n\n`;
    expect(of(event(7))).toBe(8);
    expect(of(`${event(7)}${event(8)}: ping\n\n`)).toBe(9);
    expect(of('data: {"sequence_number": 41, "delta": "x"}\n')).toBe(42);
  });

  it("takes no number out of a text", () => {
    const delta = 'say "sequence_number":99';
    expect(of(`data: ${JSON.stringify({ sequence_number: 3, delta })}\n\n`)).toBe(4);
  });

  it.each(["", "data: {}\n\n", 'data: {"sequence_number":null}\n\n'])("has none in %j", (text) => {
    expect(of(text)).toBeUndefined();
  });
});
