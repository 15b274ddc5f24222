import { describe, expect, it } from "vitest";
import { checkConfig } from "../config-check.ts";
import { ENGINE_DEFAULTS, type EngineConfig } from "../engine-config.ts";
import { crossHostLoss } from "./cross-host.ts";
import { LINK_NAMES, type LinkName } from "./links.ts";

const ACROSS: EngineConfig = { ...ENGINE_DEFAULTS, model: "llama-3.1-70b", ranks: 16 };

describe("tensor parallelism across hosts", () => {
  it("is refused with the loss in numbers, and taken when it is wanted", () => {
    expect(() => checkConfig({ ...ACROSS, link: "ethernet-25g" })).toThrow(
      expect.objectContaining({
        code: "MANX_CONFIG_IMPOSSIBLE",
        where: "ranks",
        got: expect.stringMatching(
          /^16 ranks: 160 all-reduces a step over ethernet-25g between 2 hosts: \+\d+\.\d ms on every token/,
        ),
        hint: expect.stringContaining("pipeline stages"),
      }),
    );
    expect(checkConfig({ ...ACROSS, allowCrossHost: true }).kvTokens).toBeGreaterThan(0);
  });

  it("costs start-ups and bytes of every all-reduce", () => {
    const loss = crossHostLoss({ ...ACROSS, link: "ethernet-25g" })!;
    // 160 all-reduces between two hosts: 2 messages of 50 µs each, and 16 KiB for each of 32 tokens at 2.5 GB/s.
    const wireUs = (160 * 32 * 8_192 * 2) / 2_500;
    expect(loss.allReduces).toBe(160);
    expect(loss.addedUs).toBeCloseTo(160 * 2 * 50 + wireUs, 6);
  });

  it("costs less over every faster link, and with none of them beats one host", () => {
    const steps = LINK_NAMES.slice(1).map(
      (link) => crossHostLoss({ ...ACROSS, link: link as LinkName })!.stepUs,
    );
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(new Set(steps).size).toBe(4);
    const { oneHostStepUs } = crossHostLoss(ACROSS)!;
    expect(steps.at(-1)! / oneHostStepUs).toBeGreaterThan(3);
    expect(steps[0]!).toBeGreaterThan(oneHostStepUs);
  });

  it("is nothing inside a host, and no host is filled in part", () => {
    expect(crossHostLoss({ ...ACROSS, ranks: 8 })).toBeUndefined();
    expect(crossHostLoss({ ...ACROSS, ranks: 4, ranksPerHost: 2 })?.hosts).toBe(2);
    expect(() =>
      checkConfig({ ...ACROSS, ranks: 8, ranksPerHost: 3, allowCrossHost: true }),
    ).toThrow(/multiple|cannot exist/);
    expect(() => checkConfig({ ...ACROSS, link: "token-ring" as LinkName })).toThrow(
      expect.objectContaining({ code: "MANX_NAME_UNKNOWN" }),
    );
  });
});
