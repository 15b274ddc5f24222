/** G2, G4 and streaming tools: the symptom without Manx, the cure with it, and the tables that the docs show. */
import { describe, expect, it } from "vitest";
import { readText } from "../../test/support/source-tree.ts";
import { fanOutAdvice, fanOutTails } from "./fan-out-tail.ts";
import { fanOutTable, stepTable, streamingTable } from "./golden-table.ts";
import { composedTail, stepCures } from "./multi-step-tail.ts";
import { streamingWays } from "./streaming-tools.ts";

const page = readText("docs/how-to/golden-scenarios.md");
const S = 1_000_000;

describe("G4: five steps of 200 ms, p99 2 s", () => {
  it("compose to p95 3.35 s and p99 4.97 s, neither 1 s nor 10 s", () => {
    const { tail, naive } = composedTail(100_000, 1);
    expect(tail.p50.value / S).toBeCloseTo(1.41, 1);
    expect(Math.abs(tail.p95.value / S - 3.35)).toBeLessThan(0.05);
    expect(Math.abs(tail.p99.value / S - 4.97)).toBeLessThan(0.12);
    expect(naive).toEqual({ medianUs: S, p99Us: 10 * S });
  });

  it("have no step to blame where all are alike, and name the heavy one where one is", () => {
    const alike = composedTail(50_000, 2).buys;
    expect(alike[0]!.p99FallsUs / alike.at(-1)!.p99FallsUs).toBeLessThan(1.8);
    const [first, second] = composedTail(50_000, 2, "read").buys;
    expect(first!.step).toBe("read");
    expect(first!.p99FallsUs / second!.p99FallsUs).toBeGreaterThan(3);
  });

  it("lose a third of their p99 by hedges, and more by a prefetch besides", async () => {
    const cures = await stepCures(1_500, 1);
    const [was, hedged, both] = cures.map(({ tail }) => tail.p99.value);
    expect(hedged! / was!).toBeLessThan(0.8);
    expect(both! / hedged!).toBeLessThan(0.95);
    expect(cures[1]!.moreRuns).toBeLessThan(0.06);
    expect(page).toContain(stepTable(cures));
  });
});

describe("G2: five branches, 1 % of each at 22 s", () => {
  it("look fine at p50, are at the edge at p95, and 22 s at p99", async () => {
    const tails = await fanOutTails(4_000, 1);
    const [, all, hedged, four, both] = tails;
    expect(all!.p50.value / S).toBeLessThan(3);
    // 1 - 0.99^5 = 4.9 %: the p95 stands at the edge of it, on either side.
    expect(Math.abs(all!.over20s - 0.049)).toBeLessThan(0.012);
    expect(all!.p99.value).toBe(22 * S);
    expect(hedged!.p99.value / S).toBeLessThan(7);
    expect(hedged!.moreCalls).toBeLessThanOrEqual(0.05);
    expect(four!.p99.value / S).toBeLessThan(4);
    expect(both!.p99.value).toBeLessThanOrEqual(four!.p99.value * 1.05);
    expect(page).toContain(fanOutTable(tails));
  });

  it("are rejected, and the straggler is retrieval", () => {
    const { verdict, reasons } = fanOutAdvice(2_000, 1);
    expect(verdict).toBe("reject");
    expect(reasons.join("\n")).toContain("retrieval");
  });
});

describe("streaming tools", () => {
  it("start with the brace earlier than after the message, and with a field earlier still", async () => {
    const ways = await streamingWays(1_000, 1);
    const [serial, after, brace, field] = ways.map(({ p50 }) => p50.value);
    expect(brace! / serial!).toBeLessThan(0.62);
    expect(brace! / after!).toBeLessThan(0.8);
    expect(field!).toBeLessThan(brace!);
    expect(page).toContain(streamingTable(ways));
  });
});
