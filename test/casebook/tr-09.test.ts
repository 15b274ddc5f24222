/** TR-09 — Duplicates, lost parents, late roots. */
import { describe, expect, it } from "vitest";
import { type TurnRecord, turnRecord } from "../../src/trace/index.ts";
import { readOtlp, readTurns } from "../../src/trace/otlp/index.ts";

const ID: Readonly<Record<string, string>> = {
  R: "a1",
  A: "b2",
  B: "c3",
  C: "d4",
  D: "e5",
  X: "f6",
};
const hex = (name: string): string => ID[name]!.padStart(16, "0");
const ns = (ms: number): string => `${1_700_000_000_000 + ms}000000`;

function raw(name: string, parent: string | null, fromMs: number, toMs: number, attributes = 0) {
  return {
    traceId: "5b8efff798038103d269b633813fc60c",
    spanId: hex(name),
    ...(parent !== null && { parentSpanId: hex(parent) }),
    name,
    startTimeUnixNano: ns(fromMs),
    endTimeUnixNano: ns(toMs),
    attributes: Array.from({ length: attributes }, (_, i) => ({
      key: `k${i}`,
      value: { intValue: i },
    })),
  };
}

const ARRIVALS = [
  raw("C", "B", 100, 200),
  raw("A", "R", 0, 90, 1),
  raw("A", "R", 0, 90, 1),
  raw("B", "R", 90, 90),
  raw("B", "R", 90, 300, 3),
  raw("D", "X", 300, 400),
  raw("R", null, 0, 1_000),
];

function assembled(spans: readonly unknown[]): TurnRecord {
  const turns = readTurns(readOtlp({ resourceSpans: [{ scopeSpans: [{ spans }] }] }).spans);
  expect(turns).toHaveLength(1);
  return turnRecord(turns[0]!);
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, i) =>
    permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
  );
}

describe("TR-09: spans that come twice, without their parent, or in any order", () => {
  const whole = assembled(ARRIVALS);

  it("are there once each, the fuller version of two", () => {
    const names = whole.spans.map(({ name }) => name).sort();
    expect(names).toEqual(["A", "B", "C", "D", "R", "missing parent"]);
    const b = whole.spans.find(({ name }) => name === "B")!;
    expect([b.endUs, Object.keys(b.attributes).length]).toEqual([300_000, 3]);
    expect(whole.findings).toContainEqual(
      expect.objectContaining({ code: "duplicate-span", text: "2 spans came more than once" }),
    );
  });

  it("hang under a stand-in of the same turn, whose time of its own is unknown", () => {
    const stub = whole.spans.find(({ kind }) => kind === "missing-parent")!;
    expect(stub).toMatchObject({
      id: hex("X"),
      parentId: hex("R"),
      startUs: 300_000,
      endUs: 400_000,
    });
    expect(whole.spans.find(({ name }) => name === "D")!.parentId).toBe(hex("X"));
    expect(whole.flags.incomplete).toBe(true);
  });

  it("make the same turn in every order", () => {
    const orders = permutations(ARRIVALS);
    expect(orders).toHaveLength(5_040);
    const expected = JSON.stringify(whole);
    const others = orders
      .filter((_, i) => i % 7 === 0)
      .filter((order) => JSON.stringify(assembled(order)) !== expected);
    expect(others).toEqual([]);
  });

  it("without a root are kept in a turn that is marked incomplete", () => {
    const turn = assembled(ARRIVALS.slice(0, -1));
    expect(turn.flags.incomplete).toBe(true);
    expect(turn.findings.map(({ code }) => code)).toContain("no-root");
    expect(turn.spans.map(({ name }) => name).sort()).toEqual([
      "A",
      "B",
      "C",
      "D",
      "missing parent",
      "missing parent",
      "no root",
    ]);
    expect(turn.wallUs).toBe(400_000);
  });
});
