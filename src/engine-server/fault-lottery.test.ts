import { describe, expect, it } from "vitest";
import { FaultLottery } from "./fault-lottery.ts";

const hang = { share: 0.1, fault: { kind: "hang" } } as const;
const late = { share: 0.3, fault: { kind: "slow-headers", forUs: 5 } } as const;

function drawn(lottery: FaultLottery, requests: number): (string | undefined)[] {
  return Array.from({ length: requests }, () => lottery.draw()?.kind);
}

describe("FaultLottery", () => {
  it("draws the same for the same seed, and other requests for another", () => {
    const first = drawn(new FaultLottery([hang, late], 1), 200);
    expect(drawn(new FaultLottery([hang, late], 1), 200)).toEqual(first);
    expect(drawn(new FaultLottery([hang, late], 2), 200)).not.toEqual(first);
  });

  it("gives each its share, the first in the list before the second", () => {
    const kinds = drawn(new FaultLottery([hang, late], 7), 20_000);
    const share = (kind: string): number => kinds.filter((one) => one === kind).length / 20_000;
    expect(share("hang")).toBeCloseTo(0.1, 1);
    expect(share("slow-headers")).toBeCloseTo(0.9 * 0.3, 1);
    expect(drawn(new FaultLottery([{ ...hang, share: 1 }], 7), 50)).toEqual(Array(50).fill("hang"));
    expect(drawn(new FaultLottery([{ ...hang, share: 0 }], 7), 50)).toEqual(
      Array(50).fill(undefined),
    );
  });

  it("leaves the others' draws alone when an entry is added behind them", () => {
    const alone = drawn(new FaultLottery([hang], 3), 500);
    const both = drawn(new FaultLottery([hang, late], 3), 500);
    expect(both.map((kind) => (kind === "hang" ? kind : undefined))).toEqual(alone);
  });
});
